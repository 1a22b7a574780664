// What the pages are built of: numbers as text, colours of verdicts, elements, tiles, tables, rows of
// buttons, and the two themes.

const byId = (id) => document.getElementById(id);
const finite = (value) => typeof value === "number" && Number.isFinite(value);

function fixed(value, digits) {
  return finite(value) ? value.toFixed(digits) : "\u2013";
}

// As many digits as matter: three significant ones, at most three decimals.
function significant(value) {
  if (!finite(value)) return "\u2013";
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

function statusColor(row) {
  if (row.accepted) return row.status === "OK" ? "var(--good)" : "var(--warn)";
  return row.status === "SUPERSEDED" ? "var(--none)" : "var(--bad)";
}

// Of the style sheet; kept until the theme changes, since a view asks for them thousands of times.
const cssColors = new Map();
function cssColor(name) {
  if (!cssColors.has(name)) {
    cssColors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return cssColors.get(name);
}

function filled(made, attributes, text) {
  for (const key of Object.keys(attributes || {})) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

const element = (name, attributes, text) => filled(document.createElement(name), attributes, text);
const svgNamespace = document.querySelector("svg").namespaceURI;
const svgElement = (name, attributes, text) => filled(document.createElementNS(svgNamespace, name), attributes, text);

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

function addTile(name, value, unit, note) {
  const tile = element("div", { class: "tile" });
  const big = element("p", { class: "value" }, value);
  if (unit) big.append(element("small", {}, unit));
  tile.append(element("p", { class: "name" }, name), big, element("p", { class: "note" }, note));
  byId("tiles").append(tile);
  return tile;
}

// A strip of colours, one part for each run of equal ones.
function addStrip(tile, label, colors) {
  const strip = element("div", { class: "strip", role: "img", "aria-label": label });
  let last = null;
  colors.forEach((color) => {
    if (last && last.color === color) { last.count += 1; } else {
      last = { color, count: 1, part: element("i") };
      strip.append(last.part);
    }
    last.part.style.cssText = `flex: ${last.count}; background: ${color}`;
  });
  tile.insertBefore(strip, tile.lastChild);
}

function badgeOf(text, color) {
  const badge = element("span", { class: "badge" }, text);
  badge.style.setProperty("--badge", color);
  return badge;
}

// The columns of `text` are aligned to the left, as the first one is.
function addTableHead(table, names, text) {
  const line = element("tr");
  names.forEach((name) => line.append(
    element("th", { scope: "col", class: (text || ["status"]).includes(name) ? "text" : "" }, name)));
  const head = element("thead");
  head.append(line);
  table.append(head, element("tbody"));
  return table.lastChild;
}

function addSegments(box, choices, choose) {
  choices.forEach(([name, value], i) => {
    const button = element("button", { type: "button", "aria-pressed": String(i === 0) }, name);
    button.addEventListener("click", () => {
      box.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      choose(value);
    });
    box.append(button);
  });
  choose(choices[0][1]);
}

// Draws before the browser's next frame, once for all calls until then.
function drawerOf(draw) {
  let frame = 0;
  return () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  };
}

// Gives a canvas the pixels of its box, and returns how many of them a pixel of the page has.
function fitCanvas(canvas, box) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.clientWidth * ratio);
  canvas.height = Math.round(box.clientHeight * ratio);
  return ratio;
}

function isDark() {
  const chosen = document.documentElement.getAttribute("data-theme");
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

// `redraw` is called when the theme has changed, for what is drawn in pixels.
function addTheme(redraw) {
  const change = () => {
    cssColors.clear();
    redraw();
  };
  byId("theme").addEventListener("click", () => {
    document.documentElement.setAttribute("data-theme", isDark() ? "light" : "dark");
    change();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
}
