// A comparison with a recorded localizer: checks, differences over time, and the scans. Text of the
// data goes into the page as text only.

const comparison = JSON.parse(byId("voxloc-data").textContent);
const rows = comparison.results;
const start = rows.length ? rows[0].stamp_s : 0;
const timeUnit = "s";
// The charts and colours go by `accepted` and `status`.
rows.forEach((row) => {
  row.t = row.stamp_s - start;
  row.accepted = row.verdicts === "BOTH_ACCEPTED" || row.verdicts === "NEITHER";
  row.status = { BOTH_ACCEPTED: "OK", NOT_RECORDED: "SUPERSEDED", UNANSWERED: "SUPERSEDED" }[row.verdicts] || row.verdicts;
});
const verdictText = (row) => row.verdicts.toLowerCase().replace("_", " ");

// The scan under the pointer, in all charts.
const selection = {
  index: null,
  listeners: [(index) => { if (index !== null) byId("cursor").textContent = scanText(rows[index]); }],
  set(index) {
    this.index = index;
    this.listeners.forEach((listener) => listener(index));
  },
};

const pairOf = (row, key, digits) =>
  `${fixed(row.voxloc[key], digits)} / ${fixed(row.recorded && row.recorded[key], digits)}`;

function scanText(row) {
  const difference = row.difference
    ? `${fixed(1e3 * row.difference.translation_m, 2)} mm, ${fixed(row.difference.rotation_deg, 4)}\u00b0` : "no difference";
  return `${row.file}, ${fixed(row.t, 2)} s, ${verdictText(row)}: ${difference}; NVTL ${pairOf(row, "nvtl", 3)}, ` +
    `iterations ${pairOf(row, "iterations", 0)}, time ${pairOf(row, "time_ms", 1)} ms`;
}

// What each check is called, in which unit it is shown, and on which side of its limit it passes.
const checks = {
  position_m: ["Position difference", 1e3, "mm", 2, "at most"],
  rotation_deg: ["Rotation difference", 1, "\u00b0", 4, "at most"],
  verdict_agreement: ["Same verdict", 100, "%", 2, "at least"],
  compared_share: ["Scans compared", 100, "%", 2, "at least"],
};

function addSummary() {
  byId("headline").textContent = comparison.passed
    ? "Passed: voxloc agrees with the recorded localizer"
    : "Not passed: " + (comparison.ended_early ? "the drive ended early" : "a check failed");
  document.title = `voxloc compare of ${comparison.map}`;
  byId("subline").textContent =
    `${comparison.scans} scans \u00b7 map ${comparison.map} \u00b7 profile ${comparison.profile} \u00b7 ` +
    `${comparison.engine} engine \u00b7 beside the poses of ${comparison.poses}` +
    (comparison.ended_early ? ` \u00b7 ${comparison.ended_early}` : "") +
    (rows.length < comparison.scans ? ` \u00b7 ${rows.length} scans shown; the statistics are of all` : "");
  byId("command-line").textContent = comparison.command_line;
  comparison.checks.forEach((check) => {
    const [name, factor, unit, digits, side] = checks[check.name];
    const which = side === "at most" ? `, p${comparison.percentile}` : "";
    const tile = addTile(name + which, fixed(check.value === null ? NaN : check.value * factor, digits), unit,
      `${side} ${significant(check.limit * factor)} ${unit}`);
    tile.append(badgeOf(check.passed ? "passed" : "not passed", check.passed ? "var(--good)" : "var(--bad)"));
  });
  const verdicts = comparison.verdicts;
  addStrip(addTile("Accepted by both", String(verdicts.BOTH_ACCEPTED), "of " + comparison.scans,
    `${verdicts.ONLY_VOXLOC} by voxloc alone, ${verdicts.ONLY_RECORDED} by the recorded alone, ${verdicts.NEITHER} by neither`),
    "verdicts in order", rows.map(statusColor));
  addTile("Scans of one side", String(verdicts.NOT_RECORDED + comparison.only_recorded_scans), "",
    `${verdicts.NOT_RECORDED} not aligned by the recorded, ${comparison.only_recorded_scans} not sent`);
  byId("setting").textContent = `Scans ${comparison.scans_path} \u00b7 guesses ${comparison.guesses} \u00b7 ` +
    `server ${comparison.server}, voxlocd ${comparison.server_version} \u00b7 voxloc ${comparison.client_version} \u00b7 ${comparison.started_at}`;
}

function addCharts() {
  const charts = byId("charts");
  const colors = ["var(--estimate)", "var(--second)", "var(--truth)"];
  const axes = (names, keys, factor) => keys.map((key, i) => ({
    name: names[i], color: colors[i], value: (row) => (row.difference ? factor * row.difference[key] : NaN),
  }));
  const both = (key) => [
    { name: "voxloc", color: colors[0], value: (row) => row.voxloc[key] },
    { name: "recorded", color: colors[2], value: (row) => (row.recorded ? row.recorded[key] : NaN) },
  ];
  addChart(charts, "Position difference", "mm", axes(["x", "y", "z"], ["x_m", "y_m", "z_m"], 1e3), null);
  addChart(charts, "Rotation difference", "degrees",
    axes(["roll", "pitch", "yaw"], ["roll_deg", "pitch_deg", "yaw_deg"], 1), null);
  addChart(charts, "Score", "NVTL, higher is better", both("nvtl"), null);
  addChart(charts, "Time", "ms", both("time_ms"), null);
}

function addStatistics() {
  const keys = ["mean", "p50", "p95", "p99", "max"];
  const body = addTableHead(byId("statistics"), ["", ...keys]);
  const add = (name, values, factor, digits, indent) => {
    const line = element("tr", indent ? { class: "indent" } : {});
    line.append(element("th", { scope: "row" }, name));
    keys.forEach((key) => line.append(element("td", {}, fixed(values[key] === null ? NaN : values[key] * factor, digits))));
    body.append(line);
  };
  const difference = comparison.difference;
  add("Position difference, mm", difference.translation_m, 1e3, 2);
  ["x", "y", "z"].forEach((axis) => add(axis, difference[axis + "_m"], 1e3, 2, true));
  add("Rotation difference, degrees", difference.rotation_deg, 1, 4);
  ["roll", "pitch", "yaw"].forEach((axis) => add(axis, difference[axis + "_deg"], 1, 4, true));
  Object.entries({ transform_probability: "Transform probability", nvtl: "NVTL", iterations: "Iterations", time_ms: "Time, ms" })
    .filter(([key]) => comparison.values[key].scans > 0).forEach(([key, name]) => {
      add(name, comparison.values[key].voxloc, 1, 3);
      add("recorded", comparison.values[key].recorded, 1, 3, true);
      add("difference", comparison.values[key].difference, 1, 3, true);
    });
}

function addRows(chosen) {
  const table = byId("rows");
  table.replaceChildren();
  const body = addTableHead(table, ["scan", "verdicts", "time, s", "position, mm", "x, mm", "y, mm", "z, mm", "rotation, \u00b0",
    "transform probability", "NVTL", "iterations", "time, ms", "diagnostics"], ["verdicts", "diagnostics"]);
  chosen.forEach((row) => {
    const line = element("tr");
    const verdict = element("td", { class: "text" });
    verdict.append(badgeOf(verdictText(row), statusColor(row)));
    const difference = (key, factor, digits) =>
      element("td", {}, fixed(row.difference ? factor * row.difference[key] : NaN, digits));
    const diagnostics = row.recorded && row.recorded.diagnostics;
    line.append(element("td", {}, row.file), verdict, element("td", {}, fixed(row.t, 2)),
      difference("translation_m", 1e3, 2), difference("x_m", 1e3, 2), difference("y_m", 1e3, 2),
      difference("z_m", 1e3, 2), difference("rotation_deg", 1, 4),
      element("td", {}, pairOf(row, "transform_probability", 3)), element("td", {}, pairOf(row, "nvtl", 3)),
      element("td", {}, pairOf(row, "iterations", 0)), element("td", {}, pairOf(row, "time_ms", 1)),
      element("td", { class: "text" }, diagnostics ? `${diagnostics.level} ${diagnostics.message}` : "\u2013"));
    body.append(line);
  });
}

function addPage() {
  addSummary();
  addCharts();
  addStatistics();
  const size = (row) => (row.difference ? row.difference.translation_m : -1);
  const largest = rows.slice().sort((a, b) => size(b) - size(a)).slice(0, 20);
  const disagreeing = rows.filter((row) => !row.accepted);
  const choices = [["largest differences", largest]];
  if (disagreeing.length) choices.push([`other verdicts (${disagreeing.length})`, disagreeing]);
  choices.push([`all ${rows.length}`, rows]);
  addSegments(byId("row-choice"), choices, addRows);
  addTheme(() => {});
}

addPage();
