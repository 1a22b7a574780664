// One scan over the cells of the map, in WebGL 2, seen from infinitely far away: lengths are true
// along the screen. Dragging turns the view, with the shift key it moves it; the wheel (selection.js) zooms.

const placeStep = 0.005;  // metres, of packed coordinates
const rootStep = 0.001;   // metres, of packed square roots of covariances
const scoreSteps = 50;    // of a packed score, a unit

const pointShader = `#version 300 es
in vec3 place; in float score;
uniform mat3 turn; uniform vec3 move; uniform mat3 camera; uniform vec3 middle; uniform vec3 stretch;
uniform float size; uniform float best; uniform vec3 low; uniform vec3 high; uniform vec3 unmatched;
uniform vec3 plain; uniform bool scored;
out vec3 color;
void main() {
  // A metre nearer, so that the cells that points lie in do not hide them.
  gl_Position = vec4((camera * (turn * place + move - middle) + vec3(0.0, 0.0, 1.0)) * stretch, 1.0);
  gl_PointSize = size;
  color = !scored ? plain : score > 0.0 ? mix(low, high, clamp(score / best, 0.0, 1.0)) : unmatched;
}`;
// A cell is a unit sphere that the square root of its covariance stretches.
const cellShader = `#version 300 es
in vec3 corner; in vec3 mean; in vec3 root0; in vec3 root1;
uniform mat3 camera; uniform vec3 middle; uniform vec3 stretch; uniform vec3 low; uniform vec3 high;
out vec3 color;
void main() {
  mat3 root = mat3(root0.x, root0.y, root0.z, root0.y, root1.x, root1.y, root0.z, root1.y, root1.z);
  gl_Position = vec4(camera * (mean + root * corner - middle) * stretch, 1.0);
  color = mix(high, low, 0.25 + 0.5 * max(0.0, (camera * corner).z));
}`;
const colorShader = `#version 300 es
precision mediump float;
in vec3 color; out vec4 pixel;
void main() { pixel = vec4(color, 1.0); }`;

function makeProgram(gl, vertex, names) {
  const program = gl.createProgram();
  [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, colorShader]].forEach(([kind, source]) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  });
  names.forEach((name, i) => gl.bindAttribLocation(program, i, name));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return { program, at: (name) => gl.getUniformLocation(program, name) };
}

// Triangles of a sphere: an octahedron whose faces are cut in four.
function sphereTriangles() {
  const corners = [];
  const unit = (v) => v.map((value) => value / Math.hypot(...v));
  const middle = (a, b) => unit(a.map((value, i) => value + b[i]));
  [1, -1].forEach((x) => [1, -1].forEach((y) => [1, -1].forEach((z) => {
    const face = [[x, 0, 0], [0, y, 0], [0, 0, z]];
    const cut = [middle(face[0], face[1]), middle(face[1], face[2]), middle(face[2], face[0])];
    [[face[0], cut[0], cut[2]], [cut[0], face[1], cut[1]], [cut[2], cut[1], face[2]], cut]
      .forEach((triangle) => triangle.forEach((corner) => corners.push(...corner)));
  })));
  return new Float32Array(corners);
}

// `width` int16 and then `extra` bytes for each of the packed things.
function unpack(base64, width, extra, each) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const stride = 2 * width + extra;
  for (let at = 0, i = 0; at + stride <= bytes.length; at += stride, i += 1) {
    each(i, (k) => view.getInt16(at + 2 * k, true), (k) => view.getUint8(at + 2 * width + k));
  }
}

function unpackPoints(points) {
  const places = new Float32Array(3 * points.count);
  const scores = new Float32Array(points.count);
  unpack(points.base64, 3, 1, (i, number, byte) => {
    for (let k = 0; k < 3; k += 1) places[3 * i + k] = number(k) * placeStep;
    scores[i] = byte(0) / scoreSteps;
  });
  return { places, scores };
}

function unpackCells(cells) {
  const values = new Float32Array(9 * cells.count);
  unpack(cells.base64, 9, 0, (i, number) => {
    for (let k = 0; k < 9; k += 1) values[9 * i + k] = number(k) * (k < 3 ? placeStep : rootStep);
  });
  return values;
}

// Columns of the rotation of a quaternion (x, y, z, w).
function rotationColumns([x, y, z, w]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y),
    2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y),
  ];
}

function addScanView(box) {
  const shown = views.scans.map((view) => ({ view, row: rows.find((row) => row.index === view.index) }))
    .filter((one) => one.row && one.row.pose);
  byId("scan-view").hidden = !shown.length;
  if (!shown.length) return { draw() {} };
  const canvas = box.querySelector("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  if (!gl) {
    byId("scan-empty").hidden = false;
    return { draw() {} };
  }
  const pointNames = ["place", "score"];
  const cellNames = ["corner", "mean", "root0", "root1"];
  const points = makeProgram(gl, pointShader, pointNames);
  const cells = makeProgram(gl, cellShader, cellNames);
  const buffers = { place: gl.createBuffer(), score: gl.createBuffer(), corner: gl.createBuffer(), cell: gl.createBuffer() };
  const sphere = sphereTriangles();
  const fill = (buffer, values) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  };
  fill(buffers.corner, sphere);
  const topDown = { yaw: 0, pitch: Math.PI / 2 };
  const oblique = { yaw: -0.6, pitch: 0.6 };
  const state = { view: null, row: null, pose: "pose", cells: true, best: 1, yaw: 0, pitch: 0, scale: 0, middle: [0, 0, 0] };

  const rgb = (name) => {
    const probe = cssColor(name);
    const numbers = probe.startsWith("#")
      ? [1, 3, 5].map((at) => parseInt(probe.slice(at, at + 2), 16)) : probe.split(",").map(Number);
    return numbers.map((value) => value / 255);
  };

  function attribute(index, buffer, size, stride, offset, divisor) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(index);
    gl.vertexAttribPointer(index, size, gl.FLOAT, false, stride, offset);
    gl.vertexAttribDivisor(index, divisor);
  }

  // Rows to the right, up, and towards the viewer, as columns for WebGL.
  function cameraColumns() {
    const [sy, cy, sp, cp] = [Math.sin(state.yaw), Math.cos(state.yaw), Math.sin(state.pitch), Math.cos(state.pitch)];
    return [cy, -sy * sp, sy * cp, sy, cy * sp, -cy * cp, 0, cp, sp];
  }

  function useCamera(one) {
    gl.useProgram(one.program);
    gl.uniformMatrix3fv(one.at("camera"), false, cameraColumns());
    gl.uniform3fv(one.at("middle"), state.middle);
    gl.uniform3fv(one.at("stretch"),
      [2 * state.scale / box.clientWidth, 2 * state.scale / box.clientHeight, -1 / 400]);
  }

  function draw() {
    if (!box.clientWidth || !state.view) return;
    const ratio = fitCanvas(canvas, box);
    if (!state.scale) state.scale = Math.min(box.clientWidth, box.clientHeight) / 70;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...rgb("--card"), 1);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    cellNames.forEach((name, i) => gl.disableVertexAttribArray(i));
    if (state.cells && state.view.cells.count) {
      useCamera(cells);
      gl.uniform3fv(cells.at("low"), rgb("--map-low"));
      gl.uniform3fv(cells.at("high"), rgb("--map-high"));
      attribute(0, buffers.corner, 3, 0, 0, 0);
      [0, 12, 24].forEach((offset, i) => attribute(i + 1, buffers.cell, 3, 36, offset, 1));
      gl.drawArraysInstanced(gl.TRIANGLES, 0, sphere.length / 3, state.view.cells.count);
      cellNames.forEach((name, i) => gl.disableVertexAttribArray(i));
    }
    const pose = state.row[state.pose];
    useCamera(points);
    gl.uniformMatrix3fv(points.at("turn"), false, rotationColumns(pose.slice(3)));
    gl.uniform3fv(points.at("move"), [0, 1, 2].map((axis) => pose[axis] - state.view.origin[axis]));
    gl.uniform1f(points.at("size"), 3 * ratio);
    gl.uniform1f(points.at("best"), state.best);
    gl.uniform1i(points.at("scored"), state.view.points.scored ? 1 : 0);
    [["low", "--warn"], ["high", "--second"], ["unmatched", "--bad"], ["plain", "--estimate"]]
      .forEach(([name, color]) => gl.uniform3fv(points.at(name), rgb(color)));
    attribute(0, buffers.place, 3, 0, 0, 0);
    attribute(1, buffers.score, 1, 0, 0, 0);
    gl.drawArrays(gl.POINTS, 0, state.view.points.count);
  }
  const drawSoon = drawerOf(draw);

  function note(view) {
    const parts = [`${view.points.count} of ${view.points.points_of} points`];
    if (views.cells_missing) parts.push(`no cells: ${views.cells_missing}`);
    else parts.push(`${view.cells.count} of ${view.cells.cells_of} cells of ${views.cell_size_m} m within ${views.radius_m} m`);
    if (view.points.scored) {
      parts.push(`scores at the result, from orange (0) to green (${fixed(state.best, 2)}); red: no cell is near`);
    } else if (views.scores_missing) parts.push(`no scores: ${views.scores_missing}`);
    byId("scan-note").textContent = parts.join(" \u00b7 ");
  }

  // The view and the scan's row, which has the index of the view.
  function choose(view, row) {
    Object.assign(state, { view, row });
    const unpacked = unpackPoints(view.points);
    state.best = Math.max(0.02, unpacked.scores.reduce((most, score) => Math.max(most, score), 0));
    state.middle = [0, 1, 2].map((axis) => row.pose[axis] - view.origin[axis]);
    fill(buffers.place, unpacked.places);
    fill(buffers.score, unpacked.scores);
    fill(buffers.cell, unpackCells(view.cells));
    note(view);
    drawSoon();
  }

  const select = byId("scan-select");
  shown.forEach(({ row }, i) => select.append(element("option", { value: String(i) },
    `${row.file} \u00b7 ${row.status} \u00b7 ${significant(row.translation_error_m * errorFactor)} ${errorUnit}`)));
  select.addEventListener("change", () => { const one = shown[Number(select.value)]; choose(one.view, one.row); });
  const turn = (to) => { Object.assign(state, to); drawSoon(); };
  addSegments(byId("scan-pose"),
    [["result", "pose"], ["guess", "guess"], ["truth", "truth"]], (pose) => { state.pose = pose; drawSoon(); });
  addSegments(byId("scan-cells"), [["cells", true], ["none", false]],
    (on) => { state.cells = on; drawSoon(); });
  addSegments(byId("scan-turn"), [["oblique", oblique], ["from above", topDown]], turn);

  addDragging(box, (event, dx, dy) => {
    if (event.shiftKey) {
      const camera = cameraColumns();
      state.middle = state.middle.map((value, axis) =>
        value - (camera[3 * axis] * dx - camera[3 * axis + 1] * dy) / state.scale);
      drawSoon();
    } else {
      turn({ yaw: state.yaw - 0.006 * dx, pitch: Math.min(Math.PI / 2, Math.max(-0.2, state.pitch + 0.006 * dy)) });
    }
  });
  addWheelZoom(box, (factor) => {
    state.scale = Math.min(2000, Math.max(0.2, state.scale * factor));
    drawSoon();
  });
  new ResizeObserver(drawSoon).observe(box);
  choose(shown[0].view, shown[0].row);
  return { draw: drawSoon };
}
