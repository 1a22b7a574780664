// The drive over time: line charts with axes, series, the 95th percentile and the cursor of the
// selection; and a ribbon of verdicts.

const chartMargin = { left: 46, right: 36, top: 10, bottom: 26 };

// A list of names, each after a mark of the class in its colour, which is set as `property`.
function legendOf(mark, property, entries) {
  const legend = element("ul", { class: "legend" });
  entries.forEach(([name, color]) => {
    const item = element("li", {}, name);
    const key = element("i", { class: mark });
    key.style[property] = color;
    item.prepend(key);
    legend.append(item);
  });
  return legend;
}

// The cursor of an SVG over the drive: `indexAt` finds the scan at a pixel from its left edge.
function addPointing(svg, indexAt) {
  svg.addEventListener("pointermove", (event) => selection.set(
    indexAt(event.clientX - svg.getBoundingClientRect().left), { x: event.clientX, y: event.clientY }));
  svg.addEventListener("pointerleave", () => selection.set(null, null));
}

// `series`: { name, color, value(row) } each; `p95`: a level to mark, or null. Returns a function that draws
// the chart again.
function addChart(parent, title, unit, series, p95) {
  const card = element("div", { class: "card" });
  const head = element("div", { class: "card-head" });
  head.append(element("h2", {}, title), element("span", { class: "unit" }, unit));
  if (series.length > 1) {
    head.append(legendOf("key", "borderColor", series.map((one) => [one.name, one.color])));
  }
  const svg = svgElement("svg", { role: "img", "aria-label": title + " over time" });
  card.append(head, svg);
  parent.append(card);

  let scale = null;
  const draw = () => { scale = drawChart(svg, series, p95); drawCursor(selection.index); };
  const drawCursor = (index) => {
    svg.querySelectorAll(".mark").forEach((mark) => mark.remove());
    if (index === null || !scale) return;
    const row = rows[index];
    const x = scale.x(row.t);
    svg.append(svgElement("line", {
      class: "cursor mark", x1: x, x2: x, y1: scale.y(scale.high), y2: scale.y(scale.low),
    }));
    series.forEach((one) => {
      const value = one.value(row);
      if (!finite(value)) return;
      const dot = svgElement("circle", { class: "mark", cx: x, cy: scale.y(value), r: 4 });
      dot.style.cssText = "stroke: var(--card); stroke-width: 2; fill: " + one.color;
      svg.append(dot);
    });
  };
  selection.listeners.push(drawCursor);
  new ResizeObserver(draw).observe(svg);
  addPointing(svg, (pixel) => scale.nearest(pixel));
  return draw;
}

function drawChart(svg, series, p95) {
  const width = svg.clientWidth || 600;
  const height = svg.clientHeight || 200;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const values = series.flatMap((one) => rows.map(one.value)).filter(finite);
  const top = values.reduce((most, value) => Math.max(most, value), 0);
  const bottom = values.reduce((least, value) => Math.min(least, value), 0);
  const span = Math.max(top - bottom, 1e-9);
  const marks = ticks(bottom, bottom + span * 1.04, 5);
  const low = Math.min(bottom, marks.values[0]);
  const high = bottom + span * 1.08;
  // A single scan has no duration: its axis shows one second.
  const last = (rows.length && rows[rows.length - 1].t) || 1;
  const plotWidth = width - chartMargin.left - chartMargin.right;
  const plotHeight = height - chartMargin.top - chartMargin.bottom;
  const x = (t) => chartMargin.left + plotWidth * t / last;
  const y = (value) => chartMargin.top + plotHeight * (high - value) / (high - low);
  drawAxes(svg, marks, ticks(0, last, Math.max(2, Math.floor(plotWidth / 90))), x, y, width, height);
  if (finite(p95) && p95 > 0) {
    svg.append(svgElement("line", { class: "p95", x1: x(0), x2: x(last), y1: y(p95), y2: y(p95) }),
      svgElement("text", { x: x(last) + 6, y: y(p95) + 4 }, "p95"));
  }
  series.forEach((one) => drawSeries(svg, one, x, y));
  const nearest = (pixel) => {
    if (!rows.length) return null;
    const t = (pixel - chartMargin.left) / plotWidth * last;
    let best = 0;
    rows.forEach((row, i) => { if (Math.abs(row.t - t) < Math.abs(rows[best].t - t)) best = i; });
    return best;
  };
  return { x, y, low, high, nearest };
}

function drawAxes(svg, vertical, horizontal, x, y, width, height) {
  const digits = (step) => Math.max(0, Math.min(4, Math.ceil(-Math.log10(step) - 1e-9)));
  vertical.values.forEach((value, i) => {
    svg.append(
      svgElement("line", {
        class: i === 0 ? "axis" : "grid", x1: chartMargin.left, x2: width - chartMargin.right,
        y1: y(value), y2: y(value),
      }),
      svgElement("text", { x: chartMargin.left - 8, y: y(value) + 4, "text-anchor": "end" },
        value.toFixed(digits(vertical.step))));
  });
  horizontal.values.forEach((t) => {
    svg.append(svgElement("text", { x: x(t), y: height - 8, "text-anchor": "middle" },
      t.toFixed(digits(horizontal.step)) + (timeUnit ? " " + timeUnit : "")));
  });
}

function drawSeries(svg, one, x, y) {
  let path = "";
  let pen = false;
  rows.forEach((row) => {
    const value = one.value(row);
    if (!finite(value)) { pen = false; return; }
    path += `${pen ? "L" : "M"}${x(row.t).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  const line = svgElement("path", { class: "series", d: path });
  line.style.stroke = one.color;
  svg.append(line);
  rows.forEach((row, i) => {
    const value = one.value(row);
    if (!finite(value)) return;
    // A scan between two without a value has no line: it gets a dot of its own.
    const before = i > 0 && finite(one.value(rows[i - 1]));
    const after = i + 1 < rows.length && finite(one.value(rows[i + 1]));
    if (row.accepted && (before || after)) return;
    const dot = svgElement("circle", { cx: x(row.t), cy: y(value), r: 3 });
    dot.style.fill = row.accepted ? one.color : statusColor(row);
    svg.append(dot);
  });
}

// The ribbon: a lane for the verdicts, and one for each axis, coloured where the
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
    addPointing(svg, (pixel) => {
      const at = edges.findIndex((edge, i) => i > 0 && pixel < x(edge)) - 1;
      return at < 0 ? last : at;
    });
  }
  const seen = new Map();
  rows.forEach((row) => seen.set(row.status || "no reply", row));
  const verdicts = [...seen].map(([name, row]) =>
    [`${name} (${rows.filter((one) => (one.status || "no reply") === name).length})`, statusColor(row)]);
  box.append(legendOf("dot", "background", [
    ...verdicts, ["axis not observed", "var(--bad)"], ["axis weakly observed", "var(--warn)"]]));
}
