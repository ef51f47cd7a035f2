"""What lets readers of a page sort and search its tables: a style and a script to put inside.

Without the script the page is as it was. The script adds buttons to the headings of each table of
several rows, which sort by a column: ascending, descending, as it was; and a field above it, which
leaves the rows that hold all words typed into it.
"""

STYLE = """\
.search { margin: 0.8em 0 0.3em; }
.search input { font: inherit; margin: 0 0.6em; }
th button {
  font: inherit; color: inherit; text-align: left; background: none; border: 0; padding: 0;
  cursor: pointer;
}
th button::after { content: " \\2195"; color: #767676; }
th[aria-sort=ascending] button::after { content: " \\2191"; color: inherit; }
th[aria-sort=descending] button::after { content: " \\2193"; color: inherit; }
:focus-visible { outline: 3px solid #0059a8; outline-offset: 2px; }
@media print { .search { display: none; } th button::after { content: none !important; } }
"""

SCRIPT = """\
"use strict";
// A number at the beginning of a cell: 0.25, -3, 1e-06, or 100 000 with blanks between thousands.
const NUMBER = /^[-+\\u2212]?(?:\\d{1,3}(?:\\s\\d{3})+(?!\\d)|\\d+)(?:\\.\\d+)?(?:e[-+]?\\d+)?/i;

function number(text) {
  const found = NUMBER.exec(text);
  return found ? Number(found[0].replace(/\\s/g, "").replace("\\u2212", "-")) : NaN;
}

function comparison(cells, text) {
  const filled = cells.map(text).filter((one) => one !== "");
  const formulas = cells.some((cell) => cell.querySelector("math"));
  if (!formulas && filled.every((one) => !Number.isNaN(number(one)))) {
    return (a, b) => number(a) - number(b);
  }
  return (a, b) => a.localeCompare(b, "en", { numeric: true });
}

function sort(body, rows, column, direction) {
  const text = (cell) => cell.innerText.trim();
  const compare = comparison(rows.map((row) => row.cells[column]), text);
  const sorted = direction === "none" ? rows : [...rows].sort((one, other) => {
    const [a, b] = [text(one.cells[column]), text(other.cells[column])];
    if (a === "" || b === "") return (a === "") - (b === ""); // nothing comes last
    return direction === "ascending" ? compare(a, b) : compare(b, a);
  });
  body.append(...sorted);
}

function makeSortable(table, rows) {
  const headings = [...table.tHead.rows[0].cells];
  const after = { none: "ascending", ascending: "descending", descending: "none" };
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    if (heading.innerText.trim() === "") button.setAttribute("aria-label", "rows");
    button.append(...heading.childNodes);
    heading.append(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const direction = after[heading.getAttribute("aria-sort")];
      for (const one of headings) one.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", direction);
      sort(table.tBodies[0], rows, column, direction);
    });
  });
}

function makeSearchable(table, rows) {
  const place = document.createElement("div");
  const label = document.createElement("label");
  const field = document.createElement("input");
  const told = document.createElement("output");
  place.className = "search";
  field.type = "search";
  label.append("Search this table", field);
  place.append(label, told);
  table.before(place);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    told.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0]?.rows ?? []];
    if (!table.tHead || rows.length < 2) continue;
    makeSearchable(table, rows);
    makeSortable(table, rows);
  }
});
"""
