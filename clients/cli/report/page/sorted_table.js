// Tables that are sorted by a click on a column's name, and show the first of many lines.

// More lines than anybody reads, and few enough for any browser.
const mostLines = 1000;

// `columns`: { name, value(item), text(value, item), words }: what is sorted by, and how it is shown;
// words are aligned to the left. The first cell of a line is a button that calls `choose(item)`.
// Returns a function that marks the line of an item.
function addSortedTable(table, note, columns, items, choose) {
  const head = element("tr");
  const body = element("tbody");
  const lines = new Map();
  let sorted = { column: null, rising: false };
  let marked = null;

  const mark = (item) => {
    if (lines.has(marked)) lines.get(marked).removeAttribute("aria-current");
    marked = item;
    if (lines.has(item)) lines.get(item).setAttribute("aria-current", "true");
  };

  function fill() {
    lines.clear();
    body.replaceChildren();
    const value = sorted.column ? sorted.column.value : null;
    // What has no value comes last.
    const less = (a, b) => {
      const [one, other] = [value(a), value(b)];
      if (one === null || other === null) return (one === null) - (other === null);
      const order = typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other;
      return sorted.rising ? order : -order;
    };
    const ordered = value ? items.slice().sort(less) : items;
    ordered.slice(0, mostLines).forEach((item) => {
      const line = element("tr");
      columns.forEach((column, i) => {
        const text = column.text(column.value(item), item);
        const cell = element("td", column.words ? { class: "text" } : {}, i === 0 ? undefined : text);
        if (i === 0) {
          const button = element("button", { type: "button", class: "link" }, text);
          button.addEventListener("click", () => choose(item));
          cell.append(button);
        }
        line.append(cell);
      });
      lines.set(item, line);
      body.append(line);
    });
    mark(marked);
  }

  columns.forEach((column) => {
    const cell = element("th", { scope: "col", class: column.words ? "text" : "" });
    const button = element("button", { type: "button", class: "sort" }, column.name);
    button.addEventListener("click", () => {
      const rising = sorted.column === column ? !sorted.rising : Boolean(column.words);
      sorted = { column, rising };
      head.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", rising ? "ascending" : "descending");
      fill();
    });
    cell.append(button);
    head.append(cell);
  });
  const top = element("thead");
  top.append(head);
  table.append(top, body);
  note.textContent = items.length > mostLines ? `${mostLines} of ${items.length}` : String(items.length);
  fill();
  return mark;
}
