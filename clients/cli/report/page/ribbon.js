// The drive as a ribbon over time: a lane for the verdicts, and one for each axis, coloured where the
// scans do not observe it. Lanes share the selection with the map and the charts.

const axisNames = ["x", "y", "z", "rx", "ry", "rz"];
const ribbonMargin = { left: 64, right: 36 };
const laneHeight = 15;
const laneGap = 5;

function axisColor(row, axis) {
  if (!row.pose) return null;
  if ((row.unobserved_axes || []).includes(axis)) return "var(--bad)";
  return (row.weak_axes || []).includes(axis) ? "var(--warn)" : null;
}

// Runs of rows with one colour: { color, from, to }, `to` excluded; rows without one are left out.
function colorRuns(colorOf) {
  const runs = [];
  rows.forEach((row, i) => {
    const color = colorOf(row);
    const last = runs[runs.length - 1];
    if (last && last.to === i && last.color === color) { last.to = i + 1; } else if (color) {
      runs.push({ color, from: i, to: i + 1 });
    }
  });
  return runs;
}

function addRibbon(box) {
  const lanes = [["verdict", colorRuns(statusColor)]]
    .concat(axisNames.map((axis) => [axis, colorRuns((row) => axisColor(row, axis))]));
  const height = lanes.length * (laneHeight + laneGap) + laneGap;
  const svg = svgElement("svg", { role: "img", "aria-label": "verdicts and unobserved axes over time" });
  svg.style.height = height + "px";
  box.append(svg);
  // Where scan i begins: half way from the one before it.
  const last = rows.length - 1;
  const edges = rows.map((row, i) => (i === 0 ? row.t : (rows[i - 1].t + row.t) / 2));
  const end = rows.length > 1 ? rows[last].t + (rows[last].t - rows[last - 1].t) / 2 : 1;
  edges.push(end);
  const first = rows.length > 1 ? rows[0].t - (rows[1].t - rows[0].t) / 2 : 0;
  edges[0] = first;
  let width = 0;
  const x = (t) => ribbonMargin.left + (width - ribbonMargin.left - ribbonMargin.right) * (t - first) / (end - first);
  const cursor = (index) => {
    svg.querySelectorAll(".cursor").forEach((mark) => mark.remove());
    if (index === null || !width) return;
    const at = x(rows[index].t);
    svg.append(svgElement("line", { class: "cursor", x1: at, x2: at, y1: 0, y2: height }));
  };
  const draw = () => {
    width = svg.clientWidth || 600;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    lanes.forEach(([name, runs], k) => {
      const y = laneGap + k * (laneHeight + laneGap);
      svg.append(
        svgElement("text", { x: ribbonMargin.left - 10, y: y + laneHeight - 3, "text-anchor": "end" }, name),
        svgElement("rect", { class: "lane", x: x(first), y, width: x(end) - x(first), height: laneHeight }));
      runs.forEach((run) => {
        const part = svgElement("rect", {
          class: "run", "data-lane": name, "data-from": run.from, "data-to": run.to, x: x(edges[run.from]), y,
          width: Math.max(0.75, x(edges[run.to]) - x(edges[run.from])), height: laneHeight,
        });
        part.style.fill = run.color;
        svg.append(part);
      });
    });
    cursor(selection.index);
  };
  if (rows.length) {
    selection.listeners.push(cursor);
    new ResizeObserver(draw).observe(svg);
    svg.addEventListener("pointermove", (event) => {
      const pixel = event.clientX - svg.getBoundingClientRect().left;
      let at = edges.findIndex((edge, i) => i > 0 && pixel < x(edge)) - 1;
      if (at < 0) at = last;
      selection.set(at, { x: event.clientX, y: event.clientY });
    });
    svg.addEventListener("pointerleave", () => selection.set(null, null));
  }
  const legend = element("ul", { class: "legend" });
  const entry = (text, color) => {
    const item = element("li", {}, text);
    const dot = element("i", { class: "dot" });
    dot.style.background = color;
    item.prepend(dot);
    legend.append(item);
  };
  const seen = new Map();
  rows.forEach((row) => seen.set(row.status || "no reply", row));
  seen.forEach((row, name) => entry(`${name} (${rows.filter((one) => (one.status || "no reply") === name).length})`,
    statusColor(row)));
  entry("axis not observed", "var(--bad)");
  entry("axis weakly observed", "var(--warn)");
  box.append(legend);
}
