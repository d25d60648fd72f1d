"use strict";
// A click on the head of a column sorts the table by it.
function sort(button) {
  const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0], index = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  table.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[index];
    return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
  };
  const compare = (one, other) => {
    const [a, b] = [key(one), key(other)];
    if (typeof a === "string") return (down ? -1 : 1) * a.localeCompare(b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return (down ? -1 : 1) * (a - b);
  };
  [...body.rows].sort(compare).forEach((row) => body.append(row));
}

document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => sort(button)));
