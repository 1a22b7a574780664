// The view of a map: a scene, a camera, and over them the box of the selected tile and the sessions.

// Where a point is in the view, pixels from its upper left corner.
function pixelOf(scene, place) {
  const at = onScreen(scene.camera, place, [0, 0, 0]);
  return [scene.size[0] / 2 + at.x, scene.size[1] / 2 - at.y];
}

// The twelve edges of a box, as the path of an SVG.
function boxPath(scene, min, max) {
  const corner = (bits) => pixelOf(scene, [0, 1, 2].map((axis) => (bits & (1 << axis) ? max[axis] : min[axis])))
    .map((value) => value.toFixed(1)).join(" ");
  const edges = [];
  for (let from = 0; from < 8; from += 1) {
    for (let axis = 0; axis < 3; axis += 1) {
      if (!(from & (1 << axis))) edges.push(`M${corner(from)}L${corner(from | (1 << axis))}`);
    }
  }
  return edges.join("");
}

// `session`: { name, pose (x, y, z and a quaternion), color }: an arrow along the vehicle's x axis.
function sessionMark(scene, session, named) {
  const [x, y] = pixelOf(scene, session.pose);
  const forward = rotationColumns(session.pose.slice(3)).slice(0, 3);
  const to = pixelOf(scene, session.pose.slice(0, 3).map((value, axis) => value + forward[axis]));
  const turned = Math.atan2(to[1] - y, to[0] - x) * 180 / Math.PI;
  const mark = svgElement("g", { class: "session", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
  const arrow = svgElement("path", { d: "M11 0-7 7-3 0-7-7Z", transform: `rotate(${turned.toFixed(1)})` });
  arrow.style.fill = session.color;
  mark.append(arrow);
  if (named) mark.append(svgElement("text", { x: 12, y: 4 }, session.name));
  return mark;
}

// More names would hide each other.
const mostNames = 50;

// `sessions` as sessionMark takes them; `onPick` gets what pickPoint returns. Returns what the page
// changes the view with.
function addMapView(box, tiles, layers, sessions, onPick) {
  const canvas = box.querySelector("canvas");
  const overlay = box.querySelector("svg");
  const outermost = (key, pick) => [0, 1, 2].map((axis) => tiles.filter((tile) => tile[key])
    .reduce((value, tile) => (value === null ? tile[key][axis] : pick(value, tile[key][axis])), null) || 0);
  const [min, max] = [outermost("min", Math.min), outermost("max", Math.max)];
  const whole = { middle: min.map((value, axis) => (value + max[axis]) / 2), half: min.map((value, axis) => (max[axis] - value) / 2) };
  const extent = Math.hypot(...whole.half);

  const webgl = webglPainter(canvas, tiles, layers);
  const paint = webgl || plainPainter(canvas);
  let selected = null;
  const scene = { tiles, layers, only: null, pointSize: 2, heights: heightRange(tiles), ramp: [], colorOf: null, size: [1, 1], reach: 1, camera: null };

  function draw() {
    if (!box.clientWidth) return;
    scene.size = [box.clientWidth, box.clientHeight];
    if (!scene.camera.scale) show(whole);
    scene.ramp = ["--estimate", "--second", "--truth"].map(rgbOf);
    const away = Math.hypot(...whole.middle.map((value, axis) => value - scene.camera.middle[axis]));
    scene.reach = 1.1 * (extent + away) + 1;
    box.dataset.drawn = String(paint(scene, box));  // how many points, for tests
    overlay.setAttribute("viewBox", `0 0 ${scene.size[0]} ${scene.size[1]}`);
    overlay.replaceChildren();
    if (selected && selected.min) overlay.append(svgElement("path", { class: "box", d: boxPath(scene, selected.min, selected.max) }));
    sessions.forEach((session) => overlay.append(sessionMark(scene, session, sessions.length <= mostNames)));
  }
  const drawSoon = drawerOf(draw);
  const camera = makeCamera(box, drawSoon, 1e-4, 5000);
  scene.camera = camera;
  Object.assign(camera, oblique);

  // So that a box fills most of the view.
  function show(target) {
    scene.size = [box.clientWidth, box.clientHeight];
    camera.set({ middle: target.middle.slice(), scale: 1 });
    const at = onScreen(camera, target.middle, target.half.map((value) => Math.max(value, 0.5)));
    camera.set({ scale: 0.47 * Math.min(scene.size[0] / at.reachX, scene.size[1] / at.reachY) });
  }

  // A click is a press and a release in one place.
  let pressed = null;
  box.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  box.addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 3) return;
    const corner = box.getBoundingClientRect();
    onPick(pickPoint(scene, event.clientX - corner.left, event.clientY - corner.top));
  });
  box.addEventListener("keydown", (event) => {
    const work = { Home: () => show(whole), t: () => camera.set(topDown) }[event.key];
    if (!work || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    work();
  });

  return {
    plain: !webgl,
    camera,
    draw: drawSoon,
    showAll: () => show(whole),
    // Changes some of the scene.
    set(to) { Object.assign(scene, to); drawSoon(); },
    select(tile) { selected = tile; drawSoon(); },
    // A box from above, or from where the view looks.
    show,
    // Calls `take` with the picture, a PNG.
    picture(take) { draw(); canvas.toBlob(take, "image/png"); },
  };
}
