// One scan over the cells of the map (view3d.js).

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

function unpackPoints(points) {
  const places = new Float32Array(3 * points.count);
  const scores = new Float32Array(points.count);
  unpack(points.base64, 3, 1, (i, number, byte) => {
    for (let k = 0; k < 3; k += 1) places[3 * i + k] = number(k) * placeStep;
    scores[i] = byte(0) / scoreSteps;
  });
  return { places, scores };
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
  const points = makeProgram(gl, pointShader, ["place", "score"]);
  const cells = makeProgram(gl, solidShader, solidNames);
  const sphere = sphereTriangles(true);
  const corners = makeBuffer(gl, sphere);
  let buffers = null;
  const state = { view: null, row: null, pose: "pose", cells: true, best: 1 };

  function useCamera(one) {
    gl.useProgram(one.program);
    gl.uniformMatrix3fv(one.at("camera"), false, camera.columns());
    gl.uniform3fv(one.at("middle"), camera.middle);
    gl.uniform3fv(one.at("stretch"),
      [2 * camera.scale / box.clientWidth, 2 * camera.scale / box.clientHeight, -1 / 400]);
  }

  function draw() {
    if (!box.clientWidth || !state.view) return;
    const ratio = fitCanvas(canvas, box);
    if (!camera.scale) camera.scale = Math.min(box.clientWidth, box.clientHeight) / 70;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...rgbOf("--card"), 1);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (state.cells && state.view.cells.count) {
      useCamera(cells);
      gl.uniform3fv(cells.at("low"), rgbOf("--map-low"));
      gl.uniform3fv(cells.at("high"), rgbOf("--map-high"));
      drawSolids(gl, corners, sphere.length / 3, buffers.cell, state.view.cells.count);
    }
    const pose = state.row[state.pose];
    useCamera(points);
    gl.uniformMatrix3fv(points.at("turn"), false, rotationColumns(pose.slice(3)));
    gl.uniform3fv(points.at("move"), [0, 1, 2].map((axis) => pose[axis] - state.view.origin[axis]));
    gl.uniform1f(points.at("size"), 3 * ratio);
    gl.uniform1f(points.at("best"), state.best);
    gl.uniform1i(points.at("scored"), state.view.points.scored ? 1 : 0);
    [["low", "--warn"], ["high", "--second"], ["unmatched", "--bad"], ["plain", "--estimate"]]
      .forEach(([name, color]) => gl.uniform3fv(points.at(name), rgbOf(color)));
    setAttribute(gl, 0, buffers.place, 3, 0, 0, 0);
    setAttribute(gl, 1, buffers.score, 1, 0, 0, 0);
    gl.drawArrays(gl.POINTS, 0, state.view.points.count);
    [0, 1].forEach((index) => gl.disableVertexAttribArray(index));
  }
  const drawSoon = drawerOf(draw);
  const camera = makeCamera(box, drawSoon, 0.2, 2000);

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
    if (buffers) Object.values(buffers).forEach((buffer) => gl.deleteBuffer(buffer));
    buffers = {
      place: makeBuffer(gl, unpacked.places), score: makeBuffer(gl, unpacked.scores), cell: makeBuffer(gl, unpackCells(view.cells)),
    };
    note(view);
    camera.set({ middle: [0, 1, 2].map((axis) => row.pose[axis] - view.origin[axis]) });
  }

  const select = byId("scan-select");
  shown.forEach(({ row }, i) => select.append(element("option", { value: String(i) },
    `${row.file} \u00b7 ${row.status} \u00b7 ${significant(row.translation_error_m * errorFactor)} ${errorUnit}`)));
  select.addEventListener("change", () => { const one = shown[Number(select.value)]; choose(one.view, one.row); });
  addSegments(byId("scan-pose"),
    [["result", "pose"], ["guess", "guess"], ["truth", "truth"]], (pose) => { state.pose = pose; drawSoon(); });
  addSegments(byId("scan-cells"), [["cells", true], ["none", false]],
    (on) => { state.cells = on; drawSoon(); });
  addSegments(byId("scan-turn"), [["oblique", oblique], ["from above", topDown]], camera.set);

  choose(shown[0].view, shown[0].row);
  return { draw: drawSoon };
}
