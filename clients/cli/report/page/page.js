// Headline, tiles, tables and what the buttons do.

const statistic = (key, factor) => {
  const scaled = {};
  for (const name of ["mean", "p50", "p95", "p99", "max"]) {
    const value = replay[key][name];
    scaled[name] = finite(value) ? value * (factor || 1) : null;
  }
  return scaled;
};
const translation = statistic("translation_error_m", errorFactor);
const rotation = statistic("rotation_error_deg");
const latency = statistic("latency_ms");
const engine = statistic("engine_ms");
const overhead = statistic("overhead_ms");

function pathLength() {
  let metres = 0;
  for (let i = 1; i < rows.length; i += 1) {
    metres += Math.hypot(...[0, 1, 2].map((axis) => rows[i].truth[axis] - rows[i - 1].truth[axis]));
  }
  return metres;
}

function addHeadline() {
  const share = replay.answered ? Math.floor(1000 * replay.accepted / replay.answered) / 10 : 0;
  const median = finite(translation.p50)
    ? `, median error ${significant(translation.p50)} ${errorUnit}` : "";
  document.getElementById("headline").textContent =
    `${share === 100 ? "Every scan" : share + " % of scans"} tracked on map ${replay.map}${median}`;
  const seconds = rows.length ? rows[rows.length - 1].t : 0;
  const drive = rising ? `, ${seconds.toFixed(1)} s` : "";
  document.getElementById("subline").textContent =
    `${replay.scans} scan${replay.scans === 1 ? "" : "s"} over ${pathLength().toFixed(0)} m${drive} \u00b7 profile ${replay.profile}` +
    ` \u00b7 ${replay.engine} engine`;
  document.title = `voxloc replay of ${replay.map}`;
}

function addTile(name, value, unit, note) {
  const tile = element("div", { class: "tile" });
  const big = element("p", { class: "value" }, value);
  if (unit) big.append(element("small", {}, unit));
  tile.append(element("p", { class: "name" }, name), big, element("p", { class: "note" }, note));
  document.getElementById("tiles").append(tile);
  return tile;
}

function addStatusStrip(tile) {
  const strip = element("div", { class: "strip", role: "img", "aria-label": "verdicts in order" });
  let last = null;
  rows.forEach((row) => {
    const color = statusColor(row);
    if (last && last.color === color) { last.count += 1; } else {
      last = { color, count: 1, part: element("i") };
      strip.append(last.part);
    }
    last.part.style.cssText = `flex: ${last.count}; background: ${color}`;
  });
  tile.insertBefore(strip, tile.lastChild);
}

function addTiles() {
  const others = Object.entries(replay.statuses).filter(([name]) => name !== "OK")
    .map(([name, count]) => `${count} ${name || "without reply"}`).join(", ");
  addStatusStrip(addTile("Accepted", String(replay.accepted), "of " + replay.answered,
    others || "every verdict is OK"));
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
  const charts = document.getElementById("charts");
  const aligned = (value) => (row) => (row.pose ? value(row) : NaN);
  addChart(charts, "Position error", errorUnit, [{
    name: "error", color: "var(--estimate)", value: aligned((row) => row.translation_error_m * errorFactor),
  }], translation.p95);
  addChart(charts, "Round trip", "ms", [
    { name: "round trip", color: "var(--estimate)", value: (row) => (row.answered ? row.latency_ms : NaN) },
    { name: "engine", color: "var(--second)", value: aligned((row) => row.engine_ms) },
  ], latency.p95);
  addChart(charts, "Rotation error", "degrees", [{
    name: "error", color: "var(--estimate)", value: aligned((row) => row.rotation_error_deg),
  }], rotation.p95);
  addChart(charts, "Score", "NVTL, higher is better", [{
    name: "NVTL", color: "var(--second)", value: aligned((row) => row.scores.nvtl),
  }], null);
}

function addTableHead(table, names) {
  const line = element("tr");
  names.forEach((name) => line.append(
    element("th", { scope: "col", class: name === "status" ? "text" : "" }, name)));
  const head = element("thead");
  head.append(line);
  table.append(head, element("tbody"));
  return table.lastChild;
}

function addStatistics() {
  const body = addTableHead(document.getElementById("statistics"),
    ["", "mean", "p50", "p95", "p99", "max"]);
  const add = (name, values, digits, indent) => {
    const line = element("tr", indent ? { class: "indent" } : {});
    line.append(element("th", { scope: "row" }, name));
    for (const key of ["mean", "p50", "p95", "p99", "max"]) {
      line.append(element("td", {}, fixed(values[key], digits)));
    }
    body.append(line);
  };
  add(`Position error, ${errorUnit}`, translation, errorUnit === "m" ? 3 : 2);
  add("Rotation error, degrees", rotation, 3);
  add("Round trip, ms", latency, 2);
  add("of it the engine", engine, 2, true);
  add("of it the rest: wire, queue, conversion", overhead, 2, true);
  add("Iterations", replay.iterations, 1);
  add("NVTL", replay.nvtl, 2);
  add("Points used", replay.points_used, 0);
}

function addRows(chosen) {
  const table = document.getElementById("rows");
  table.replaceChildren();
  const body = addTableHead(table, ["scan", "status", "time, s", `position error, ${errorUnit}`,
    "rotation error, \u00b0", "NVTL", "iterations", "round trip, ms", "engine, ms"]);
  chosen.forEach((row) => {
    const line = element("tr");
    const badge = element("span", { class: "badge" }, row.status || "no reply");
    badge.style.setProperty("--badge", statusColor(row));
    const verdict = element("td", { class: "text" });
    verdict.append(badge);
    const value = (number, digits) => element("td", {}, row.pose ? fixed(number, digits) : "\u2013");
    line.append(element("td", {}, row.file), verdict,
      element("td", {}, rising ? fixed(row.t, 2) : "\u2013"),
      value(row.translation_error_m * errorFactor, errorUnit === "m" ? 3 : 2),
      value(row.rotation_error_deg, 3), value(row.scores.nvtl, 2), value(row.iterations, 0),
      element("td", {}, fixed(row.latency_ms, 2)), value(row.engine_ms, 2));
    line.addEventListener("pointerenter", () => selection.set(row.index, null));
    body.append(line);
  });
}

function addSegments(box, choices, choose) {
  choices.forEach(([name, value], i) => {
    const button = element("button", { type: "button", "aria-pressed": String(i === 0) }, name);
    button.addEventListener("click", () => {
      box.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      choose(value);
    });
    box.append(button);
  });
  choose(choices[0][1]);
}

function addRowChoice() {
  const size = (row) => (row.pose ? row.translation_error_m : -1);
  const worst = rows.slice().sort((a, b) => size(b) - size(a)).slice(0, 10);
  const slowest = rows.slice().sort((a, b) => b.latency_ms - a.latency_ms).slice(0, 10);
  const refused = rows.filter((row) => !row.accepted);
  const choices = [["largest errors", worst], ["slowest", slowest]];
  if (refused.length) choices.push([`not accepted (${refused.length})`, refused]);
  choices.push([`all ${rows.length}`, rows]);
  addSegments(document.getElementById("row-choice"), choices, addRows);
}

function addSetting() {
  const guess = replay.perturb ? `${replay.guess}, perturbed by ${replay.perturb}` : replay.guess;
  const sending = replay.rate_hz > 0 ? `${replay.rate_hz} scans a second` : "one scan at a time";
  document.getElementById("setting").textContent =
    `Scans ${replay.scans_path} \u00b7 guess ${guess} \u00b7 ${sending} \u00b7 server ${replay.server}` +
    ` (voxloc ${replay.server_version}) \u00b7 replay took ${fixed(replay.elapsed_s, 1)} s`;
}

function isDark() {
  const chosen = document.documentElement.getAttribute("data-theme");
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

addHeadline();
addTiles();
const map = addMap(document.getElementById("map"));
addSegments(document.getElementById("exaggerate"), [["\u00d71", 1], ["\u00d720", 20], ["\u00d7200", 200]],
  (factor) => map.exaggerate(factor));
addCharts();
addStatistics();
addRowChoice();
addSetting();
document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.setAttribute("data-theme", isDark() ? "light" : "dark");
  map.draw();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => map.draw());
