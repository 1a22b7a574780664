// What draws a scene of points and solids: WebGL 2, or a canvas in two dimensions where there is none.
//
// A scene: `tiles`, `only` (a tile, or null: all), `layers` ({ blocks, color, cubes, edge_m, shown }), `camera`,
// `size` (of the view, pixels of the page), `pointSize`, `heights` (low and high), `ramp` (three colours
// of heights), `colorOf(tile)` (null: by height), `reach` (how far from the middle of the camera anything
// is, metres).

const mapShader = `#version 300 es
in vec3 place;
uniform mat3 camera; uniform vec3 shift; uniform float step; uniform vec3 stretch; uniform float size;
uniform float low; uniform float height; uniform vec3 ramp0; uniform vec3 ramp1; uniform vec3 ramp2;
uniform vec3 plain; uniform bool by_height;
out vec3 color;
void main() {
  vec3 at = shift + (place + 0.5) * step;
  gl_Position = vec4(camera * at * stretch, 1.0);
  gl_PointSize = size;
  float share = clamp((at.z - low) / height, 0.0, 1.0);
  vec3 ramp = share < 0.5 ? mix(ramp0, ramp1, 2.0 * share) : mix(ramp1, ramp2, 2.0 * share - 1.0);
  color = by_height ? ramp : plain * (0.65 + 0.35 * share);
}`;

// Half the edges of a block of cells, metres, as map_view.cc packs them.
const halfBlock = [128, 128, 128];
// Cells whose edge has fewer pixels are not drawn, since points show as much; those with fewer than
// the second number have fewer faces.
const leastCell = 3;
const fineCell = 16;

// Null without WebGL 2.
function webglPainter(canvas, tiles, layers) {
  const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
  if (!gl) return null;
  const points = makeProgram(gl, mapShader, ["place"]);
  const solids = makeProgram(gl, solidShader, solidNames);
  const places = new Uint16Array(tiles.reduce((sum, tile) => sum + tile.values.length, 0));
  const first = new Map();
  let filled = 0;
  tiles.forEach((tile) => {
    places.set(tile.values, filled);
    first.set(tile, filled / 3);
    filled += tile.values.length;
  });
  const placeBuffer = makeBuffer(gl, places);
  const shapeOf = (corners) => ({ corners: makeBuffer(gl, corners), count: corners.length / 3 });
  const [cube, coarse, fine] = [cubeTriangles(), sphereTriangles(false), sphereTriangles(true)].map(shapeOf);
  const blockBuffers = new Map(layers.flatMap((layer) =>
    layer.blocks.map((block) => [block, makeBuffer(gl, block.values)])));

  function useCamera(one, scene) {
    gl.useProgram(one.program);
    gl.uniformMatrix3fv(one.at("camera"), false, scene.camera.columns());
    gl.uniform3fv(one.at("stretch"),
      [2 * scene.camera.scale / scene.size[0], 2 * scene.camera.scale / scene.size[1], -1 / scene.reach]);
  }

  function drawLayers(scene) {
    useCamera(solids, scene);
    layers.filter((layer) => layer.shown).forEach((layer) => {
      const color = rgbOf(layer.color);
      gl.uniform3fv(solids.at("low"), color);
      gl.uniform3fv(solids.at("high"), color.map((value) => 0.5 * value));
      const edge = scene.camera.scale * layer.edge_m;
      if (!layer.cubes && edge < leastCell) return;
      const shape = layer.cubes ? cube : edge < fineCell ? coarse : fine;
      layer.blocks.filter((block) => isVisible(scene, block.origin, halfBlock)).forEach((block) => {
        gl.uniform3fv(solids.at("middle"), scene.camera.middle.map((value, axis) => value - block.origin[axis]));
        drawSolids(gl, shape.corners, shape.count, blockBuffers.get(block), block.count);
      });
    });
  }

  return (scene, box) => {
    const ratio = fitCanvas(canvas, box);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...rgbOf("--card"), 1);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (!scene.only) drawLayers(scene);
    useCamera(points, scene);
    gl.uniform1f(points.at("size"), scene.pointSize * ratio);
    gl.uniform1f(points.at("low"), scene.heights[0] - scene.camera.middle[2]);
    gl.uniform1f(points.at("height"), scene.heights[1] - scene.heights[0]);
    scene.ramp.forEach((color, i) => gl.uniform3fv(points.at("ramp" + i), color));
    gl.uniform1i(points.at("by_height"), scene.colorOf ? 0 : 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, placeBuffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, false, 6, 0);
    gl.vertexAttribDivisor(0, 0);
    let drawn = 0;
    visibleTiles(scene, 1 / (ratio * scene.camera.scale)).forEach(({ tile, count }) => {
      gl.uniform3fv(points.at("shift"), tile.origin.map((value, axis) => value - scene.camera.middle[axis]));
      gl.uniform1f(points.at("step"), tile.step);
      if (scene.colorOf) gl.uniform3fv(points.at("plain"), scene.colorOf(tile));
      gl.drawArrays(gl.POINTS, first.get(tile), count);
      drawn += count;
    });
    gl.disableVertexAttribArray(0);
    return drawn;
  };
}

// About what a processor draws while a pointer is dragged.
const mostPlainPoints = 300000;

// Draws points and the middles of solids.
function plainPainter(canvas) {
  const context = canvas.getContext("2d");
  return (scene, box) => {
    const ratio = fitCanvas(canvas, box);
    const { width, height } = canvas;
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const depths = new Float32Array(pixels.length).fill(-Infinity);
    const packed = (color) => 0xff000000 + color.map((value) => Math.round(255 * value))
      .reduce((sum, value, i) => sum + value * Math.pow(2, 8 * i), 0);
    pixels.fill(packed(rgbOf("--card")));
    const columns = scene.camera.columns();
    const scale = scene.camera.scale * ratio;
    const dot = Math.max(1, Math.round(scene.pointSize * ratio));
    const put = (x, y, z, color) => {
      const left = Math.round(width / 2 + scale * (columns[0] * x + columns[3] * y + columns[6] * z) - dot / 2);
      const top = Math.round(height / 2 - scale * (columns[1] * x + columns[4] * y + columns[7] * z) - dot / 2);
      const depth = columns[2] * x + columns[5] * y + columns[8] * z;
      for (let row = Math.max(0, top); row < Math.min(height, top + dot); row += 1) {
        for (let at = row * width + Math.max(0, left); at < row * width + Math.min(width, left + dot); at += 1) {
          if (depth > depths[at]) {
            depths[at] = depth;
            pixels[at] = color;
          }
        }
      }
    };
    let pixel_m = 1 / scale;
    let shown = visibleTiles(scene, pixel_m);
    while (shown.reduce((sum, one) => sum + one.count, 0) > mostPlainPoints && pixel_m < scene.reach) {
      pixel_m *= 1.4;
      shown = visibleTiles(scene, pixel_m);
    }
    const span = scene.heights[1] - scene.heights[0];
    // As many shades as an eye tells apart.
    const shades = Array.from({ length: 65 }, (_, i) => i / 64);
    const byHeight = shades.map((share) => packed(rampColor(scene.ramp, share)));
    let drawn = 0;
    shown.forEach(({ tile, count }) => {
      const plain = scene.colorOf && scene.colorOf(tile);
      const colors = plain ? shades.map((share) => packed(plain.map((value) => value * (0.65 + 0.35 * share)))) : byHeight;
      const shift = tile.origin.map((value, axis) => value - scene.camera.middle[axis] + 0.5 * tile.step);
      const low = scene.heights[0] - scene.camera.middle[2];
      for (let i = 0; i < count; i += 1) {
        const z = shift[2] + tile.values[3 * i + 2] * tile.step;
        const share = Math.min(1, Math.max(0, (z - low) / span));
        put(shift[0] + tile.values[3 * i] * tile.step, shift[1] + tile.values[3 * i + 1] * tile.step, z, colors[Math.round(64 * share)]);
      }
      drawn += count;
    });
    scene.layers.filter((layer) => layer.shown && !scene.only).forEach((layer) => {
      const color = packed(rgbOf(layer.color));
      layer.blocks.forEach((block) => {
        for (let i = 0; i < block.count; i += 1) {
          const [x, y, z] = [0, 1, 2].map((axis) => block.values[9 * i + axis] + block.origin[axis] - scene.camera.middle[axis]);
          put(x, y, z, color);
        }
      });
    });
    context.putImageData(image, 0, 0);
    return drawn;
  };
}
