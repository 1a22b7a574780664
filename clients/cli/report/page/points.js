// The points of the tiles as thinned_points.h packs them, which of them a view draws, and their colours.

// Adds what the views need of a tile to it: `values`, the coordinates of its points in steps from its
// origin, and the middle and half the edges of its box.
function unpackTile(tile) {
  tile.values = new Uint16Array(bytesOf(tile.base64).buffer);
  delete tile.base64;
  tile.count = tile.values.length / 3;
  tile.step = Math.pow(2, tile.exponent - 16);
  const [min, max] = tile.min ? [tile.min, tile.max] : [tile.origin, tile.origin];
  tile.middle = min.map((value, axis) => (value + max[axis]) / 2);
  tile.half = min.map((value, axis) => (max[axis] - value) / 2);
}

// How many points of a tile are drawn where a pixel is so large: of the levels whose cells are at least
// a pixel.
function pointsAt(tile, pixel_m) {
  let count = 0;
  for (let level = 0; level < tile.levels.length; level += 1) {
    if (level > 0 && Math.pow(2, tile.exponent - level) < pixel_m) break;
    count += tile.levels[level];
  }
  return count;
}

// Where a box is on the screen: pixels to the right of the middle of the view and up, and how far it
// reaches from there.
function onScreen(camera, middle, half) {
  const columns = camera.columns();
  const along = (row, vector) => [0, 1, 2].reduce((sum, axis) => sum + columns[3 * axis + row] * vector[axis], 0);
  const reach = (row) => [0, 1, 2].reduce((sum, axis) => sum + Math.abs(columns[3 * axis + row]) * half[axis], 0);
  const moved = middle.map((value, axis) => value - camera.middle[axis]);
  return {
    x: camera.scale * along(0, moved), y: camera.scale * along(1, moved), depth: along(2, moved),
    reachX: camera.scale * reach(0), reachY: camera.scale * reach(1),
  };
}

// Whether some of a box is in the view.
function isVisible(scene, middle, half) {
  const at = onScreen(scene.camera, middle, half);
  return Math.abs(at.x) - at.reachX < scene.size[0] / 2 && Math.abs(at.y) - at.reachY < scene.size[1] / 2;
}

// The tiles that a view draws: { tile, count } each; none where points have no size.
function visibleTiles(scene, pixel_m) {
  if (!scene.pointSize) return [];
  return scene.tiles.map((tile) => ({ tile, count: pointsAt(tile, pixel_m) })).filter(({ tile, count }) =>
    count && (!scene.only || tile === scene.only) && isVisible(scene, tile.middle, tile.half));
}

// The point that is drawn near a pixel of the view and nearest to the viewer: { tile, place } or null.
function pickPoint(scene, pixelX, pixelY) {
  const nearPixels = 4;
  const farPixels = 12;
  const { camera } = scene;
  const columns = camera.columns();
  const [wantedX, wantedY] = [pixelX - scene.size[0] / 2, scene.size[1] / 2 - pixelY];
  let best = null;
  visibleTiles(scene, 1 / camera.scale).forEach(({ tile, count }) => {
    const box = onScreen(camera, tile.middle, tile.half);
    if (Math.abs(box.x - wantedX) > box.reachX + farPixels || Math.abs(box.y - wantedY) > box.reachY + farPixels) return;
    const shift = tile.origin.map((value, axis) => value - camera.middle[axis] + 0.5 * tile.step);
    for (let i = 0; i < count; i += 1) {
      const x = shift[0] + tile.values[3 * i] * tile.step;
      const y = shift[1] + tile.values[3 * i + 1] * tile.step;
      const z = shift[2] + tile.values[3 * i + 2] * tile.step;
      const dx = camera.scale * (columns[0] * x + columns[3] * y + columns[6] * z) - wantedX;
      const dy = camera.scale * (columns[1] * x + columns[4] * y + columns[7] * z) - wantedY;
      const distance = Math.max(dx * dx + dy * dy, nearPixels * nearPixels);
      if (distance > farPixels * farPixels || (best && distance > best.distance)) continue;
      const depth = columns[2] * x + columns[5] * y + columns[8] * z;
      if (best && distance === best.distance && depth < best.depth) continue;
      best = { tile, distance, depth, place: [x, y, z].map((value, axis) => value + camera.middle[axis]) };
    }
  });
  return best;
}

// Of a number from 0 to 1, between three colours.
function rampColor(colors, share) {
  const [from, to, part] = share < 0.5 ? [colors[0], colors[1], 2 * share] : [colors[1], colors[2], 2 * share - 1];
  return from.map((value, i) => value + part * (to[i] - value));
}

// Where most points lie, leaving out the lowest and the highest 2 %.
function heightRange(tiles) {
  const heights = tiles.flatMap((tile) => {
    const count = Math.min(200, tile.count);
    return Array.from({ length: count }, (_, i) =>
      tile.origin[2] + tile.values[3 * Math.floor(i * tile.count / count) + 2] * tile.step);
  }).sort((a, b) => a - b);
  const at = (share) => (heights.length ? heights[Math.floor(share * (heights.length - 1))] : 0);
  return [at(0.02), Math.max(at(0.98), at(0.02) + 0.1)];
}
