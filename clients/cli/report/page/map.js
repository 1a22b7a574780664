// The drive from above: the surroundings on one canvas, the paths and the selection on another.

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

  // A pose with its error drawn larger.
  const besideTruth = (row, pose) => [0, 1].map(
    (axis) => row.truth[axis] + exaggeration * (pose[axis] - row.truth[axis]));
  const shown = (row) => besideTruth(row, row.pose);

  function extent() {
    if (!rows.length) return null;
    const places = [0, 1].map((axis) => rows.map((row) => row.truth[axis]));
    return [[Math.min, Infinity], [Math.max, -Infinity]].map(([pick, first]) =>
      places.map((values) => values.reduce((a, b) => pick(a, b), first)));
  }

  function drawGround() {
    const pen = plan.prepare(ground);
    const [from, to] = ["--map-low", "--map-high"].map((name) => cssColor(name).split(",").map(Number));
    const size = Math.max(1, data.picture.cell_m * plan.scale() * 1.05);
    shades.forEach((cells, shade) => {
      const part = shade / (shades.length - 1);
      const color = from.map((value, i) => Math.round(value + (to[i] - value) * part));
      pen.fillStyle = `rgb(${color.join(",")})`;
      for (let i = 0; i < cells.length; i += 2) {
        const [x, y] = plan.toPixel(data.picture.low[0] + data.picture.cell_m * cells[i],
          data.picture.low[1] + data.picture.cell_m * (cells[i + 1] + 1));
        if (x > -size && y > -size && x < box.clientWidth && y < box.clientHeight) {
          pen.fillRect(x, y, size, size);
        }
      }
    });
  }

  function drawPaths() {
    const pen = plan.prepare(paths);
    pen.lineJoin = "round";
    pen.lineCap = "round";
    drawLine(pen, rows.map((row) => plan.toPixel(row.truth[0], row.truth[1])), 8, cssColor("--truth"), 0.55);
    pen.setLineDash([6, 5]);
    drawLine(pen, rows.filter((row) => row.dead_reckoned).map((row) => plan.toPixel(...row.dead_reckoned)), 2, cssColor("--second"), 1);
    pen.setLineDash([]);
    if (ellipses) spaced.forEach((row) => drawEllipse(pen, row));
    if (compared) {
      drawLine(pen, rows.filter((row) => row.other && row.other.pose)
        .map((row) => plan.toPixel(...besideTruth(row, row.other.pose))), 2.2, cssColor("--other"), 1);
    }
    drawLine(pen, posed.map((row) => plan.toPixel(...shown(row))), 2.2, cssColor("--estimate"), 1);
    drawLine(pen, rows.filter((row) => row.fused)
      .map((row) => plan.toPixel(...besideTruth(row, row.fused.pose))), 2.2, cssColor("--fused"), 1);
    spaced.forEach((row) => drawUnobserved(pen, row));
    posed.filter((row) => !row.accepted).forEach((row) => drawDisc(pen, plan.toPixel(...shown(row)), 4.5, cssColor("--bad")));
    if (rows.length) {
      const first = plan.toPixel(rows[0].truth[0], rows[0].truth[1]);
      const end = rows[rows.length - 1];
      const last = plan.toPixel(end.truth[0], end.truth[1]);
      drawDisc(pen, first, 5, cssColor("--good"));
      drawLabel(pen, "start", [first[0] + 10, first[1] + 4]);
      if (Math.hypot(first[0] - last[0], first[1] - last[1]) > 30) {
        drawDisc(pen, last, 5, cssColor("--ink"));
        drawLabel(pen, "end", [last[0] + 10, last[1] + 4]);
      }
    }
    if (selection.index !== null) drawSelected(pen, rows[selection.index]);
    plan.drawScaleBar(pen);
  }

  // Drawn as much larger as the errors are.
  function drawEllipse(pen, row) {
    const ellipse = ellipseOf(row);
    if (!ellipse) return;
    drawEllipseAt(pen, plan.toPixel(...shown(row)), ellipse, exaggeration * plan.scale());
  }

  // The direction that the scan observes least, where it leaves one unobserved that lies in the plane.
  function drawUnobserved(pen, row) {
    if (!(row.unobserved_axes || []).length || !row.least_observed) return;
    const [dx, dy] = row.least_observed;
    const length = Math.hypot(dx, dy);
    if (length < 0.5) return;
    const [x, y] = plan.toPixel(...shown(row));
    const [ex, ey] = [14 * dx / length, -14 * dy / length];
    drawLine(pen, [[x - ex, y - ey], [x + ex, y + ey]], 2.5, cssColor("--bad"), 1);
  }

  function drawProtection(pen, row) {
    if (!row.protection || !finite(row.protection.horizontal_m)) return;
    const [x, y] = plan.toPixel(...besideTruth(row, row.protection.pose || row.pose));
    pen.beginPath();
    pen.arc(x, y, row.protection.horizontal_m * exaggeration * plan.scale(), 0, 2 * Math.PI);
    pen.setLineDash([5, 4]);
    pen.lineWidth = 1.5;
    pen.strokeStyle = cssColor("--warn");
    pen.stroke();
    pen.setLineDash([]);
  }

  function drawSelected(pen, row) {
    const truth = plan.toPixel(row.truth[0], row.truth[1]);
    drawDisc(pen, truth, 6, cssColor("--truth"));
    if (!row.pose) return;
    drawProtection(pen, row);
    if (ellipses) drawEllipse(pen, row);
    const at = plan.toPixel(...shown(row));
    const heading = headingOf(row.pose);
    const tip = [at[0] + 22 * Math.cos(heading), at[1] - 22 * Math.sin(heading)];
    drawLine(pen, [at, tip], 3, cssColor("--estimate"), 1);
    drawDisc(pen, at, 5, cssColor("--estimate"));
  }

  const plan = addPlanView(box, extent, () => {
    drawGround();
    drawPaths();
  });
  function nearest(x, y) {
    let best = null;
    let distance = 40;
    rows.forEach((row, i) => {
      const at = plan.toPixel(row.truth[0], row.truth[1]);
      const away = Math.hypot(at[0] - x, at[1] - y);
      if (away < distance) { distance = away; best = i; }
    });
    return best;
  }

  box.addEventListener("pointerdown", () => selection.set(null, null));
  box.addEventListener("pointermove", (event) => {
    if (!plan.shown() || box.classList.contains("dragging")) return;
    const corner = box.getBoundingClientRect();
    selection.set(nearest(event.clientX - corner.left, event.clientY - corner.top),
      { x: event.clientX, y: event.clientY });
  });
  box.addEventListener("pointerleave", () => selection.set(null, null));
  selection.listeners.push(() => { if (plan.shown()) drawPaths(); });
  return {
    draw: plan.drawSoon,
    exaggerate(factor) { exaggeration = factor; if (plan.shown()) drawPaths(); },
    showEllipses(on) { ellipses = on; if (plan.shown()) drawPaths(); },
  };
}
