// Tables whose lines change in place, so that a table of hundreds of lines can be brought up to date
// twice a second, and the focus and a selection of text stay.

// `columns`: names; `words`: those that are aligned to the left. Lines are { key, cells } with a cell as
// cellOf takes it; the one whose key is `current` is marked. Returns a function that shows lines.
function addLiveTable(table, columns, words) {
  const body = addTableHead(table, columns, words);
  const known = new Map();  // by key: { line, cells }

  return (lines, current) => {
    const focused = document.activeElement;
    const wanted = new Set(lines.map((line) => line.key));
    known.forEach((entry, key) => {
      if (wanted.has(key)) return;
      entry.line.remove();
      known.delete(key);
    });
    let place = body.firstChild;
    lines.forEach(({ key, cells }) => {
      let entry = known.get(key);
      if (!entry) {
        entry = { line: element("tr"), cells: cells.map((cell) => makeCell(cell)) };
        entry.line.append(...entry.cells.map((cell) => cell.node));
        known.set(key, entry);
      }
      entry.cells.forEach((cell, i) => fillCell(cell, cells[i]));
      if (key === current) entry.line.setAttribute("aria-current", "true"); else entry.line.removeAttribute("aria-current");
      if (entry.line === place) place = place.nextSibling; else body.insertBefore(entry.line, place);
    });
    if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
  };
}

// A cell is a text, or { text, color, words, choose }: with a colour it is a badge, with `choose` a button.
function makeCell(cell) {
  const plain = typeof cell === "object" ? cell : { text: cell };
  const node = element("td", plain.words || plain.color ? { class: "text" } : {});
  let inner = node;
  if (plain.color) inner = badgeOf("", plain.color);
  if (plain.choose) {
    inner = element("button", { type: "button", class: "link" });
    inner.addEventListener("click", plain.choose);
  }
  if (inner !== node) node.append(inner);
  return { node, inner, text: null, color: plain.color };
}

function fillCell(made, cell) {
  const { text, color } = typeof cell === "object" ? cell : { text: cell };
  if (made.text !== text) made.inner.textContent = text;
  if (made.color !== color) made.inner.style.setProperty("--badge", color);
  Object.assign(made, { text, color });
}
