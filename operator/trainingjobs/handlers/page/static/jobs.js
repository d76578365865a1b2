// The list of jobs: filtered, sorted and paged, so that a thousand are as quick as ten.
import { command, shown } from "./commands.js";
import { h, putIfNew, put, say } from "./dom.js";
import { age, duration, part, phase } from "./format.js";
import { Pager } from "./pager.js";
import { Stream } from "./stream.js";

const SIZE = 50;
const PHASES = ["Stalled", "Running", "Starting", "Pending", "Restarting", "Failed", "Succeeded", "Suspended"];
const COLUMNS = [
  ["Job", (row) => `${row.namespace}/${row.name}`], ["Phase", (row) => PHASES.indexOf(phase(row).word)],
  ["Ready", null], ["Progress", (row) => part(row.progress) ?? -1], ["Steps/s", (row) => Number(row.rate ?? -1)],
  ["Restarts", (row) => row.restarts ?? 0], ["Age", (row) => Date.parse(row.created)], ["What it says", null],
];

export class JobsView {
  title = "TrainingJobs";
  #rows = new Map(); #stream; #timer; #order = "Age"; #down = true; #drawn = false;

  constructor(root, token, namespace, told) {
    this.note = h("p", { role: "alert", class: "note" });
    this.filter = h("input", { id: "filter", type: "search", maxlength: "200", autocomplete: "off", oninput: () => this.#again() });
    this.phase = h("select", { id: "phase", onchange: () => this.#again() }, h("option", { value: "" }, "all"),
      PHASES.map((it) => h("option", { value: it }, it)));
    this.count = h("p", { role: "status", class: "count" });
    this.head = h("tr");
    this.body = h("tbody");
    this.pager = new Pager(SIZE, "jobs", () => this.draw());
    put(root, h("h1", {}, namespace ? `Jobs in ${namespace}` : "Jobs"), this.note,
      h("div", { class: "tools" }, h("label", { for: "filter" }, "Filter"), this.filter, h("label", { for: "phase" }, "Phase"), this.phase, this.count),
      h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The list of jobs" },
        h("table", { class: "jobs" }, h("caption", {}, "TrainingJobs, as they are now"), h("thead", {}, this.head), this.body)),
      this.pager.node,
      shown(command("kubectl", "get", "trainingjobs", namespace ? "-n" : "-A", namespace), "list the jobs"));
    const query = namespace ? `?namespace=${encodeURIComponent(namespace)}` : "";
    this.#stream = new Stream(`api/v1/trainingjobs/stream${query}`, token, { jobs: (it) => this.#take(it) }, told);
    this.#timer = setInterval(() => this.draw(), 5000);
  }

  close() {
    this.#stream.close();
    clearInterval(this.#timer);
  }

  told(state, words) {
    say(this.note, state === "refused" ? words : "");
    if (state === "refused") this.#rows.clear();
    if (state === "refused") this.draw();
  }

  #take({ whole, rows, gone }) {
    if (whole) this.#rows.clear();
    for (const [namespace, name] of gone) this.#rows.delete(`${namespace}/${name}`);
    for (const row of rows) this.#rows.set(`${row.namespace}/${row.name}`, row);
    this.#drawn = true;
    this.draw();
  }

  #again() {
    this.pager.first();
    this.draw();
  }

  #chosen() {
    const text = this.filter.value.trim().toLowerCase(), word = this.phase.value;
    const fits = (row) => (!word || phase(row).word === word)
      && (!text || `${row.namespace}/${row.name} ${row.message}`.toLowerCase().includes(text));
    const value = COLUMNS.find(([name]) => name === this.#order)[1];
    const found = [...this.#rows.values()].filter(fits).map((row) => [value(row), row]);
    found.sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x.uid < y.uid ? -1 : 1));
    if (this.#down) found.reverse();
    return found.map(([, row]) => row);
  }

  draw() {
    if (!this.#drawn) return;
    const found = this.#chosen();
    say(this.count, found.length === this.#rows.size ? `${found.length} jobs` : `${found.length} of ${this.#rows.size} jobs`);
    putIfNew(this.head, [this.#order, this.#down], () => COLUMNS.map((it) => this.#heading(...it)));
    const page = this.pager.of(found);
    while (this.body.children.length > page.length) this.body.lastChild.remove();
    while (this.body.children.length < page.length) this.body.append(h("tr"));
    page.forEach((row, at) => {
      const cells = [row, age(row.created), row.completionTime ? "" : row.etaSeconds];
      putIfNew(this.body.children[at], cells, () => cellsOf(row));
    });
    if (!page.length) put(this.body, h("tr", {}, h("td", { colspan: COLUMNS.length }, this.#rows.size ? "No job fits." : "There are no jobs here.")));
  }

  #heading(name, value) {
    if (!value) return h("th", { scope: "col" }, name);
    const chosen = name === this.#order;
    const turn = () => {
      this.#down = chosen ? !this.#down : name !== "Job";
      this.#order = name;
      this.#again();
      [...this.head.querySelectorAll("button")].find((it) => it.dataset.name === name)?.focus();
    };
    return h("th", { scope: "col", "aria-sort": chosen ? (this.#down ? "descending" : "ascending") : null },
      h("button", { type: "button", "data-name": name, onclick: turn }, name, chosen ? (this.#down ? " \u25BE" : " \u25B4") : ""));
  }
}

function cellsOf(row) {
  const { sign, kind, word } = phase(row), done = part(row.progress);
  const at = `#/job/${encodeURIComponent(row.namespace)}/${encodeURIComponent(row.name)}`;
  return [
    h("th", { scope: "row" }, h("a", { href: at }, h("span", { class: "faint" }, `${row.namespace}/`), row.name)),
    h("td", {}, h("span", { class: `phase ${kind}` }, h("span", { "aria-hidden": "true" }, `${sign} `), word)),
    h("td", { class: "number" }, row.ready),
    h("td", { class: "number" }, done === null ? null : h("progress", { max: "100", value: done, "aria-label": `Progress of ${row.name}` }), " ", row.progress,
      row.etaSeconds && !row.completionTime && !row.stalled ? h("span", { class: "faint" }, ` ${duration(row.etaSeconds)} left`) : null),
    h("td", { class: "number" }, row.completionTime || row.stalled ? "" : row.rate),
    h("td", { class: "number" }, row.restarts || ""),
    h("td", { class: "number" }, age(row.created)),
    h("td", { class: "says" }, row.message || (row.findings ?? []).join(", ")),
  ];
}
