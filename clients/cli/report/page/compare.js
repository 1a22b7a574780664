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

function poseDistance(a, b) {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// Of the rotation from one quaternion (x, y, z, w) to the other, degrees.
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
  const card = document.getElementById("comparison");
  card.hidden = !compared;
  if (!compared) return;
  const both = rows.filter((row) => row.other);
  const posed = both.filter((row) => row.pose && row.other.pose);
  const count = (here, there) =>
    both.filter((row) => row.accepted === here && row.other.accepted === there).length;
  document.getElementById("comparison-title").textContent = `Compared with ${compared.name}`;
  document.getElementById("comparison-counts").textContent =
    `${both.length} of ${rows.length} scans are in both runs, ${posed.length} with a pose in both. ` +
    `Accepted: ${count(true, true)} in both, ${count(true, false)} only here, ` +
    `${count(false, true)} only there, ${count(false, false)} in neither. The other run: map ` +
    `${compared.map}, profile ${compared.profile}, engine ${compared.engine}, guess ${compared.guess}.`;
  const body = addTableHead(document.getElementById("comparison-table"), ["", "mean", "p50", "p95", "max"]);
  const line = (name, values, digits, indent) => {
    const made = element("tr", indent ? { class: "indent" } : {});
    made.append(element("th", { scope: "row" }, name));
    const shown = summarize(values);
    for (const key of ["mean", "p50", "p95", "max"]) made.append(element("td", {}, fixed(shown[key], digits)));
    body.append(made);
  };
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
    posed.map((row) => poseDistance(row.pose, row.other.pose) * errorFactor), errorDigits);
  line("Angle between the poses, degrees", posed.map((row) => poseAngle(row.pose, row.other.pose)), 3);
}
