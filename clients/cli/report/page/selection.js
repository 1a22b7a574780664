// What the views of a drive share: the scan under the pointer, and the box that describes it.

const data = JSON.parse(byId("voxloc-data").textContent);
const replay = data.replay;
const rows = replay.results;
const start = rows.length ? rows[0].stamp_s : 0;
const rising = rows.every((row, i) => i === 0 || row.stamp_s > rows[i - 1].stamp_s);
// Seconds since the first scan; scan numbers where the stamps do not rise.
rows.forEach((row, i) => { row.t = rising ? row.stamp_s - start : i; row.at = i; });
// The other run, whose rows stand beside those of this one.
const compared = data.compared || null;
rows.forEach((row, i) => { row.other = compared ? compared.results[i] : null; });
const views = data.views || { scans: [] };
const timeUnit = rising ? "s" : "";

// Errors in the unit that suits them.
const [errorUnit, errorFactor] =
  [["m", 1], ["cm", 100], ["mm", 1000]].find(([, factor]) => replay.translation_error_m.p95 * factor >= 1) ||
  ["mm", 1000];

// The parts of a CALIBRATED covariance, as the replay's sigma_shares names them.
const sigmaShares = [["scan", "scan"], ["map_and_mounting", "map and mounting"], ["time", "time of the stamps"],
  ["sweep", "motion in the sweep"]];

// What the sigma along the base's least certain axis is made of, in words; empty where it is not known.
function sharesText(row) {
  const shares = row.pose && row.sigma_shares;
  if (!shares) return "";
  const along = (axis) => Math.hypot(...sigmaShares.map(([key]) => shares[key][axis]));
  const axis = [1, 2].reduce((least, one) => (along(one) > along(least) ? one : least), 0);
  const parts = sigmaShares.map(([key, name]) => `${name} ${fixed(shares[key][axis], 3)}`);
  return `${fixed(along(axis), 3)} m along the base's ${"xyz"[axis]}: ${parts.join(", ")}`;
}

const selection = {
  index: null,
  listeners: [],
  set(index, pointer) {
    if (index !== this.index) {
      this.index = index;
      this.listeners.forEach((listener) => listener(index));
    }
    showReadout(index === null ? null : rows[index], pointer);
  },
};

function showReadout(row, pointer) {
  const box = byId("readout");
  box.hidden = row === null || !pointer;
  if (box.hidden) return;
  box.replaceChildren();
  const head = element("h3", {}, row.file);
  head.append(badgeOf(row.status || "no reply", statusColor(row)));
  const list = element("dl");
  const add = (name, value) => list.append(element("dt", {}, name), element("dd", {}, value));
  add(rising ? "time" : "scan", fixed(row.t, rising ? 2 : 0) + " " + timeUnit);
  if (row.pose) {
    add("position error", significant(row.translation_error_m * errorFactor) + " " + errorUnit);
    add("rotation error", fixed(row.rotation_error_deg, 3) + "\u00b0");
    if (row.other && row.other.pose) {
      add("of the other run", significant(row.other.translation_error_m * errorFactor) + " " + errorUnit);
    }
    if (row.fused) add("fused position error", significant(row.fused.translation_error_m * errorFactor) + " " + errorUnit);
    const ellipse = ellipseOf(row);
    if (ellipse) {
      add("95 % ellipse", `${ellipse.radii.map((radius) => fixed(radius, 3)).join(" \u00d7 ")} m`);
    }
    if (sharesText(row)) add("sigma", sharesText(row));
    if (row.protection) {
      const level = (value) => (finite(value) ? fixed(value, 2) + " m" : "no bound");
      add("protection level", `${level(row.protection.horizontal_m)}, vertically ${level(row.protection.vertical_m)}`);
    }
    if ((row.unobserved_axes || []).length) add("not observed", row.unobserved_axes.join(" "));
    if (finite(row.confidence)) add("confidence", fixed(row.confidence, 2));
    add("NVTL", fixed(row.scores.nvtl, 2));
    add("iterations", String(row.iterations));
    add("points", String(row.points_used));
  }
  add("round trip", fixed(row.latency_ms, 2) + " ms");
  if (row.pose) add("engine", fixed(row.engine_ms, 2) + " ms");
  box.append(head, list);
  const size = box.getBoundingClientRect();
  const right = pointer.x + 16 + size.width < window.innerWidth - 8;
  const x = right ? pointer.x + 16 : pointer.x - 16 - size.width;
  const y = Math.min(pointer.y + 12, window.innerHeight - size.height - 8);
  box.style.left = Math.max(8, x) + "px";
  box.style.top = Math.max(8, y) + "px";
}

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step || selection.index === null) return;
  event.preventDefault();
  selection.set(Math.min(rows.length - 1, Math.max(0, selection.index + step)), null);
});
