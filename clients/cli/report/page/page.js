// Headline, tiles, tables and what the buttons do.

const scaled = (values, factor) => Object.fromEntries(Object.entries(values)
  .map(([name, value]) => [name, finite(value) ? value * (factor || 1) : null]));
const statistic = (key, factor) => scaled(replay[key], factor);
const translation = statistic("translation_error_m", errorFactor);
const rotation = statistic("rotation_error_deg");
const latency = statistic("latency_ms");
const engine = statistic("engine_ms");
const overhead = statistic("overhead_ms");

// How far two poses are apart along the axes, all three where none are named.
const distance = (a, b, axes) => Math.hypot(...(axes || [0, 1, 2]).map((axis) => a[axis] - b[axis]));

const pathLength = () =>
  rows.reduce((metres, row, i) => metres + (i ? distance(row.truth, rows[i - 1].truth) : 0), 0);

function addHeadline() {
  const share = replay.answered ? Math.floor(1000 * replay.accepted / replay.answered) / 10 : 0;
  const median = finite(translation.p50)
    ? `, median error ${significant(translation.p50)} ${errorUnit}` : "";
  byId("headline").textContent =
    `${share === 100 ? "Every scan" : share + " % of scans"} tracked on map ${replay.map}${median}`;
  const seconds = rows.length ? rows[rows.length - 1].t : 0;
  const drive = rising ? `, ${seconds.toFixed(1)} s` : "";
  byId("subline").textContent =
    `${replay.scans} scan${replay.scans === 1 ? "" : "s"} over ${pathLength().toFixed(0)} m${drive} \u00b7 profile ${replay.profile}` +
    ` \u00b7 ${replay.engine} engine`;
  if (data.row_step > 1) {
    byId("subline").textContent +=
      ` \u00b7 ${rows.length} scans shown, one of every ${data.row_step}; the statistics are of all`;
  }
  document.title = `voxloc replay of ${replay.map}`;
}

// How the scans were thinned, by the flags' own names.
function filterText(filter) {
  const parts = [["--min-range", filter.min_range_m], ["--max-range", filter.max_range_m], ["--leaf", filter.leaf_m],
    ["--points", filter.points], ["--seed", filter.seed], ["--record-floats", filter.record_floats]]
    .filter(([, value]) => value > 0).map(([flag, value]) => `${flag} ${value}`);
  if (!parts.length) return "scans not filtered";
  return `scans filtered${filter.by_server ? " by the server" : ""}: ${parts.join(" ")}`;
}

// When the run was made, of which map, and with what.
function addRun() {
  const parts = [replay.started_at.replace("T", " ").replace("Z", " UTC")];
  if (replay.map_revisions) {
    const { min, max } = replay.map_revisions;
    parts.push(min === max ? `map revision ${min}` : `map revisions ${min} to ${max}`);
  }
  parts.push(`voxlocd ${replay.server_version}`, `voxloc ${replay.client_version}`, filterText(replay.filter));
  byId("run").textContent = parts.join(" \u00b7 ");
  byId("command-line").textContent = replay.command_line;
}

function addTiles() {
  const others = Object.entries(replay.statuses).filter(([name]) => name !== "OK")
    .map(([name, count]) => `${count} ${name || "without reply"}`).join(", ");
  const wrong = replay.accepted_wrong
    ? `${replay.accepted_wrong} of them wrong by more than 1 m or 10\u00b0` : "";
  addStrip(addTile("Accepted", String(replay.accepted), "of " + replay.answered,
    [wrong, others].filter(Boolean).join("; ") || "every verdict is OK"), "verdicts in order", rows.map(statusColor));
  addTile("Position error, median", significant(translation.p50), errorUnit,
    `p95 ${significant(translation.p95)}, max ${significant(translation.max)} ${errorUnit}`);
  addTile("Rotation error, median", fixed(rotation.p50, 3), "\u00b0",
    `p95 ${fixed(rotation.p95, 3)}, max ${fixed(rotation.max, 3)}\u00b0`);
  addTile("Round trip, median", significant(latency.p50), "ms",
    `engine ${significant(engine.p50)}; p95 ${significant(latency.p95)} ms`);
  addTile("Iterations, mean", fixed(replay.iterations.mean, 1), "",
    `${fixed(replay.points_used.mean, 0)} points a scan`);
}

function addCharts() {
  const charts = byId("charts");
  const aligned = (value) => (row) => (row.pose ? value(row) : NaN);
  const beside = (value) => (compared ? [{
    name: "other run", color: "var(--other)", value: (row) => (row.other && row.other.pose ? value(row.other) : NaN),
  }] : []);
  const ofFused = (name, color, value) => (replay.fused ? [{
    name, color, value: (row) => (row.fused ? value(row.fused) : NaN),
  }] : []);
  addChart(charts, "Position error", errorUnit, [{
    name: "error", color: "var(--estimate)", value: aligned((row) => row.translation_error_m * errorFactor),
  }, ...ofFused("fused", "var(--fused)", (fused) => fused.translation_error_m * errorFactor),
  ...beside((row) => row.translation_error_m * errorFactor)], translation.p95);
  addChart(charts, "Round trip", "ms", [
    { name: "round trip", color: "var(--estimate)", value: (row) => (row.answered ? row.latency_ms : NaN) },
    { name: "engine", color: "var(--second)", value: aligned((row) => row.engine_ms) },
  ], latency.p95);
  addChart(charts, "Rotation error", "degrees", [{
    name: "error", color: "var(--estimate)", value: aligned((row) => row.rotation_error_deg),
  }, ...ofFused("fused", "var(--fused)", (fused) => fused.rotation_error_deg),
  ...beside((row) => row.rotation_error_deg)], rotation.p95);
  addChart(charts, "Score", "NVTL, higher is better", [{
    name: "NVTL", color: "var(--second)", value: aligned((row) => row.scores.nvtl),
  }, ...beside((row) => row.scores.nvtl)], null);
  if (!replay.fused) return;
  ["along", "across"].forEach((axis) => addChart(charts, `Fused position error ${axis}`, "m", [
    ...ofFused("error", "var(--fused)", (fused) => Math.abs(fused.error_m[axis])),
    ...ofFused("3 sigma", "var(--second)", (fused) => (fused.sigma_m ? 3 * fused.sigma_m[axis] : NaN)),
  ], null));
}

// The pose that a protection level is about.
const protectedPose = (row) => row.protection.pose || row.pose;

// How often what was promised held, in words.
function boundsNote() {
  const parts = [];
  const known = rows.filter((row) => row.pose && row.position_covariance);
  const inside = known.filter((row) => {
    const [xx, xy, , yy] = row.position_covariance;
    const [dx, dy] = [0, 1].map((axis) => row.pose[axis] - row.truth[axis]);
    // The squared Mahalanobis distance.
    return (yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / (xx * yy - xy * xy) <= 5.991;
  });
  if (known.length) parts.push(`the 95 % ellipse holds the true position in ${inside.length} of ${known.length} scans`);
  const shares = replay.position_sigma_shares_m;
  const medians = shares ? sigmaShares.map(([key, name]) => [shares[key].p50, name]).filter(([p50]) => finite(p50)) : [];
  if (medians.length) {
    const [largest, name] = medians.reduce((a, b) => (b[0] > a[0] ? b : a));
    parts.push(`the largest share of sigma is the ${name}, ${fixed(largest, 3)} m in the median`);
  }
  const bounded = rows.filter((row) => row.pose && row.protection);
  const beyond = (axes, level) => bounded.filter((row) => finite(row.protection[level]) &&
    distance(protectedPose(row), row.truth, axes) > row.protection[level]).length;
  if (bounded.length) {
    parts.push(`errors beyond the protection level: ${beyond([0, 1], "horizontal_m")} horizontal and ` +
      `${beyond([2], "vertical_m")} vertical of ${bounded.length}, risk ${bounded[0].protection.risk}`);
  }
  return parts.join("; ");
}

function addBounds() {
  const box = byId("bounds");
  const posed = rows.filter((row) => row.pose);
  const any = posed.some((row) => row.position_covariance || row.protection);
  box.hidden = !any;
  byId("bounds-note").hidden = !any;
  if (!any) return;
  byId("bounds-note").textContent = boundsNote();
  const levels = posed.some((row) => row.protection);
  const add = (title, axes, radius, level) => {
    const series = [
      { name: "error", color: "var(--estimate)",
        value: (row) => (row.pose ? distance(row.pose, row.truth, axes) : NaN) },
      { name: "95 %", color: "var(--second)", value: (row) => (row.pose && row.position_covariance ? radius(row) : NaN) },
    ];
    if (levels) {
      series.push({ name: "protection level", color: "var(--warn)",
        value: (row) => (row.pose && row.protection ? row.protection[level] : NaN) });
    }
    addChart(box, title, "m", series, null);
  };
  add("Horizontal error and its bounds", [0, 1], (row) => ellipseOf(row).radii[0], "horizontal_m");
  // 1.960: the 95 % quantile of the size of a normally distributed error.
  add("Vertical error and its bounds", [2], (row) => 1.960 * Math.sqrt(row.position_covariance[5]), "vertical_m");
}

function addStatisticsLine(body, keys, name, values, digits, indent) {
  const line = element("tr", indent ? { class: "indent" } : {});
  line.append(element("th", { scope: "row" }, name));
  keys.forEach((key) => line.append(element("td", {}, fixed(values[key], digits))));
  body.append(line);
}

function addStatistics() {
  const keys = ["mean", "p50", "p95", "p99", "max"];
  const body = addTableHead(byId("statistics"), ["", ...keys]);
  const add = (...line) => addStatisticsLine(body, keys, ...line);
  add(`Position error, ${errorUnit}`, translation, errorUnit === "m" ? 3 : 2);
  add("Rotation error, degrees", rotation, 3);
  if (replay.fused) {
    const digits = errorUnit === "m" ? 3 : 2;
    add(`Fused position error, ${errorUnit}`, scaled(replay.fused.translation_error_m, errorFactor), digits);
    Object.entries(replay.fused.error_m).forEach(([axis, values]) => add(axis, scaled(values, errorFactor), digits, true));
    add("Fused rotation error, degrees", replay.fused.rotation_error_deg, 3);
  }
  add("Round trip, ms", latency, 2);
  add("of it the engine", engine, 2, true);
  add("of it the rest: wire, queue, conversion", overhead, 2, true);
  add("Iterations", replay.iterations, 1);
  add("NVTL", replay.nvtl, 2);
  add("Points used", replay.points_used, 0);
}

function addRows(chosen) {
  const table = byId("rows");
  table.replaceChildren();
  const body = addTableHead(table, ["scan", "status", "time, s", `position error, ${errorUnit}`,
    "rotation error, \u00b0", "NVTL", "iterations", "round trip, ms", "engine, ms"]);
  chosen.forEach((row) => {
    const line = element("tr");
    const verdict = element("td", { class: "text" });
    verdict.append(badgeOf(row.status || "no reply", statusColor(row)));
    const value = (number, digits) => element("td", {}, row.pose ? fixed(number, digits) : "\u2013");
    line.append(element("td", {}, row.file), verdict,
      element("td", {}, rising ? fixed(row.t, 2) : "\u2013"),
      value(row.translation_error_m * errorFactor, errorUnit === "m" ? 3 : 2),
      value(row.rotation_error_deg, 3), value(row.scores.nvtl, 2), value(row.iterations, 0),
      element("td", {}, fixed(row.latency_ms, 2)), value(row.engine_ms, 2));
    line.addEventListener("pointerenter", () => selection.set(row.at, null));
    body.append(line);
  });
}

function addRowChoice() {
  const size = (row) => (row.pose ? row.translation_error_m : -1);
  const worst = rows.slice().sort((a, b) => size(b) - size(a)).slice(0, 10);
  const slowest = rows.slice().sort((a, b) => b.latency_ms - a.latency_ms).slice(0, 10);
  const refused = rows.filter((row) => !row.accepted);
  const choices = [["largest errors", worst], ["slowest", slowest]];
  if (refused.length) choices.push([`not accepted (${refused.length})`, refused]);
  choices.push([`all ${rows.length}`, rows]);
  addSegments(byId("row-choice"), choices, addRows);
}

function addSetting() {
  const guess = replay.perturb ? `${replay.guess}, perturbed by ${replay.perturb}` : replay.guess;
  const sending = replay.rate_hz > 0 ? `${replay.rate_hz} scans a second` : "one scan at a time";
  byId("setting").textContent =
    `Scans ${replay.scans_path} \u00b7 guess ${guess} \u00b7 ${sending} \u00b7 server ${replay.server}` +
    ` \u00b7 replay took ${fixed(replay.elapsed_s, 1)} s`;
}

// Two runs over the same scans: paths and errors beside each other, and their differences, scan by
// scan. Percentiles are by nearest rank, as everywhere in voxloc.
function summarize(values) {
  const sorted = values.filter(finite).sort((a, b) => a - b);
  if (!sorted.length) return { mean: null, p50: null, p95: null, max: null };
  const rank = (percent) => sorted[Math.max(0, Math.ceil(percent / 100 * sorted.length - 1e-9) - 1)];
  return {
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    p50: rank(50), p95: rank(95), max: sorted[sorted.length - 1],
  };
}

// The angle of the rotation from one quaternion (x, y, z, w) to the other, degrees.
function poseAngle(a, b) {
  const [ax, ay, az, aw] = a.slice(3);
  const [bx, by, bz, bw] = b.slice(3);
  const w = aw * bw + ax * bx + ay * by + az * bz;
  const x = aw * bx - ax * bw - ay * bz + az * by;
  const y = aw * by + ax * bz - ay * bw - az * bx;
  const z = aw * bz - ax * by + ay * bx - az * bw;
  return 2 * Math.atan2(Math.hypot(x, y, z), Math.abs(w)) * 180 / Math.PI;
}

function addComparison() {
  const card = byId("comparison");
  card.hidden = !compared;
  if (!compared) return;
  const both = rows.filter((row) => row.other);
  const posed = both.filter((row) => row.pose && row.other.pose);
  const count = (here, there) => both.filter((row) => row.accepted === here && row.other.accepted === there).length;
  byId("comparison-title").textContent = `Compared with ${compared.name}`;
  byId("comparison-counts").textContent =
    `${both.length} of ${rows.length} scans are in both runs, ${posed.length} with a pose in both. ` +
    `Accepted: ${count(true, true)} in both, ${count(true, false)} only here, ` +
    `${count(false, true)} only there, ${count(false, false)} in neither. The other run: map ` +
    `${compared.map}, profile ${compared.profile}, engine ${compared.engine}, guess ${compared.guess}.`;
  const body = addTableHead(byId("comparison-table"), ["", "mean", "p50", "p95", "max"]);
  const line = (name, values, digits, indent) =>
    addStatisticsLine(body, ["mean", "p50", "p95", "max"], name, summarize(values), digits, indent);
  const metric = (name, digits, list, value) => {
    line(name, list.map(value), digits);
    line("of the other run", list.map((row) => value(row.other)), digits, true);
    line("here minus there, scan by scan", list.map((row) => value(row) - value(row.other)), digits, true);
  };
  const errorDigits = errorUnit === "m" ? 3 : 2;
  metric(`Position error, ${errorUnit}`, errorDigits, posed, (row) => row.translation_error_m * errorFactor);
  metric("Rotation error, degrees", 3, posed, (row) => row.rotation_error_deg);
  metric("NVTL", 3, posed, (row) => row.scores.nvtl);
  metric("Round trip, ms", 2, both.filter((row) => row.answered && row.other.answered), (row) => row.latency_ms);
  line(`Distance between the poses, ${errorUnit}`,
    posed.map((row) => distance(row.pose, row.other.pose) * errorFactor), errorDigits);
  line("Angle between the poses, degrees", posed.map((row) => poseAngle(row.pose, row.other.pose)), 3);
}

addHeadline();
addRun();
addTiles();
const map = addMap(byId("map"));
addSegments(byId("exaggerate"), [["\u00d71", 1], ["\u00d720", 20], ["\u00d7200", 200]],
  (factor) => map.exaggerate(factor));
addSegments(byId("ellipses"), [["ellipses", true], ["none", false]],
  (on) => map.showEllipses(on));
document.querySelectorAll(".of-odometry").forEach((part) => { part.hidden = !rows.some((row) => row.dead_reckoned); });
document.querySelectorAll(".of-fused").forEach((part) => { part.hidden = !replay.fused; });
document.querySelectorAll(".of-other").forEach((part) => { part.hidden = !compared; });
addRibbon(byId("ribbon"));
addCharts();
addBounds();
const scanView = addScanView(byId("scan"));
addComparison();
addStatistics();
addRowChoice();
addSetting();
addTheme(() => { map.draw(); scanView.draw(); });
