// Sorts a table by the column whose heading is pressed, and unfolds everything before printing.
"use strict";
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement, body = heading.closest("table").tBodies[0];
    const down = heading.getAttribute("aria-sort") !== "descending", column = heading.cellIndex;
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
    const order = (a, b) => (isNaN(key(a)) || isNaN(key(b)) ? key(b).localeCompare(key(a)) : key(b) - key(a));
    body.append(...[...body.rows].sort((a, b) => (down ? order(a, b) : order(b, a))));
  });
}
for (const fold of document.querySelectorAll("td.name a")) {
  fold.addEventListener("click", () => { const aim = document.getElementById(fold.hash.slice(1)); if (aim) aim.open = true; });
}
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folded) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });
