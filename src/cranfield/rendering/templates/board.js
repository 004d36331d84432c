"use strict";
// Sort, filter and fold the boards of this page; without scripts they are tables in the order of the ranks.
for (const board of document.querySelectorAll(".board")) {
  const table = board.querySelector("table.systems");
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].map((row) => ({ row, texts: [...row.cells].map((cell) => cell.textContent) }));
  const systems = board.querySelector(".of-systems");
  const tasks = board.querySelector(".of-tasks");
  const fold = board.querySelector(".fold");
  const count = board.querySelector(".count");
  const nameAt = heads.findIndex((head) => head.classList.contains("system"));
  const foldName = fold.textContent;
  const MANY = 8; // more columns of tasks are folded at first

  function number(text) {
    const value = parseFloat(text.replace(/,/g, "").replace("−", "-"));
    return Number.isNaN(value) ? null : value;
  }

  function compare(at, way) {
    if (at === nameAt) return (a, b) => way * a.texts[at].localeCompare(b.texts[at], "en", { numeric: true });
    return (a, b) => {
      const [x, y] = [number(a.texts[at]), number(b.texts[at])];
      if (x === null || y === null) return (x === null) - (y === null); // a missing score is last both ways
      return way * (x - y);
    };
  }

  function sort(head) {
    const before = head.getAttribute("aria-sort");
    const next = before ? (before === "ascending" ? "descending" : "ascending") : head.dataset.first;
    for (const each of heads) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", next);
    const sorted = [...rows].sort(compare(heads.indexOf(head), next === "ascending" ? 1 : -1));
    body.append(...sorted.map((each) => each.row));
  }

  function filter() {
    const words = systems.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const { row, texts } of rows) {
      row.hidden = !words.every((word) => texts[nameAt].toLowerCase().includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} systems`;
  }

  function filterTasks() {
    const words = tasks.value.toLowerCase().split(/\s+/);
    heads.forEach((head, at) => {
      if (!head.classList.contains("t")) return;
      const away = !words.every((word) => head.textContent.toLowerCase().includes(word));
      head.hidden = away;
      for (const { row } of rows) row.cells[at].hidden = away;
    });
  }

  function setFold(folded) {
    table.classList.toggle("folded", folded);
    fold.setAttribute("aria-expanded", String(!folded));
    fold.textContent = `${folded ? "show" : "hide"} ${foldName}`;
    tasks.parentElement.hidden = folded;
  }

  for (const head of heads) {
    if (!head.dataset.first) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.title = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(head));
  }
  systems.addEventListener("input", filter);
  tasks.addEventListener("input", filterTasks);
  fold.addEventListener("click", () => setFold(!table.classList.contains("folded")));
  setFold(heads.filter((head) => head.classList.contains("t")).length > MANY);
  board.querySelector(".tools").hidden = false;
  filter();
}
