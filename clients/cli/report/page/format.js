// Numbers as text, and what the statuses look like.

const finite = (value) => typeof value === "number" && Number.isFinite(value);

function fixed(value, digits) {
  return finite(value) ? value.toFixed(digits) : "\u2013";
}

// As many digits as tell something: three significant ones, at most three decimals.
function significant(value) {
  if (!finite(value)) return "\u2013";
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

function statusColor(row) {
  if (row.accepted) return row.status === "OK" ? "var(--good)" : "var(--warn)";
  return row.status === "SUPERSEDED" ? "var(--none)" : "var(--bad)";
}

function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function element(name, attributes, text) {
  const made = document.createElement(name);
  for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

const svgNamespace = document.querySelector("svg").namespaceURI;

function svgElement(name, attributes, text) {
  const made = document.createElementNS(svgNamespace, name);
  for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Round steps that cut [low, high] into at most `count` parts.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9) + 1e-12; i += 1) {
    found.push(i * step);
  }
  return { step, values: found };
}
