// What the views in three dimensions share: WebGL 2 programs, packed numbers, cells, and a camera that
// is infinitely far away, so that lengths are true along the screen.

const placeStep = 0.005;  // metres, of packed coordinates
const rootStep = 0.001;   // metres, of packed square roots of covariances

// A solid is stretched by the square root of its covariance: a unit sphere for a cell.
const solidNames = ["corner", "mean", "root0", "root1"];
const solidShader = `#version 300 es
in vec3 corner; in vec3 mean; in vec3 root0; in vec3 root1;
uniform mat3 camera; uniform vec3 middle; uniform vec3 stretch; uniform vec3 low; uniform vec3 high;
out vec3 color;
void main() {
  mat3 root = mat3(root0.x, root0.y, root0.z, root0.y, root1.x, root1.y, root0.z, root1.y, root1.z);
  gl_Position = vec4(camera * (mean + root * corner - middle) * stretch, 1.0);
  color = mix(high, low, 0.25 + 0.5 * max(0.0, (camera * normalize(corner)).z));
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
  const places = new Map();
  const at = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
    return places.get(name);
  };
  return { program, at };
}

function makeBuffer(gl, values) {
  const buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  return buffer;
}

// Triangles of an octahedron, and of a sphere: one whose faces are cut in four.
function sphereTriangles(fine) {
  const corners = [];
  const unit = (v) => v.map((value) => value / Math.hypot(...v));
  const middle = (a, b) => unit(a.map((value, i) => value + b[i]));
  [1, -1].forEach((x) => [1, -1].forEach((y) => [1, -1].forEach((z) => {
    const face = [[x, 0, 0], [0, y, 0], [0, 0, z]];
    const cut = [middle(face[0], face[1]), middle(face[1], face[2]), middle(face[2], face[0])];
    (fine ? [[face[0], cut[0], cut[2]], [cut[0], face[1], cut[1]], [cut[2], cut[1], face[2]], cut] : [face])
      .forEach((triangle) => triangle.forEach((corner) => corners.push(...corner)));
  })));
  return new Float32Array(corners);
}

// Of a cube from -1 to 1.
function cubeTriangles() {
  const corners = [];
  for (let axis = 0; axis < 3; axis += 1) {
    [1, -1].forEach((side) => {
      [[1, 1], [1, -1], [-1, 1], [-1, -1], [1, -1], [-1, 1]].forEach(([u, v]) => {
        const corner = [0, 0, 0];
        corner[axis] = side;
        corner[(axis + 1) % 3] = u;
        corner[(axis + 2) % 3] = v;
        corners.push(...corner);
      });
    });
  }
  return new Float32Array(corners);
}

function bytesOf(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// `width` int16 and then `extra` bytes for each of the packed things.
function unpack(base64, width, extra, each) {
  const bytes = bytesOf(base64);
  const view = new DataView(bytes.buffer);
  const stride = 2 * width + extra;
  for (let at = 0, i = 0; at + stride <= bytes.length; at += stride, i += 1) {
    each(i, (k) => view.getInt16(at + 2 * k, true), (k) => view.getUint8(at + 2 * width + k));
  }
}

// The mean of each cell and the square root of its covariance.
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

function setAttribute(gl, index, buffer, size, stride, offset, divisor) {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(index);
  gl.vertexAttribPointer(index, size, gl.FLOAT, false, stride, offset);
  gl.vertexAttribDivisor(index, divisor);
}

// `buffer` has what unpackCells returned.
function drawSolids(gl, corners, cornerCount, buffer, count) {
  setAttribute(gl, 0, corners, 3, 0, 0, 0);
  [0, 12, 24].forEach((offset, i) => setAttribute(gl, i + 1, buffer, 3, 36, offset, 1));
  gl.drawArraysInstanced(gl.TRIANGLES, 0, cornerCount, count);
  solidNames.forEach((name, i) => gl.disableVertexAttribArray(i));
}

// The three numbers from 0 to 1 of a colour of the style sheet.
function rgbOf(name) {
  const color = cssColor(name);
  const numbers = color.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) : color.split(",").map(Number);
  return numbers.map((value) => value / 255);
}

const topDown = { yaw: 0, pitch: Math.PI / 2 };
const oblique = { yaw: -0.6, pitch: 0.6 };

// Where a view looks at (`middle`), from where, and pixels a metre. `redraw` is called after each move.
function makeCamera(box, redraw, minScale, maxScale) {
  const camera = {
    yaw: 0, pitch: 0, scale: 0, middle: [0, 0, 0],
    // Rows to the right, up, and towards the viewer, as columns for WebGL.
    columns() {
      const [sy, cy, sp, cp] =
        [Math.sin(camera.yaw), Math.cos(camera.yaw), Math.sin(camera.pitch), Math.cos(camera.pitch)];
      return [cy, -sy * sp, sy * cp, sy, cy * sp, -cy * cp, 0, cp, sp];
    },
    set(to) { Object.assign(camera, to); redraw(); },
    // By pixels to the right and down, as if the place were dragged.
    pan(dx, dy) {
      const columns = camera.columns();
      camera.set({ middle: camera.middle.map((value, axis) =>
        value - (columns[3 * axis] * dx - columns[3 * axis + 1] * dy) / camera.scale) });
    },
    turn(yaw, pitch) {
      camera.set({ yaw: camera.yaw + yaw, pitch: Math.min(Math.PI / 2, Math.max(-0.2, camera.pitch + pitch)) });
    },
    // Keeps in place what is at a pixel of the box, its middle where none is given.
    zoom(factor, x = box.clientWidth / 2, y = box.clientHeight / 2) {
      const scale = Math.min(maxScale, Math.max(minScale, camera.scale * factor));
      const moved = 1 - scale / camera.scale;
      camera.set({ scale });
      camera.pan(moved * (x - box.clientWidth / 2), moved * (y - box.clientHeight / 2));
    },
  };
  addDragging(box, (event, dx, dy) => {
    if (event.shiftKey) camera.pan(dx, dy); else camera.turn(-0.006 * dx, 0.006 * dy);
  });
  addWheelZoom(box, (factor, x, y) => camera.zoom(factor, x, y));
  box.addEventListener("keydown", (event) => {
    const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const zoomed = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!arrow && !zoomed)) return;
    event.preventDefault();
    event.stopPropagation();
    if (zoomed) camera.zoom(zoomed);
    else if (event.shiftKey) camera.turn(-0.1 * arrow[0], 0.1 * arrow[1]);
    else camera.pan(60 * arrow[0], 60 * arrow[1]);
  });
  new ResizeObserver(redraw).observe(box);
  return camera;
}
