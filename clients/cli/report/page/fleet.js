// A fleet: servers, revisions, vehicles, tiles. A file shows one look; a page that is served follows the
// looks as they come. Text of the data goes into the page as text only.

// Without `servers`: `interval_s`, after which the server of the page sends the next look each time.
const written = JSON.parse(byId("voxloc-data").textContent);
// More rows than anybody reads, and few enough for any browser; fewer where they change all the time.
const mostRows = written.servers ? 1000 : 200;

let fleet = null;       // the look that is shown
let answering = [];     // servers
let vehicles = [];
let maps = [];
let tileMaps = [];      // as FleetTilesJson gives them
let chosen = null;      // keyOf a vehicle
let onlyAttention = false;

const listOf = (server, name) => server[name] || [];

function setFleet(look) {
  fleet = look;
  answering = fleet.servers.filter((server) => !server.error);
  vehicles = answering.flatMap((server) => listOf(server, "vehicles")
    .map((vehicle) => Object.assign({ server: server.server, key: vehicle.vehicle || vehicle.session }, vehicle)));
  const sessions = new Map();
  vehicles.forEach((vehicle) => sessions.set(vehicle.key, (sessions.get(vehicle.key) || 0) + 1));
  vehicles.filter((vehicle) => sessions.get(vehicle.key) > 1)
    .forEach((vehicle) => { vehicle.key = `${vehicle.key} (${vehicle.session} of ${vehicle.server})`; });
  vehicles.sort((a, b) => Number(b.needs_attention) - Number(a.needs_attention) || compareNames(keyOf(a), keyOf(b)));
  maps = answering.flatMap((server) => listOf(server, "maps")
    .map((map) => Object.assign({ server: server.server, known: !server.sessions_error }, map)));
  remember(vehicles, fleet.taken_at_ns / 1e9);
}

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

const words = (text) => ({ text, words: true });
const timeText = (at_ns, length) => new Date(at_ns / 1e6).toISOString().replace("T", " ").slice(0, length);

function showHeadline() {
  const some = answering.length === fleet.servers.length ? "" : `${answering.length} of `;
  byId("headline").textContent =
    `${count(vehicles.length, "vehicle")} on ${some}${count(fleet.servers.length, "server")}`;
  const names = new Set(maps.map((map) => map.name));
  byId("subline").textContent = `${timeText(fleet.taken_at_ns, 19)} UTC \u00b7 ${count(names.size, "map")}`;
}

function showFigures() {
  byId("tiles").replaceChildren();
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

// Only where they have changed, since what changes is read aloud.
function showErrors() {
  const list = byId("errors");
  byId("errors-card").hidden = fleet.errors.length === 0;
  const shown = [...list.children].map((item) => item.textContent);
  if (JSON.stringify(shown) === JSON.stringify(fleet.errors)) return;
  list.replaceChildren(...fleet.errors.map((error) => element("li", {}, error)));
}

const showServerLines = addLiveTable(byId("servers"), ["server", "state", "engine", "version", "vehicles",
  "scans/s", "accepted", "waiting", "latency, ms", "up"], ["state", "engine", "version"]);

function showServers() {
  const sum = (list, value) => list.reduce((total, vehicle) => total + value(vehicle), 0);
  showServerLines(fleet.servers.map((server) => {
    const none = "\u2013";
    if (server.error) {
      return { key: server.server, cells: [server.server, { text: "no answer", color: "var(--bad)" },
        words(""), words(""), none, none, none, none, none, none] };
    }
    const own = listOf(server, "vehicles");
    const weighed = own.filter((vehicle) => finite(vehicle.accepted_ratio));
    const total = sum(weighed, (vehicle) => vehicle.rate_per_s);
    const accepted = sum(weighed, (vehicle) => vehicle.rate_per_s * vehicle.accepted_ratio);
    const latencies = own.filter((vehicle) => vehicle.last_answer)
      .map((vehicle) => 1e3 * vehicle.last_answer.server_s).sort((a, b) => a - b);
    const known = !server.sessions_error;
    return { key: server.server, cells: [server.server,
      { text: server.state, color: server.state === "serving" ? "var(--good)" : "var(--warn)" },
      words(server.engine), words(server.version), known ? String(own.length) : none,
      known ? fixed(sum(own, (vehicle) => vehicle.rate_per_s), 1) : none, total > 0 ? percent(accepted / total) : none,
      known ? String(sum(own, (vehicle) => vehicle.unanswered)) : none,
      fixed(latencies[Math.floor(latencies.length / 2)], 1), duration(server.uptime_s)] };
  }));
}

function stateOf(revision) {
  const tried = revision.canary_vehicles.length;
  const state = revision.state.toLowerCase();
  return tried ? `${state}, tried by ${count(tried, "vehicle")}` : state;
}

const showRevisionLines = addLiveTable(byId("revisions"), ["map", "server", "revision",
  "state", "committed", "comment", "vehicles", "scans/s", "accepted"], ["server", "state", "committed", "comment"]);
const showCanaryLines = addLiveTable(byId("canaries"), ["vehicle", "map", "revision", "server", "verdict",
  "scans/s", "accepted", "accepted on the active one", "score: before, now", "innovation: before, now",
  "explained: before, now"], ["map", "server", "verdict"]);

// A value of a vehicle on the revision that it used before, and on the staged one.
function beforeAndNow(vehicle, revision, field, show) {
  const all = (vehicle && vehicle.by_revision) || [];
  const now = all.find((answers) => answers.revision === revision);
  const before = all.find((answers) => answers.revision !== revision);
  const counted = field === "mean_nvtl" ? "aligned" : "with_confidence";
  const text = (answers) => (answers && answers[counted] > 0 ? show(answers[field]) : "\u2013");
  return `${text(before)}, ${text(now)}`;
}

function showRevisions() {
  const colors = { ACTIVE: "var(--good)", STAGED: "var(--warn)" };
  const sorted = maps.slice().sort((a, b) => compareNames(a.name, b.name));
  const usesOf = (map) => new Map(map.in_use.map((use) => [use.revision, use]));
  showRevisionLines(sorted.flatMap((map) => {
    const uses = usesOf(map);
    return map.revisions.filter((revision) => colors[revision.state] || uses.has(revision.revision))
      .map((revision) => {
        const use = uses.get(revision.revision) || { vehicles: 0 };
        return { key: `${map.server} ${map.name} ${revision.revision}`, cells: [map.name, words(map.server),
          String(revision.revision), { text: stateOf(revision), color: colors[revision.state] || "var(--none)" },
          words(timeText(revision.committed_at_ns, 16)), words(revision.comment),
          map.known ? String(use.vehicles) : "\u2013", fixed(use.rate_per_s, 1), percent(use.accepted_ratio)] };
      });
  }));
  const canaries = sorted.flatMap((map) => {
    const active = map.revisions.find((revision) => revision.state === "ACTIVE");
    const use = active && usesOf(map).get(active.revision);
    return map.revisions.filter((revision) => revision.state === "STAGED")
      .flatMap((revision) => revision.canary_vehicles.map((name) => {
        const found = vehicles.find((one) => one.vehicle === name && one.map === map.name && one.server === map.server);
        return { key: `${map.server} ${map.name} ${revision.revision} ${name}`, cells: [name, words(map.name),
          String(revision.revision), words(map.server), { text: found ? verdictOf(found) : "no session", color: found ? vehicleColor(found) : "var(--none)" },
          fixed(found && found.rate_per_s, 1), percent(found && found.accepted_ratio), percent(use && use.accepted_ratio),
          beforeAndNow(found, revision.revision, "mean_nvtl", (value) => fixed(value, 2)),
          beforeAndNow(found, revision.revision, "mean_innovation", (value) => fixed(value, 2)),
          beforeAndNow(found, revision.revision, "mean_sharp_ratio", percent)] };
      }));
  });
  byId("canaries-card").hidden = canaries.length === 0;
  showCanaryLines(canaries.slice(0, mostRows));
}

const verdictOf = (vehicle) => (vehicle.status === "UNSPECIFIED" ? "none yet" : vehicle.status);

const showVehicleLines = addLiveTable(byId("vehicles"), ["vehicle", "verdict", "server", "map", "revision",
  "profile", "scans/s", "accepted", "answered", "last answer"], ["verdict", "server", "map", "profile"]);

// Those that the filters leave, in trouble first.
function filtered() {
  const wanted = byId("vehicle-search").value.trim().toLowerCase();
  return vehicles.filter((vehicle) => (!onlyAttention || vehicle.needs_attention) &&
    (!wanted || [keyOf(vehicle), vehicle.server, vehicle.map, vehicle.profile, vehicle.status]
      .some((text) => text.toLowerCase().includes(wanted))));
}

function showVehicles() {
  const shown = filtered();
  const lineKey = (vehicle) => `${vehicle.server} ${vehicle.session}`;
  const current = shown.find((vehicle) => keyOf(vehicle) === chosen);
  showVehicleLines(shown.slice(0, mostRows).map((vehicle) => ({ key: lineKey(vehicle), cells: [
    { text: keyOf(vehicle), choose: () => choose(keyOf(vehicle)) },
    { text: verdictOf(vehicle), color: vehicleColor(vehicle) },
    words(vehicle.server), words(vehicle.map), vehicle.map_revision ? String(vehicle.map_revision) : "\u2013",
    words(vehicle.profile), fixed(vehicle.rate_per_s, 1), percent(vehicle.accepted_ratio),
    String(vehicle.answered), finite(vehicle.silent_s) ? duration(vehicle.silent_s) + " ago" : "\u2013"] })),
  current && lineKey(current));
  byId("vehicles-note").textContent = shown.length > mostRows ? `the first ${mostRows} of ${shown.length}`
    : shown.length < vehicles.length ? `${shown.length} of ${vehicles.length}` : "";
  const attention = vehicles.filter((vehicle) => vehicle.needs_attention).length;
  const [all, some] = byId("vehicle-choice").children;
  all.textContent = `all ${vehicles.length}`;
  some.textContent = `need attention (${attention})`;
  const onMap = shown.filter((vehicle) => vehicle.map === byId("map-choice").value && poseOf(vehicle));
  fleetMap.setVehicles(onMap, chosen);
  byId("map-empty").textContent = onMap.length || tilesShown().length ? "" : "No vehicle and no tile is on this map.";
}

const tilesShown = () => {
  const found = tileMaps.find((map) => map.name === byId("map-choice").value);
  return found ? found.tiles : [];
};

// The map that most vehicles are on is chosen first.
function showMapChoice() {
  const select = byId("map-choice");
  const names = [...new Set([...maps.map((map) => map.name), ...vehicles.map((vehicle) => vehicle.map)])].sort();
  if (JSON.stringify([...select.options].map((option) => option.value)) === JSON.stringify(names)) return;
  const size = (name) => vehicles.filter((vehicle) => vehicle.map === name).length;
  const before = select.value;
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  select.value = names.includes(before) ? before
    : names.reduce((best, name) => (best === null || size(name) > size(best) ? name : best), null);
  fleetMap.setTiles(tilesShown());
}

const showTileLines = addLiveTable(byId("tiles-table"), ["tile", "map", "server", "change",
  "seen through", "unexplained", "residual, m", "scans"], ["map", "server"]);

function showWorstTiles() {
  const lines = maps.flatMap((map) => map.worst_tiles.map((tile) => ({ map, tile })))
    .sort((a, b) => b.tile.fit.change - a.tile.fit.change).slice(0, mostRows)
    .map(({ map, tile }) => ({ key: `${map.server} ${map.name} ${tile.tile_id}`, cells: [tile.tile_id,
      words(map.name), words(map.server), fixed(tile.fit.change, 2), percent(tile.fit.seen_through_ratio),
      percent(tile.fit.unexplained_ratio), fixed(tile.fit.residual_m, 3), fixed(tile.fit.scans, 1)] }));
  showTileLines(lines.length ? lines : [{ key: "", cells: ["no scan has been compared with a tile"] }]);
}

function showAll() {
  showHeadline();
  showFigures();
  showErrors();
  showMapChoice();
  showVehicles();
  showTimeline();
  showServers();
  showRevisions();
  showWorstTiles();
}

function choose(key) {
  chosen = key;
  showVehicles();
  showTimeline();
}

// The server of the page sends looks, and tiles when they have changed.
function follow() {
  const live = byId("live");
  const source = new EventSource("events");
  const setState = (lost, text) => {
    live.hidden = false;
    live.classList.toggle("lost", lost);
    if (live.textContent !== text) live.textContent = text;
  };
  source.addEventListener("tiles", (event) => {
    tileMaps = JSON.parse(event.data);
    fleetMap.setTiles(tilesShown());
  });
  const setLost = () => {
    const since = fleet ? `; this is the look of ${timeText(fleet.taken_at_ns, 19)} UTC` : "";
    setState(true, `voxloc fleet does not answer${since}. Trying again.`);
  };
  let watch = 0;
  source.addEventListener("fleet", (event) => {
    setFleet(JSON.parse(event.data));
    showAll();
    setState(false, "Live");
    clearTimeout(watch);
    watch = setTimeout(setLost, 1000 * (2 * written.interval_s + 3));
  });
  source.addEventListener("error", () => {
    clearTimeout(watch);
    setLost();
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
  });
}

const fleetMap = addFleetMap(byId("map"), choose);
byId("map-choice").addEventListener("change", () => {
  fleetMap.setTiles(tilesShown());
  showVehicles();
  fleetMap.showAll();
});
byId("vehicle-search").addEventListener("input", () => { if (fleet) showVehicles(); });
addSegments(byId("vehicle-choice"), [["all", false], ["need attention", true]], (only) => {
  onlyAttention = only;
  if (fleet) showVehicles();
});
addTheme(() => fleetMap.draw());
byId("freshness").textContent = written.servers ? "One look, not refreshed." : "The page follows the fleet.";
if (written.servers) {
  tileMaps = written.tiles || [];
  setFleet(written);
  showAll();
} else {
  byId("headline").textContent = "Waiting for the first look";
  follow();
}
