// A place from above in the axes of the map, x to the right and y up, on canvases: what maps of drives
// and of fleets share. The wheel (controls.js) and buttons zoom, dragging pans.

function drawLine(pen, points, width, color, alpha) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.lineWidth = width;
  pen.strokeStyle = color;
  pen.globalAlpha = alpha;
  pen.stroke();
  pen.globalAlpha = 1;
}

function drawDisc(pen, [x, y], radius, color) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = color;
  pen.fill();
  pen.lineWidth = 2;
  pen.strokeStyle = cssColor("--card");
  pen.stroke();
}

function drawLabel(pen, text, [x, y]) {
  pen.font = "600 12px system-ui, sans-serif";
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = cssColor("--card");
  pen.strokeText(text, x, y);
  pen.fillStyle = cssColor("--ink");
  pen.fillText(text, x, y);
}

// Half the axes of the ellipse that holds x and y with 95 %, metres, the longer one first, and its
// direction, radians from the map's x axis. null without a covariance. sqrt(5.991): the 95 %
// quantile of chi-square with two degrees of freedom.
function ellipseOf(row) {
  const covariance = row.pose && row.position_covariance;
  if (!covariance) return null;
  const [xx, xy, , yy] = covariance;
  const middle = (xx + yy) / 2;
  const half = Math.hypot((xx - yy) / 2, xy);
  return {
    radii: [middle + half, middle - half].map((value) => Math.sqrt(5.991 * Math.max(0, value))),
    angle: 0.5 * Math.atan2(2 * xy, xx - yy),
  };
}

// Fills an ellipse of 95 % (ellipseOf) at a pixel; `scale`: pixels per metre.
function drawEllipseAt(pen, [x, y], ellipse, scale) {
  const [long, short] = ellipse.radii.map((radius) => radius * scale);
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

// From the map's x axis, radians; of a pose: x, y, z and a quaternion (x, y, z, w).
function headingOf(pose) {
  const [qx, qy, qz, qw] = pose.slice(3);
  return Math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz));
}

// `extent()` gives the lowest and the highest [x, y] to be seen, or null where there is nothing yet;
// `draw()` draws all, once there is a view.
function addPlanView(box, extent, draw) {
  let view = null;  // { x, y, scale }: the point in the middle, and pixels per metre
  // Of the box, pixels; asking the box itself while a page changes would lay the page out each time.
  let [width, height] = [0, 0];

  function fit() {
    const found = extent();
    if (!found) return;
    const [low, high] = found;
    const margin = Math.max(14, 0.07 * Math.max(high[0] - low[0], high[1] - low[1]));
    view = {
      x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2,
      scale: Math.min(width / (high[0] - low[0] + 2 * margin),
        height / (high[1] - low[1] + 2 * margin)),
    };
  }

  const drawSoon = drawerOf(() => {
    if (!width) return;
    if (!view) fit();
    if (view) draw();
  });
  function pan(dx, dy) {
    if (!view) return;
    view.x -= dx / view.scale;
    view.y += dy / view.scale;
    drawSoon();
  }
  // Keeps in place what is at a pixel of the box, its middle where none is given.
  function zoom(factor, x = width / 2, y = height / 2) {
    if (!view) return;
    const from = { x: view.x + (x - width / 2) / view.scale, y: view.y - (y - height / 2) / view.scale };
    const scale = Math.min(4000, Math.max(0.01, view.scale * factor));
    view = {
      x: from.x - (x - width / 2) / scale, y: from.y + (y - height / 2) / scale, scale,
    };
    drawSoon();
  }

  const toPixel = (x, y) => [
    width / 2 + (x - view.x) * view.scale, height / 2 - (y - view.y) * view.scale];

  // An empty canvas of the size of the box, whose pen draws in pixels of the page.
  function prepare(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const size = [width, height].map((length) => Math.round(length * ratio));
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    const pen = canvas.getContext("2d");
    pen.restore();
    pen.save();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  function drawScaleBar(pen) {
    const length = ticks(0, 130 / view.scale, 1).step;
    const metres = length * view.scale > 160 ? length / 2 : length;
    const pixels = metres * view.scale;
    const y = height - 18;
    const ends = [[18, y - 5], [18, y], [18 + pixels, y], [18 + pixels, y - 5]];
    drawLine(pen, ends, 5, cssColor("--card"), 0.9);
    drawLine(pen, ends, 1.8, cssColor("--ink"), 1);
    drawLabel(pen, significantLength(metres), [22, y - 7]);
  }

  const significantLength = (metres) =>
    (metres >= 1000 ? metres / 1000 + " km" : Number(metres.toPrecision(3)) + " m");

  function showAll() {
    fit();
    drawSoon();
  }

  addDragging(box, (event, dx, dy) => pan(dx, dy));
  addWheelZoom(box, zoom);
  byId("zoom-in").addEventListener("click", () => zoom(1.6));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.6));
  byId("zoom-fit").addEventListener("click", showAll);
  new ResizeObserver(() => {
    [width, height] = [box.clientWidth, box.clientHeight];
    drawSoon();
  }).observe(box);
  return {
    toPixel, prepare, drawScaleBar, drawSoon, pan, zoom, showAll,
    size: () => [width, height],
    shown: () => view !== null,  // whether there is something to draw
    scale: () => view.scale,
  };
}
