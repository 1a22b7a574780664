// One vehicle of a fleet over time: score, confidence, sigma and latency of its answers.

// What the charts draw (chart.js): the samples of the chosen vehicle.
let rows = [];
const timeUnit = "s";

const selection = {
  index: null,
  listeners: [],
  set(index) {
    this.index = index;
    this.listeners.forEach((listener) => listener(index));
    showTimelineFacts();
  },
};

const timelineCharts = [
  ["Score", "NVTL", "--estimate", "nvtl", 1],
  ["Confidence", "", "--second", "confidence", 1],
  ["Sigma", "cm, of the position", "--other", "sigma_m", 100],
  ["Latency", "ms, of the server", "--truth", "latency_ms", 1],
].map(([title, unit, color, key, factor]) => addChart(byId("charts"), title, unit,
  [{ name: title, color: `var(${color})`, value: (row) => factor * row[key] }], null));

// The answer under the pointer, or the last one.
function showTimelineFacts() {
  const list = byId("timeline-facts");
  const row = rows[selection.index === null ? rows.length - 1 : selection.index];
  if (!row) {
    list.replaceChildren();
    return;
  }
  const facts = [["answer", selection.index === null ? "the last one" : `${fixed(rows[rows.length - 1].t - row.t, 1)} s before the last one`],
    ["verdict", row.accepted ? "accepted" : "not accepted"], ["score (NVTL)", fixed(row.nvtl, 3)],
    ["confidence", fixed(row.confidence, 3)], ["sigma", fixed(row.sigma_m, 3) + " m"],
    ["latency", fixed(row.latency_ms, 1) + " ms"], ["position", `${fixed(row.x, 2)}, ${fixed(row.y, 2)} m`]];
  list.replaceChildren(...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function showTimeline() {
  byId("timeline-card").hidden = chosen === null;
  if (chosen === null) return;
  const samples = samplesOf(chosen);
  const start = samples.length ? samples[0].t : 0;
  rows = samples.map((sample) => Object.assign(sample,
    { t: sample.t - start, accepted: sample.accepted === 1, status: sample.accepted ? "OK" : "NOT_ACCEPTED" }));
  if (selection.index !== null && selection.index >= rows.length) selection.index = null;
  byId("timeline-title").textContent = chosen;
  byId("timeline-note").textContent = rows.length < 2 ? "no more than one answer yet" : `the last ${rows.length} answers that the page has seen`;
  showTimelineFacts();
  timelineCharts.forEach((draw) => draw());
}
