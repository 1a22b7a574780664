// The map of a fleet from above: tiles on one canvas, over them on another the vehicles with their ways,
// ellipses and verdicts. What it shows is also in the table of vehicles.

// More names would hide each other.
const mostNames = 40;
// Samples of the way of a vehicle that is not chosen: 20 s, and little to draw for hundreds of vehicles.
const shortWay = 40;

// `choose` gets the vehicle that was clicked.
function addFleetMap(box, choose) {
  const [ground, above] = box.querySelectorAll("canvas");
  let tiles = [];
  let vehicles = [];  // with a pose
  let selected = null;

  function extent() {
    const places = tiles.flatMap(([x0, y0, x1, y1]) => [[x0, y0], [x1, y1]])
      .concat(vehicles.map((vehicle) => poseOf(vehicle)));
    if (!places.length) return null;
    return [Math.min, Math.max].map((pick) =>
      [0, 1].map((axis) => places.reduce((value, place) => pick(value, place[axis]), places[0][axis])));
  }

  function inView([x, y], margin) {
    const [width, height] = plan.size();
    return x > -margin && y > -margin && x < width + margin && y < height + margin;
  }

  function drawTiles() {
    const pen = plan.prepare(ground);
    const [width, height] = plan.size();
    pen.lineWidth = 1;
    pen.strokeStyle = cssColor("--card");
    const [plain, changed] = [cssColor("--map-low"), cssColor("--warn")];
    tiles.forEach(([x0, y0, x1, y1, change]) => {
      const [left, top] = plan.toPixel(x0, y1);
      const [right, bottom] = plan.toPixel(x1, y0);
      if (right < 0 || bottom < 0 || left > width || top > height) return;
      const corners = [left, top, Math.max(1, right - left), Math.max(1, bottom - top)];
      pen.fillStyle = `rgb(${plain})`;
      pen.fillRect(...corners);
      if (change > 0) {
        pen.globalAlpha = Math.min(0.8, change);
        pen.fillStyle = changed;
        pen.fillRect(...corners);
        pen.globalAlpha = 1;
      }
      pen.strokeRect(...corners);
    });
  }

  function drawVehicle(pen, vehicle, named) {
    const pose = poseOf(vehicle);
    const at = plan.toPixel(pose[0], pose[1]);
    const chosen = keyOf(vehicle) === selected;
    const color = cssColor(vehicleColor(vehicle).slice(4, -1));
    const way = [];
    wayOf(keyOf(vehicle), chosen ? keptSamples : shortWay, (x, y) => way.push(plan.toPixel(x, y)));
    if (way.length > 1) drawLine(pen, way, chosen ? 3 : 1.6, color, chosen ? 0.9 : 0.45);
    if (!inView(at, 40)) return;
    const ellipse = ellipseOf({ pose, position_covariance: covarianceOf(vehicle) });
    if (ellipse) drawEllipseAt(pen, at, ellipse, plan.scale());
    const heading = headingOf(pose);
    const corner = (forward, left) => [
      at[0] + forward * Math.cos(heading) - left * Math.sin(heading),
      at[1] - forward * Math.sin(heading) - left * Math.cos(heading)];
    pen.beginPath();
    [[10, 0], [-6, 6], [-3, 0], [-6, -6]].forEach(([forward, left], i) =>
      (i ? pen.lineTo(...corner(forward, left)) : pen.moveTo(...corner(forward, left))));
    pen.closePath();
    pen.fillStyle = color;
    pen.fill();
    pen.lineWidth = chosen ? 3 : 1.2;
    pen.strokeStyle = cssColor(chosen ? "--ink" : "--card");
    pen.stroke();
    if (named || chosen) drawLabel(pen, keyOf(vehicle).slice(0, 40), [at[0] + 12, at[1] + 4]);
  }

  function drawVehicles() {
    const pen = plan.prepare(above);
    pen.lineJoin = "round";
    pen.lineCap = "round";
    const named = vehicles.length <= mostNames;
    // Those in trouble, and the chosen one, lie over the others.
    const rank = (vehicle) => Number(Boolean(vehicle.needs_attention)) + 2 * Number(keyOf(vehicle) === selected);
    vehicles.slice().sort((a, b) => rank(a) - rank(b)).forEach((vehicle) => drawVehicle(pen, vehicle, named));
    plan.drawScaleBar(pen);
    box.dataset.drawn = String(vehicles.length);  // for tests
  }

  const plan = addPlanView(box, extent, () => {
    drawTiles();
    drawVehicles();
  });

  // A click is a press and a release in one place.
  let pressed = null;
  box.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  box.addEventListener("pointerup", (event) => {
    if (!plan.shown() || !pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 3) return;
    const corner = box.getBoundingClientRect();
    const away = (vehicle) => {
      const [x, y] = plan.toPixel(...poseOf(vehicle).slice(0, 2));
      return Math.hypot(x - event.clientX + corner.left, y - event.clientY + corner.top);
    };
    const nearest = vehicles.reduce((best, one) => (best === null || away(one) < away(best) ? one : best), null);
    if (nearest && away(nearest) < 24) choose(keyOf(nearest));
  });
  box.addEventListener("keydown", (event) => {
    const moved = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    const zoomed = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!moved && !zoomed && event.key !== "Home")) return;
    event.preventDefault();
    if (moved) plan.pan(...moved);
    else if (zoomed) plan.zoom(zoomed);
    else plan.showAll();
  });

  return {
    draw: plan.drawSoon,
    showAll: plan.showAll,
    setTiles(list) { tiles = list; plan.drawSoon(); },
    setVehicles(list, key) {
      vehicles = list;
      selected = key;
      if (plan.shown()) drawVehicles(); else plan.drawSoon();
    },
  };
}
