// What each vehicle of a fleet has shown of late: bounded for each vehicle, and in arrays of a fixed size, so
// that a page can stay open for days.

const keptSamples = 240;         // two minutes at two looks a second
const forgottenAfter_s = 300;    // without its session
const mostHistories = 5000;
const sampleFields = ["t", "x", "y", "nvtl", "confidence", "sigma_m", "latency_ms", "accepted"];

const histories = new Map();  // by vehicle, the one that was seen last at the end

// Set by setFleet: its name, with the session's where several sessions have one name.
const keyOf = (vehicle) => vehicle.key;
const acceptedStatus = (status) => status === "OK" || status === "DEGENERATE";

// The largest standard deviation along an axis of the map's plane that any direction has, metres.
function sigmaOf(vehicle) {
  const ellipse = ellipseOf({ pose: true, position_covariance: covarianceOf(vehicle) });
  return ellipse ? ellipse.radii[0] / Math.sqrt(5.991) : NaN;
}

const covarianceOf = (vehicle) => {
  const answer = vehicle.last_answer;
  return answer && answer.position_covariance.length === 6 ? answer.position_covariance : null;
};

// Where the vehicle is: by its last answer where that was accepted, else where it was last accepted.
function poseOf(vehicle) {
  const answered = vehicle.last_answer && vehicle.last_answer.map_t_base;
  const accepted = vehicle.last_pose && vehicle.last_pose.map_t_base;
  return (acceptedStatus(vehicle.status) ? answered || accepted : accepted || answered) || null;
}

// Adds the last answers that are new. `now_s`: time of the look.
function remember(vehicles, now_s) {
  vehicles.forEach((vehicle) => {
    const key = keyOf(vehicle);
    const history = histories.get(key) ||
      { values: new Float64Array(sampleFields.length * keptSamples), count: 0, answered_at_ns: 0 };
    histories.delete(key);
    histories.set(key, history);
    history.seen_s = now_s;
    const answer = vehicle.last_answer;
    if (!answer || vehicle.answered_at_ns === history.answered_at_ns) return;
    history.answered_at_ns = vehicle.answered_at_ns;
    const pose = poseOf(vehicle);
    const sample = [now_s, pose ? pose[0] : NaN, pose ? pose[1] : NaN, answer.nvtl,
      finite(answer.confidence) ? answer.confidence : NaN, sigmaOf(vehicle), 1e3 * answer.server_s,
      acceptedStatus(vehicle.status) ? 1 : 0];
    history.values.set(sample, sampleFields.length * (history.count % keptSamples));
    history.count += 1;
  });
  for (const [key, history] of histories) {
    if (histories.size <= mostHistories && now_s - history.seen_s < forgottenAfter_s) break;
    histories.delete(key);
  }
}

// The samples of a vehicle, oldest first, as objects of sampleFields.
function samplesOf(key) {
  const history = histories.get(key);
  if (!history) return [];
  const first = Math.max(0, history.count - keptSamples);
  return Array.from({ length: history.count - first }, (unused, i) => {
    const at = sampleFields.length * ((first + i) % keptSamples);
    return Object.fromEntries(sampleFields.map((name, k) => [name, history.values[at + k]]));
  });
}

// Calls `each` with x and y of the last samples of a vehicle's way, oldest first.
function wayOf(key, samples, each) {
  const history = histories.get(key);
  if (!history) return;
  for (let i = Math.max(0, history.count - samples); i < history.count; i += 1) {
    const at = sampleFields.length * (i % keptSamples);
    if (!Number.isNaN(history.values[at + 1])) each(history.values[at + 1], history.values[at + 2]);
  }
}
