// The page of a map: key figures, the colours of tiles, the facts of the selected one, and tables. Text of
// the data goes into the page as text only.

const data = JSON.parse(byId("voxloc-data").textContent);
data.tiles.forEach(unpackTile);
data.layers.forEach((layer) => {
  layer.shown = layer.cubes;
  layer.blocks.forEach((block) => {
    block.values = unpackCells(block);
    delete block.base64;
  });
});

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u2009");
const percentOf = (ratio) => (finite(ratio) ? (100 * ratio).toFixed(1) + " %" : "\u2013");
const infoOf = (tile, key) => (tile.info ? tile.info[key] : null);
// Null where no scan was compared with the tile.
const fitOf = (tile, key) => (tile.info && tile.info.fit ? tile.info.fit[key] : null);
const ageOf = (tile) => (tile.changed_at_ns ? Math.max(0, (data.made_at_ns - tile.changed_at_ns) / 86400e9) : null);
const days = (age) => (finite(age) ? significant(age) + " d" : "\u2013");
const sizeText = (tile) => (tile.min ? [0, 1, 2].map((axis) => significant(2 * tile.half[axis])).join(" \u00d7 ") + " m" : "\u2013");

// What tiles are coloured and sorted by: { name, value(tile), text(value), long, range }, where a value
// is null where it is not known; the first and the last colour stand for the ends of the range, which
// without `range` is that of the tiles.
const goodToBad = ["--good", "--truth", "--bad"];
const tileValues = [
  { name: "age", long: "age of the content", value: ageOf, text: days, colors: ["--estimate", "--second", "--truth"] },
  { name: "revision", long: "revision of the last change", value: (tile) => infoOf(tile, "revision"),
    text: (value) => (finite(value) ? String(Math.round(value)) : "\u2013"), colors: ["--truth", "--second", "--estimate"] },
  { name: "change", long: "how much seems to have changed", value: (tile) => fitOf(tile, "change"), text: (value) => fixed(value, 2), colors: goodToBad, range: [0, 1] },
  { name: "seen through", long: "the map has it, scans see through it", value: (tile) => fitOf(tile, "seen_through_ratio"), text: percentOf, colors: goodToBad, range: [0, 1] },
  { name: "unexplained", long: "scans have it, the map does not", value: (tile) => fitOf(tile, "unexplained_ratio"), text: percentOf, colors: goodToBad, range: [0, 1] },
  { name: "residual", long: "distance of scans from the surfaces", value: (tile) => fitOf(tile, "residual_m"), text: (value) => (finite(value) ? fixed(value, 3) + " m" : "\u2013"), colors: goodToBad },
  { name: "scans", long: "scans compared with the tile", value: (tile) => fitOf(tile, "scans"), text: (value) => fixed(value, 1), colors: ["--none", "--second", "--estimate"] },
].filter((one) => data.tiles.some((tile) => finite(one.value(tile))));

const sessions = data.sessions.filter((session) => session.last_pose).map((session) => ({
  name: session.vehicle || session.session, pose: session.last_pose.map_t_base,
  color: session.status === "OK" ? "var(--good)" : session.status === "UNSPECIFIED" ? "var(--none)" : "var(--bad)",
}));
const view = addMapView(byId("view"), data.tiles, data.layers, sessions, (found) => selectTile(found && found.tile, found && found.place));
let onlySelected = false;
let markTile = () => {};

function legendBar(low, high, colors) {
  const item = element("li", {}, low);
  const bar = element("i", { class: "ramp" });
  bar.style.background = `linear-gradient(to right, ${colors.map((color) => `var(${color})`).join(", ")})`;
  item.append(bar, high);
  return item;
}

// By height where `one` is null.
function colorBy(one) {
  const legend = byId("legend");
  legend.replaceChildren();
  if (!one) {
    const range = heightRange(data.tiles);
    legend.append(legendBar(fixed(range[0], 1) + " m", fixed(range[1], 1) + " m", ["--estimate", "--second", "--truth"]));
    view.set({ colorOf: null });
    return;
  }
  const known = data.tiles.map(one.value).filter(finite);
  const [low, high] = one.range || known.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
  legend.append(legendBar(one.text(low), one.text(high), one.colors));
  const [colors, none] = [one.colors.map(rgbOf), rgbOf("--none")];
  if (known.length < data.tiles.length) {
    const unknown = element("li", {}, "not known");
    const key = element("i", { class: "dot" });
    key.style.background = "var(--none)";
    unknown.prepend(key);
    legend.append(unknown);
  }
  view.set({ colorOf(tile) {
    const value = one.value(tile);
    if (!finite(value)) return none;
    return rampColor(colors, high > low ? (value - low) / (high - low) : 0);
  } });
}

function addColoring() {
  const select = byId("coloring");
  [["height", null], ...tileValues.map((one) => [one.long, one])]
    .forEach(([name], i) => select.append(element("option", { value: String(i) }, name)));
  select.addEventListener("change", colorAsChosen);
  colorAsChosen();
}

function colorAsChosen() {
  const chosen = Number(byId("coloring").value);
  colorBy(chosen ? tileValues[chosen - 1] : null);
}

function showOnly(on) {
  onlySelected = on;
  byId("facts").querySelectorAll(".only").forEach((button) => button.setAttribute("aria-pressed", String(on)));
}

// `place`: of the point that was clicked, or null.
function selectTile(tile, place) {
  const box = byId("facts");
  box.replaceChildren();
  box.hidden = !tile;
  view.select(tile);
  view.set({ only: null });
  onlySelected = false;
  markTile(tile);
  if (!tile) return;
  const head = element("h3", {}, tile.id);
  const buttons = element("div", { class: "segments" });
  const look = element("button", { type: "button" }, "look at it");
  look.addEventListener("click", () => view.show(tile));
  const only = element("button", { type: "button", class: "only", "aria-pressed": "false" }, "only this tile, from above");
  only.addEventListener("click", () => {
    showOnly(!onlySelected);
    view.set({ only: onlySelected ? tile : null });
    if (onlySelected) { view.camera.set(topDown); view.show(tile); }
  });
  buttons.append(look, only);
  head.append(buttons);
  const list = element("dl");
  const add = (name, value) => list.append(element("dt", {}, name), element("dd", {}, value));
  if (place) add("point", place.map((value) => fixed(value, 2)).join(", ") + " m");
  add("points", `${grouped(tile.points)}, of which the page has ${grouped(tile.count)}`);
  add("size", sizeText(tile));
  if (tile.min) add("from, to", `${tile.min.map((value) => fixed(value, 1)).join(", ")} to ${tile.max.map((value) => fixed(value, 1)).join(", ")} m`);
  tileValues.forEach((one) => add(one.long, one.text(one.value(tile))));
  if (tile.changed_at_ns) add("committed", new Date(tile.changed_at_ns / 1e6).toISOString().replace("T", " ").slice(0, 16) + " UTC");
  if (tile.info) add("state", stateText(tile));
  box.append(head, list);
}

function stateText(tile) {
  if (!tile.info) return "";
  return tile.info.damaged ? "damaged" : tile.info.resident ? "in memory" : "not in memory";
}

function addTileTable() {
  const columns = [
    { name: "tile", value: (tile) => tile.id, text: (id) => id, words: true },
    { name: "points", value: (tile) => tile.points, text: grouped },
    { name: "size", value: (tile) => tile.half[0] * tile.half[1], text: (area, tile) => sizeText(tile) },
    ...tileValues,
  ];
  if (data.tiles.some((tile) => tile.info)) columns.push({ name: "state", value: stateText, text: (text) => text, words: true });
  markTile = addSortedTable(byId("tile-table"), byId("tile-table-note"), columns, data.tiles,
    (tile) => { selectTile(tile, null); view.show(tile); });
}

function addSessionTable() {
  byId("sessions-card").hidden = !data.sessions.length;
  const pose = (session) => session.last_pose && session.last_pose.map_t_base;
  const columns = [
    { name: "vehicle", value: (session) => session.vehicle || session.session, text: (name) => name, words: true },
    { name: "last answer", value: (session) => session.status, text: (status) => (status === "UNSPECIFIED" ? "none yet" : status), words: true },
    { name: "revision", value: (session) => session.map_revision, text: (revision) => (revision ? String(revision) : "\u2013") },
    { name: "answered", value: (session) => session.answered, text: grouped },
    { name: "accepted", value: (session) => session.accepted, text: grouped },
    { name: "last at, m", value: (session) => (pose(session) ? pose(session)[0] : null),
      text: (x, session) => (pose(session) ? pose(session).slice(0, 3).map((value) => fixed(value, 1)).join(", ") : "not known") },
    { name: "ago, s", value: (session) => (session.last_pose ? session.last_pose.age_s : null), text: (age) => fixed(age, 1) },
  ];
  const mark = addSortedTable(byId("sessions"), byId("sessions-note"), columns, data.sessions, (session) => {
    mark(session);
    if (pose(session)) view.show({ middle: pose(session).slice(0, 3), half: [25, 25, 5] });
  });
}

function addPlaceTable() {
  byId("places-card").hidden = !data.places.length;
  const extent = (place, axis) => place.max[axis] - place.min[axis];
  const columns = [
    { name: "place", value: (place) => place.kind, text: (kind) => kind, words: true },
    { name: "at, m", value: (place) => place.position[0], text: (x, place) => place.position.map((value) => fixed(value, 1)).join(", ") },
    { name: "size, m", value: (place) => extent(place, 0) * extent(place, 1) * extent(place, 2),
      text: (volume, place) => [0, 1, 2].map((axis) => fixed(extent(place, axis), 1)).join(" \u00d7 ") },
    { name: "points", value: (place) => place.points, text: grouped },
    { name: "cubes", value: (place) => place.cubes, text: grouped },
    { name: "moved, m", value: (place) => place.moved_m, text: (moved) => fixed(moved, 1) },
  ];
  const mark = addSortedTable(byId("places"), byId("places-note"), columns, data.places, (place) => {
    mark(place);
    view.show({
      middle: place.min.map((value, axis) => (value + place.max[axis]) / 2),
      half: place.min.map((value, axis) => 2 * (place.max[axis] - value) + 2),
    });
  });
}

// The evidence of voxloc map propose, of changed tiles or of new ones beyond the map.
function addProposalTable() {
  byId("proposal-card").hidden = !data.proposal;
  if (!data.proposal) return;
  const starts = (tile) => tile.drives.map((drive) => data.proposal.drives[drive].start_s);
  const utc = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 16);
  const isNew = Boolean(data.proposal.new_tiles);
  const columns = [
    { name: "tile", value: (tile) => tile.tile, text: (id) => id, words: true },
    ...(isNew ? [
      { name: "points", value: (tile) => tile.points, text: grouped },
      { name: "way, m", value: (tile) => tile.way_m, text: (way) => fixed(way, 0) },
    ] : [
      { name: "points added", value: (tile) => tile.points_added, text: grouped },
      { name: "removed", value: (tile) => tile.points_removed, text: grouped },
    ]),
    { name: "drives", value: (tile) => tile.drives.length, text: (count, tile) => `${count} (${tile.drives_by_direction.join(" + ")})` },
    { name: "vehicles", value: (tile) => tile.vehicles.length, text: (count, tile) => tile.vehicles.join(", ") },
    { name: "first, UTC", value: (tile) => Math.min(...starts(tile)), text: utc },
    { name: "last, UTC", value: (tile) => Math.max(...starts(tile)), text: utc },
    { name: "held-out scans", value: (tile) => tile.held_out.scans, text: String },
    ...(isNew ? [
      { name: "agreeing", value: (tile) => tile.held_out.agreeing, text: String },
    ] : [
      { name: "score before", value: (tile) => tile.held_out.score_before, text: (score) => fixed(score, 3) },
      { name: "after", value: (tile) => tile.held_out.score_after, text: (score) => fixed(score, 3) },
    ]),
  ];
  const mark = addSortedTable(byId("proposal"), byId("proposal-note"), columns, data.proposal.new_tiles || data.proposal.tiles, (proposed) => {
    mark(proposed);
    const tile = data.tiles.find((one) => one.id === proposed.tile);
    selectTile(tile, null);
    view.show(tile);
  });
}

function addKeyFigures() {
  const sum = (value) => data.tiles.reduce((total, tile) => total + value(tile), 0);
  byId("headline").textContent = data.headline;
  document.title = "voxloc " + data.headline;
  byId("subline").textContent = data.subline;
  addTile("Points", grouped(sum((tile) => tile.points)), "", `${grouped(sum((tile) => tile.count))} in this page`);
  addTile("Tiles", grouped(data.tiles.length), "", "");
  data.layers.forEach((layer) => addTile(layer.name, grouped(layer.cells_of), "",
    layer.count < layer.cells_of ? `${grouped(layer.count)} in this page` : ""));
  const compared = data.tiles.filter((tile) => finite(fitOf(tile, "change")));
  if (compared.length) {
    const worst = compared.reduce((most, tile) => (fitOf(tile, "change") > fitOf(most, "change") ? tile : most));
    addTile("Most changed", fixed(fitOf(worst, "change"), 2), "", `tile ${worst.id}, of ${compared.length} that scans saw`);
  }
  if (data.sessions.length) addTile("Sessions", String(data.sessions.length), "", `${sessions.length} with a known place`);
}

function addTools() {
  addSegments(byId("sizes"), [["\u00b7", 2], ["\u2022", 3], ["\u25cf", 5], ["none", 0]], (pointSize) => view.set({ pointSize }));
  byId("sizes").querySelectorAll("button").forEach((button, i) => button.setAttribute("aria-label", ["small", "medium", "large", "none"][i]));
  addSegments(byId("turn"), [["oblique", oblique], ["from above", topDown]], view.camera.set);
  byId("layers").hidden = !data.layers.length;
  data.layers.forEach((layer) => {
    const button = element("button", { type: "button", "aria-pressed": String(layer.shown) }, layer.name);
    if (!layer.cubes) button.title = "Cells are drawn where they are a few pixels large";
    button.addEventListener("click", () => {
      layer.shown = !layer.shown;
      button.setAttribute("aria-pressed", String(layer.shown));
      view.draw();
    });
    byId("layers").append(button);
  });
  byId("zoom-in").addEventListener("click", () => view.camera.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => view.camera.zoom(1 / 1.5));
  byId("zoom-fit").addEventListener("click", view.showAll);
  byId("picture").addEventListener("click", () => view.picture((picture) => {
    const link = element("a", { download: data.headline.replace(/[^A-Za-z0-9.-]+/g, "_") + ".png" });
    link.setAttribute("href", URL.createObjectURL(picture));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.getAttribute("href")), 60000);
  }));
}

addKeyFigures();
addColoring();
addTools();
addProposalTable();
addSessionTable();
addPlaceTable();
addTileTable();
byId("view-note").hidden = !view.plain;
byId("view-note").textContent = "This browser has no WebGL 2: the map is drawn more slowly, with fewer points, and without the shapes of cells.";
byId("notes").hidden = !data.notes.length;
data.notes.forEach((note) => byId("notes").append(element("li", {}, note)));
byId("setting").textContent = `Made at ${new Date(data.made_at_ns / 1e6).toISOString().replace("T", " ").slice(0, 19)} UTC, to which ages count \u00b7 voxloc ${data.client_version}`;
addTheme(colorAsChosen);
