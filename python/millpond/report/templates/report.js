// Sorts a table by the column whose heading is pressed, opens what a link leads to, and unfolds everything to print.
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
const unfold = () => {
  for (let at = location.hash && document.getElementById(location.hash.slice(1)); at; at = at.parentElement)
    if (at.tagName === "DETAILS") at.open = true;
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folded) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });
