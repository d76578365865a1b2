// Where every rank stands: a grid for the eye, and the same in words. A thousand at a time.
import { h, put, putIfNew, say } from "./dom.js";
import { age, number } from "./format.js";
import { Pager } from "./pager.js";

const RANK = 0, INSTANCE = 1, POD = 2, NODE = 3, STAGE = 4, SINCE = 5, STEP = 6, RATE = 7, LINE = 8, WAITS = 9, SILENT = 10;
const CELLS = 1000, ROWS = 50;
const STAGES = {
  spawned: ["p", "early"], joining: ["j", "warn"], joined: ["n", "early"], sharded: ["d", "early"],
  wrapped: ["m", "early"], stepping: ["s", "good"], left: ["l", "over"], ended: ["e", "over"],
};

export class Ranks {
  #rows = new Map(); #guilty = new Set(); #cell = 0; #timer; #logs; #stalled = false;

  constructor(logs) {
    this.#logs = logs;
    this.summary = h("ul", { class: "legend", "aria-label": "How many ranks are in which state" });
    this.grid = h("div", { class: "grid", role: "listbox", tabindex: "0", "aria-label": "Ranks; arrow keys move, the details follow" });
    this.detail = h("div", { class: "detail", "aria-live": "polite" });
    this.cells = new Pager(CELLS, "ranks of the grid", () => this.draw());
    this.table = h("tbody");
    this.rows = new Pager(ROWS, "ranks", () => this.draw());
    this.first = h("input", { type: "checkbox", id: "first", checked: true, onchange: () => this.draw() });
    const heads = ["Rank", "State", "Step", "Steps/s", "Line", "Waits in", "Pod", "Node"].map((it) => h("th", { scope: "col" }, it));
    this.node = h("div", {}, this.summary, this.grid, this.cells.node, this.detail,
      h("p", { class: "tools" }, this.first, h("label", { for: "first" }, "those in trouble first")),
      h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The table of ranks" },
        h("table", { class: "ranks" }, h("caption", {}, "Ranks, as they last reported"), h("thead", {}, h("tr", {}, heads)), this.table)), this.rows.node);
    this.grid.addEventListener("keydown", (event) => this.#key(event));
    this.grid.addEventListener("click", (event) => this.#click(event));
    this.#timer = setInterval(() => this.draw(), 5000);
  }

  close() {
    clearInterval(this.#timer);
  }

  take({ whole, rows, gone }) {
    if (whole) this.#rows.clear();
    for (const rank of gone) this.#rows.delete(rank);
    for (const row of rows) this.#rows.set(row[RANK], row);
    this.draw();
  }

  /** These findings name the guilty: [{ranks: [..]}]; in a group that stands the others wait. */
  accuse(findings, stalled) {
    this.#stalled = stalled;
    this.#guilty = new Set(findings.flatMap((it) => (Array.isArray(it.ranks) ? it.ranks : numbers(it.ranks))));
    this.draw();
  }

  #state(row) {
    const [sign, kind] = STAGES[row[STAGE]] ?? ["\u00B7", "none"];
    if (this.#guilty.has(row[RANK])) return ["!", "bad", `in trouble, ${row[STAGE] ?? "not heard"}`];
    if (row[SILENT]) return ["?", "warn", `silent, last ${row[STAGE]}`];
    if (this.#stalled && row[WAITS]) return ["w", "still", "waiting"];
    return [sign, kind, row[STAGE] ?? "not heard"];
  }

  draw() {
    const all = [...this.#rows.values()].sort((a, b) => a[RANK] - b[RANK]);
    const counts = new Map();
    for (const row of all) {
      const key = this.#state(row).join("|").replace(/\|(in trouble|silent),.*/, "|$1");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    putIfNew(this.summary, [...counts], () => (counts.size ? [...counts].map(([key, count]) => {
      const [sign, kind, word] = key.split("|");
      return h("li", {}, h("span", { class: `cell ${kind}`, "aria-hidden": "true" }, sign), ` ${count} ${word}`);
    }) : [h("li", {}, "No rank is known: the job has no pods, or tells the roll call nothing.")]));
    this.grid.hidden = !all.length;
    this.#drawGrid(this.cells.of(all));
    this.#drawTable(all);
  }

  #drawGrid(page) {
    const cells = this.grid.children;
    while (cells.length > page.length) this.grid.lastChild.remove();
    while (cells.length < page.length) this.grid.append(h("div", { role: "option", id: `cell-${cells.length}` }));
    this.#cell = Math.max(0, Math.min(this.#cell, page.length - 1));
    page.forEach((row, at) => {
      const [sign, kind, word] = this.#state(row), cell = cells[at];
      putIfNew(cell, [sign, kind, row[RANK], row[STEP], at === this.#cell], () => {
        cell.className = `cell ${kind}`;
        cell.setAttribute("aria-selected", at === this.#cell);
        cell.setAttribute("aria-label", `rank ${row[RANK]}: ${word}, step ${row[STEP]}`);
        return [sign];
      });
    });
    if (page.length) this.grid.setAttribute("aria-activedescendant", `cell-${this.#cell}`);
    else this.grid.removeAttribute("aria-activedescendant");
    const row = page[this.#cell];
    putIfNew(this.detail, row && [row, age(row[SINCE])], () => (row ? this.#details(row) : []));
  }

  #details(row) {
    const [, , word] = this.#state(row);
    return [h("p", {}, h("strong", {}, `rank ${row[RANK]}`), ` (${row[POD]}${row[NODE] ? ` on ${row[NODE]}` : ""}): ${word}`,
      row[SINCE] ? ` for ${age(row[SINCE])}` : "", `, step ${row[STEP]}`, row[RATE] ? `, ${number(row[RATE])} steps/s` : "",
      row[LINE] ? [" at ", h("code", {}, row[LINE])] : "", row[WAITS] ? ` in ${row[WAITS]}` : ""), this.#logs(row[RANK], row[INSTANCE])];
  }

  #drawTable(all) {
    const trouble = (row) => (this.#guilty.has(row[RANK]) ? 0 : row[SILENT] || !row[STAGE] ? 1 : 2);
    const ordered = this.first.checked ? [0, 1, 2].flatMap((it) => all.filter((row) => trouble(row) === it)) : all;
    const page = this.rows.of(ordered), rows = this.table.children;
    while (rows.length > page.length) this.table.lastChild.remove();
    while (rows.length < page.length) this.table.append(h("tr"));
    page.forEach((row, at) => {
      const [sign, kind, word] = this.#state(row);
      putIfNew(rows[at], [row, word], () => [
        h("th", { scope: "row", class: "number" }, row[RANK]), h("td", {}, h("span", { class: `cell ${kind}`, "aria-hidden": "true" }, sign), ` ${word}`),
        h("td", { class: "number" }, row[STEP]), h("td", { class: "number" }, row[RATE] ? number(row[RATE]) : ""),
        h("td", {}, row[LINE] ? h("code", {}, row[LINE]) : ""), h("td", {}, row[WAITS]), h("td", {}, row[POD]), h("td", {}, row[NODE])]);
    });
    if (!page.length) put(this.table);
  }

  #columns() {
    const cells = [...this.grid.children], top = cells[0]?.offsetTop;
    const found = cells.findIndex((it) => it.offsetTop !== top);
    return found < 0 ? cells.length : found;
  }

  #key(event) {
    const last = this.grid.children.length - 1, by = this.#columns();
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: by, ArrowUp: -by, Home: -last, End: last };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.#select(Math.max(0, Math.min(last, this.#cell + steps[event.key])));
  }

  #click(event) {
    const at = [...this.grid.children].indexOf(event.target.closest(".cell"));
    if (at >= 0) this.#select(at);
  }

  #select(at) {
    this.#cell = at;
    this.draw();
    this.grid.children[at].scrollIntoView({ block: "nearest" });
  }
}

/** Numbers from words such as 0,2-7; a thousand at most. */
function numbers(text) {
  const found = [];
  for (const [, from, to] of String(text ?? "").matchAll(/(\d+)(?:-(\d+))?/g)) {
    for (let it = Number(from); it <= Number(to ?? from) && found.length < 1000; it += 1) found.push(it);
  }
  return found;
}
