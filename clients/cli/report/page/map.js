// The map from above: the surroundings on one canvas, the paths and the selection on another, both
// in the map's axes, x to the right and y up. The wheel (selection.js) and buttons zoom, dragging pans.

function decodePicture(picture) {
  const bytes = Uint8Array.from(atob(picture.base64), (letter) => letter.charCodeAt(0));
  const shades = Array.from({ length: 12 }, () => []);
  for (let at = 0; at < bytes.length; at += 6) {
    const x = bytes[at] | (bytes[at + 1] << 8);
    const y = bytes[at + 2] | (bytes[at + 3] << 8);
    // What stands upright matters most: walls are dark, the ground is faint.
    const upright = Math.min(1, bytes[at + 5] / 96);
    const shade = 0.28 * bytes[at + 4] / 255 + 0.72 * upright;
    shades[Math.min(11, Math.floor(shade * 12))].push(x, y);
  }
  return shades;
}

function addMap(box) {
  const [ground, paths] = box.querySelectorAll("canvas");
  const shades = decodePicture(data.picture);
  byId("map-empty").hidden = data.picture.cells > 0;
  const posed = rows.filter((row) => row.pose);
  let exaggeration = 1;
  let ellipses = true;
  // Every so many of them, so that they can be distinguished.
  const spaced = posed.filter((row, i) => i % Math.max(1, Math.ceil(posed.length / 200)) === 0);
  let view = null;  // { x, y, scale }: the point in the middle, and pixels per metre

  // A pose with its error drawn larger.
  const besideTruth = (row, pose) => [0, 1].map(
    (axis) => row.truth[axis] + exaggeration * (pose[axis] - row.truth[axis]));
  const shown = (row) => besideTruth(row, row.pose);

  function fit() {
    const places = [0, 1].map((axis) => rows.map((row) => row.truth[axis]));
    const low = places.map((values) => values.reduce((a, b) => Math.min(a, b), Infinity));
    const high = places.map((values) => values.reduce((a, b) => Math.max(a, b), -Infinity));
    const margin = Math.max(14, 0.07 * Math.max(high[0] - low[0], high[1] - low[1]));
    view = {
      x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2,
      scale: Math.min(box.clientWidth / (high[0] - low[0] + 2 * margin),
        box.clientHeight / (high[1] - low[1] + 2 * margin)),
    };
  }

  const toPixel = (x, y) => [
    box.clientWidth / 2 + (x - view.x) * view.scale, box.clientHeight / 2 - (y - view.y) * view.scale];

  function prepare(canvas) {
    const ratio = fitCanvas(canvas, box);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return pen;
  }

  function drawGround() {
    const pen = prepare(ground);
    const [from, to] = ["--map-low", "--map-high"].map((name) => cssColor(name).split(",").map(Number));
    const size = Math.max(1, data.picture.cell_m * view.scale * 1.05);
    shades.forEach((cells, shade) => {
      const part = shade / (shades.length - 1);
      const color = from.map((value, i) => Math.round(value + (to[i] - value) * part));
      pen.fillStyle = `rgb(${color.join(",")})`;
      for (let i = 0; i < cells.length; i += 2) {
        const [x, y] = toPixel(data.picture.low[0] + data.picture.cell_m * cells[i],
          data.picture.low[1] + data.picture.cell_m * (cells[i + 1] + 1));
        if (x > -size && y > -size && x < box.clientWidth && y < box.clientHeight) {
          pen.fillRect(x, y, size, size);
        }
      }
    });
  }

  function line(pen, points, width, color, alpha) {
    pen.beginPath();
    points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.lineWidth = width;
    pen.strokeStyle = color;
    pen.globalAlpha = alpha;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  function disc(pen, [x, y], radius, color) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fillStyle = color;
    pen.fill();
    pen.lineWidth = 2;
    pen.strokeStyle = cssColor("--card");
    pen.stroke();
  }

  function label(pen, text, [x, y]) {
    pen.font = "600 12px system-ui, sans-serif";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = cssColor("--card");
    pen.strokeText(text, x, y);
    pen.fillStyle = cssColor("--ink");
    pen.fillText(text, x, y);
  }

  function drawPaths() {
    const pen = prepare(paths);
    pen.lineJoin = "round";
    pen.lineCap = "round";
    line(pen, rows.map((row) => toPixel(row.truth[0], row.truth[1])), 8, cssColor("--truth"), 0.55);
    pen.setLineDash([6, 5]);
    line(pen, rows.filter((row) => row.dead_reckoned).map((row) => toPixel(...row.dead_reckoned)), 2, cssColor("--second"), 1);
    pen.setLineDash([]);
    if (ellipses) spaced.forEach((row) => drawEllipse(pen, row));
    if (compared) {
      line(pen, rows.filter((row) => row.other && row.other.pose)
        .map((row) => toPixel(...besideTruth(row, row.other.pose))), 2.2, cssColor("--other"), 1);
    }
    line(pen, posed.map((row) => toPixel(...shown(row))), 2.2, cssColor("--estimate"), 1);
    line(pen, rows.filter((row) => row.fused)
      .map((row) => toPixel(...besideTruth(row, row.fused.pose))), 2.2, cssColor("--fused"), 1);
    spaced.forEach((row) => drawUnobserved(pen, row));
    posed.filter((row) => !row.accepted).forEach((row) => disc(pen, toPixel(...shown(row)), 4.5, cssColor("--bad")));
    if (rows.length) {
      const first = toPixel(rows[0].truth[0], rows[0].truth[1]);
      const end = rows[rows.length - 1];
      const last = toPixel(end.truth[0], end.truth[1]);
      disc(pen, first, 5, cssColor("--good"));
      label(pen, "start", [first[0] + 10, first[1] + 4]);
      if (Math.hypot(first[0] - last[0], first[1] - last[1]) > 30) {
        disc(pen, last, 5, cssColor("--ink"));
        label(pen, "end", [last[0] + 10, last[1] + 4]);
      }
    }
    if (selection.index !== null) drawSelected(pen, rows[selection.index]);
    drawScaleBar(pen);
  }

  // Drawn as much larger as the errors are.
  function drawEllipse(pen, row) {
    const ellipse = ellipseOf(row);
    if (!ellipse) return;
    const [x, y] = toPixel(...shown(row));
    const [long, short] = ellipse.radii.map((radius) => radius * exaggeration * view.scale);
    pen.beginPath();
    pen.ellipse(x, y, long, short, -ellipse.angle, 0, 2 * Math.PI);
    pen.fillStyle = cssColor("--estimate-soft");
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = cssColor("--estimate");
    pen.globalAlpha = 0.5;
    pen.stroke();
    pen.globalAlpha = 1;
  }

  // The direction that the scan observes least, where it leaves one unobserved that lies in the plane.
  function drawUnobserved(pen, row) {
    if (!(row.unobserved_axes || []).length || !row.least_observed) return;
    const [dx, dy] = row.least_observed;
    const length = Math.hypot(dx, dy);
    if (length < 0.5) return;
    const [x, y] = toPixel(...shown(row));
    const [ex, ey] = [14 * dx / length, -14 * dy / length];
    line(pen, [[x - ex, y - ey], [x + ex, y + ey]], 2.5, cssColor("--bad"), 1);
  }

  function drawProtection(pen, row) {
    if (!row.protection || !finite(row.protection.horizontal_m)) return;
    const [x, y] = toPixel(...besideTruth(row, row.protection.pose || row.pose));
    pen.beginPath();
    pen.arc(x, y, row.protection.horizontal_m * exaggeration * view.scale, 0, 2 * Math.PI);
    pen.setLineDash([5, 4]);
    pen.lineWidth = 1.5;
    pen.strokeStyle = cssColor("--warn");
    pen.stroke();
    pen.setLineDash([]);
  }

  function drawSelected(pen, row) {
    const truth = toPixel(row.truth[0], row.truth[1]);
    disc(pen, truth, 6, cssColor("--truth"));
    if (!row.pose) return;
    drawProtection(pen, row);
    if (ellipses) drawEllipse(pen, row);
    const at = toPixel(...shown(row));
    const [qx, qy, qz, qw] = row.pose.slice(3);
    const heading = Math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz));
    const tip = [at[0] + 22 * Math.cos(heading), at[1] - 22 * Math.sin(heading)];
    line(pen, [at, tip], 3, cssColor("--estimate"), 1);
    disc(pen, at, 5, cssColor("--estimate"));
  }

  function drawScaleBar(pen) {
    const length = ticks(0, 130 / view.scale, 1).step;
    const metres = length * view.scale > 160 ? length / 2 : length;
    const pixels = metres * view.scale;
    const y = box.clientHeight - 18;
    const ends = [[18, y - 5], [18, y], [18 + pixels, y], [18 + pixels, y - 5]];
    line(pen, ends, 5, cssColor("--card"), 0.9);
    line(pen, ends, 1.8, cssColor("--ink"), 1);
    label(pen, significantLength(metres), [22, y - 7]);
  }

  const significantLength = (metres) =>
    (metres >= 1000 ? metres / 1000 + " km" : Number(metres.toPrecision(3)) + " m");

  const drawSoon = drawerOf(() => {
    if (!box.clientWidth || !rows.length) return;
    if (!view) fit();
    drawGround();
    drawPaths();
  });
  function zoom(factor, x, y) {
    const from = { x: view.x + (x - box.clientWidth / 2) / view.scale, y: view.y - (y - box.clientHeight / 2) / view.scale };
    const scale = Math.min(4000, Math.max(0.01, view.scale * factor));
    view = {
      x: from.x - (x - box.clientWidth / 2) / scale, y: from.y + (y - box.clientHeight / 2) / scale, scale,
    };
    drawSoon();
  }
  function nearest(x, y) {
    let best = null;
    let distance = 40;
    rows.forEach((row, i) => {
      const at = toPixel(row.truth[0], row.truth[1]);
      const away = Math.hypot(at[0] - x, at[1] - y);
      if (away < distance) { distance = away; best = i; }
    });
    return best;
  }

  box.addEventListener("pointerdown", () => selection.set(null, null));
  addDragging(box, (event, dx, dy) => {
    if (!view) return;
    view.x -= dx / view.scale;
    view.y += dy / view.scale;
    drawSoon();
  });
  box.addEventListener("pointermove", (event) => {
    if (!view || box.classList.contains("dragging")) return;
    const corner = box.getBoundingClientRect();
    selection.set(nearest(event.clientX - corner.left, event.clientY - corner.top),
      { x: event.clientX, y: event.clientY });
  });
  box.addEventListener("pointerleave", () => selection.set(null, null));
  addWheelZoom(box, (factor, x, y) => { if (view) zoom(factor, x, y); });
  const middle = (factor) => () => zoom(factor, box.clientWidth / 2, box.clientHeight / 2);
  byId("zoom-in").addEventListener("click", middle(1.6));
  byId("zoom-out").addEventListener("click", middle(1 / 1.6));
  byId("zoom-fit").addEventListener("click", () => { fit(); drawSoon(); });
  selection.listeners.push(() => { if (view) drawPaths(); });
  new ResizeObserver(drawSoon).observe(box);
  return {
    draw: drawSoon,
    exaggerate(factor) { exaggeration = factor; if (view) drawPaths(); },
    showEllipses(on) { ellipses = on; if (view) drawPaths(); },
  };
}
