// One look at a fleet: servers, revisions, vehicles, tiles. Text of the data goes into the page as
// text only.

const fleet = JSON.parse(byId("voxloc-data").textContent);
// More rows than anybody reads, and few enough for any browser.
const mostRows = 1000;

const answering = fleet.servers.filter((server) => !server.error);
const listOf = (server, name) => server[name] || [];
const vehicles = answering.flatMap((server) => listOf(server, "vehicles")
  .map((vehicle) => Object.assign({ server: server.server }, vehicle)));
const maps = answering.flatMap((server) => listOf(server, "maps")
  .map((map) => Object.assign({ server: server.server, known: !server.sessions_error }, map)));

const compareNames = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const percent = (ratio) => (finite(ratio) ? (Math.floor(1000 * ratio) / 10).toFixed(1) + " %" : "\u2013");

function duration(seconds) {
  if (!finite(seconds)) return "\u2013";
  if (seconds < 100) return seconds.toFixed(1) + " s";
  if (seconds < 6000) return (seconds / 60).toFixed(0) + " min";
  return seconds < 360000 ? (seconds / 3600).toFixed(0) + " h" : (seconds / 86400).toFixed(0) + " d";
}

function vehicleColor(vehicle) {
  if (vehicle.status === "UNSPECIFIED") return "var(--none)";
  if (vehicle.needs_attention) return vehicle.status === "OK" ? "var(--warn)" : "var(--bad)";
  return "var(--good)";
}

function count(number, one) {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}

function addFleetHeadline() {
  const some = answering.length === fleet.servers.length ? "" : `${answering.length} of `;
  byId("headline").textContent =
    `${count(vehicles.length, "vehicle")} on ${some}${count(fleet.servers.length, "server")}`;
  const names = new Set(maps.map((map) => map.name));
  const time = new Date(fleet.taken_at_ns / 1e6).toISOString().replace("T", " ").slice(0, 19);
  byId("subline").textContent = `${time} UTC \u00b7 ${count(names.size, "map")}`;
}

function addFleetTiles() {
  addTile("Servers answering", String(answering.length), "of " + fleet.servers.length,
    answering.length === fleet.servers.length ? "all answer" : "see the errors below");
  addTile("Scans answered", fixed(fleet.rate_per_s, 1), "per s", "all vehicles together");
  addTile("Accepted", percent(fleet.accepted_ratio), "", "of the recent answers");
  const attention = vehicles.filter((vehicle) => vehicle.needs_attention).length;
  const tile = addTile("Need attention", String(attention), "of " + vehicles.length,
    "last answer, or more than 1 % of the recent ones, not accepted");
  addStrip(tile, "verdicts of the vehicles", vehicles.map(vehicleColor).sort());
  const staged = new Set(maps.flatMap((map) => map.revisions
    .filter((revision) => revision.state === "STAGED").map((revision) => `${map.name} ${revision.revision}`)));
  addTile("Staged revisions", String(staged.size), "", [...staged].join(", ") || "none");
}

function addErrors() {
  byId("errors-card").hidden = fleet.errors.length === 0;
  fleet.errors.forEach((error) => byId("errors").append(element("li", {}, error)));
}

// A line of cells; those with a colour are badges.
function addLine(body, cells) {
  const line = element("tr");
  cells.forEach((cell) => {
    const { text, color, words } = typeof cell === "object" ? cell : { text: cell };
    const made = element("td", words || color ? { class: "text" } : {}, color ? undefined : text);
    if (color) made.append(badgeOf(text, color));
    line.append(made);
  });
  body.append(line);
}
const words = (text) => ({ text, words: true });

function addServers() {
  const body = addTableHead(byId("servers"), ["server", "state", "engine",
    "version", "vehicles", "scans/s", "accepted", "up"], ["state", "engine", "version"]);
  fleet.servers.forEach((server) => {
    if (server.error) {
      addLine(body, [server.server, { text: "no answer", color: "var(--bad)" }, words(""), words(""),
        "\u2013", "\u2013", "\u2013", "\u2013"]);
      return;
    }
    const own = server.vehicles;
    const sum = (list, value) => list.reduce((total, vehicle) => total + value(vehicle), 0);
    const weighed = own.filter((vehicle) => finite(vehicle.accepted_ratio));
    const total = sum(weighed, (vehicle) => vehicle.rate_per_s);
    const accepted = sum(weighed, (vehicle) => vehicle.rate_per_s * vehicle.accepted_ratio);
    const known = !server.sessions_error;
    addLine(body, [server.server,
      { text: server.state, color: server.state === "serving" ? "var(--good)" : "var(--warn)" },
      words(server.engine), words(server.version), known ? String(own.length) : "\u2013",
      known ? fixed(sum(own, (vehicle) => vehicle.rate_per_s), 1) : "\u2013", total > 0 ? percent(accepted / total) : "\u2013",
      duration(server.uptime_s)]);
  });
}

function stateOf(revision) {
  const tried = revision.canary_vehicles.length;
  const state = revision.state.toLowerCase();
  return tried ? `${state}, tried by ${count(tried, "vehicle")}` : state;
}

function addRevisions() {
  const body = addTableHead(byId("revisions"), ["map", "server", "revision",
    "state", "committed", "comment", "vehicles", "scans/s", "accepted"],
    ["server", "state", "committed", "comment"]);
  const colors = { ACTIVE: "var(--good)", STAGED: "var(--warn)" };
  maps.slice().sort((a, b) => compareNames(a.name, b.name)).forEach((map) => {
    const uses = new Map(map.in_use.map((use) => [use.revision, use]));
    map.revisions.filter((revision) => colors[revision.state] || uses.has(revision.revision))
      .forEach((revision) => {
        const use = uses.get(revision.revision) || { vehicles: 0 };
        const time = new Date(revision.committed_at_ns / 1e6).toISOString().replace("T", " ").slice(0, 16);
        addLine(body, [map.name, words(map.server), String(revision.revision),
          { text: stateOf(revision), color: colors[revision.state] || "var(--none)" }, words(time),
          words(revision.comment), map.known ? String(use.vehicles) : "\u2013",
          fixed(use.rate_per_s, 1), percent(use.accepted_ratio)]);
      });
  });
}

function addVehicles(chosen) {
  const table = byId("vehicles");
  table.replaceChildren();
  const body = addTableHead(table, ["vehicle", "verdict", "server", "map", "revision", "profile",
    "scans/s", "accepted", "answered", "last answer"], ["verdict", "server", "map", "profile"]);
  chosen.slice(0, mostRows).forEach((vehicle) => addLine(body, [
    vehicle.vehicle || vehicle.session,
    { text: vehicle.status === "UNSPECIFIED" ? "none yet" : vehicle.status, color: vehicleColor(vehicle) },
    words(vehicle.server), words(vehicle.map), vehicle.map_revision ? String(vehicle.map_revision) : "\u2013",
    words(vehicle.profile), fixed(vehicle.rate_per_s, 1), percent(vehicle.accepted_ratio),
    String(vehicle.answered), finite(vehicle.silent_s) ? duration(vehicle.silent_s) + " ago" : "\u2013"]));
  byId("vehicles-note").textContent = chosen.length > mostRows ? `the first ${mostRows} of ${chosen.length}` : "";
}

function addVehicleChoice() {
  const all = vehicles.slice()
    .sort((a, b) => b.needs_attention - a.needs_attention || compareNames(a.vehicle, b.vehicle));
  const attention = all.filter((vehicle) => vehicle.needs_attention);
  const choices = [[`all ${all.length}`, all]];
  if (attention.length) choices.push([`need attention (${attention.length})`, attention]);
  addSegments(byId("vehicle-choice"), choices, addVehicles);
}

function addWorstTiles() {
  const body = addTableHead(byId("tiles-table"), ["tile", "map", "server", "change",
    "seen through", "unexplained", "residual, m", "scans"], ["map", "server"]);
  maps.flatMap((map) => map.worst_tiles.map((tile) => ({ map, tile })))
    .sort((a, b) => b.tile.fit.change - a.tile.fit.change).slice(0, mostRows)
    .forEach(({ map, tile }) => addLine(body, [tile.tile_id, words(map.name), words(map.server),
      fixed(tile.fit.change, 2), percent(tile.fit.seen_through_ratio),
      percent(tile.fit.unexplained_ratio), fixed(tile.fit.residual_m, 3), fixed(tile.fit.scans, 1)]));
  if (!body.children.length) addLine(body, ["no scan has been compared with a tile"]);
}

addFleetHeadline();
addFleetTiles();
addErrors();
addServers();
addRevisions();
addVehicleChoice();
addWorstTiles();
addTheme(() => {});
