// What the cluster has written down: a job's events, and the last lines of one of its pods. Both are
// read anew while they are shown, events also once something has happened to the job; whoever may not
// read them is told the command.
import { Asking } from "./ask.js";
import { h, lines, put, putIfNew, say } from "./dom.js";
import { age } from "./format.js";

const EVENTS = 20, LOG = 3;

export class Events {
  #asking; #name;

  /** Of the job or the pod behind this path, told under this name. */
  constructor(path, token, name) {
    this.#name = name;
    this.rows = h("tbody");
    this.note = h("p", { class: "faint", role: "status" }, "Reading them.");
    const heads = ["Seen", "Type", "Reason", "Times", "What it says"].map((it) => h("th", { scope: "col" }, it));
    this.table = h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name, hidden: true },
      h("table", { class: "events" }, h("caption", {}, `${name}, the newest first`), h("thead", {}, h("tr", {}, heads)), this.rows));
    this.node = h("div", {}, this.note, this.table);
    this.#asking = new Asking(`${path}/events`, token, EVENTS, (...it) => this.#take(...it));
  }

  soon() {
    this.#asking.soon();
  }

  close() {
    this.#asking.close();
  }

  #take(told, words, gone) {
    if (gone) this.table.hidden = true;
    say(this.note, told ? (told.events.length ? "" : `${this.#name}: there are none; a cluster keeps them for an hour.`) : `Not shown: ${words}`);
    if (!told) return;
    this.table.hidden = !told.events.length;
    putIfNew(this.rows, told.events.map((it) => [it, age(it.last)]), () => told.events.map((it) => h("tr", {},
      h("td", { class: "number" }, age(it.last)), h("td", {}, h("span", { class: it.type === "Warning" ? "bad" : "faint" }, it.type)),
      h("td", {}, it.reason), h("td", { class: "number" }, it.count), h("td", { class: "says" }, it.message))));
  }
}

export class Log {
  #path; #token; #asking = null; #events = null; #shown = "0";

  constructor(path, token) {
    this.#path = path; this.#token = token;
    this.instance = h("input", { id: "instance", type: "number", min: "0", value: "0", inputmode: "numeric" });
    this.follow = h("input", { id: "follow", type: "checkbox", checked: true, onchange: () => this.#again() });
    this.note = h("p", { class: "faint", role: "status" }, "Choose a rank above, or an instance by its number: the ranks of one pod share its log.");
    this.text = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "The last lines of the log", hidden: true });
    const form = h("form", { class: "tools" }, h("label", { for: "instance" }, "Instance"), this.instance,
      h("button", { type: "submit" }, "show its log"), this.follow, h("label", { for: "follow" }, "follow"));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.show(this.instance.value); });
    this.events = h("div");
    this.node = h("div", {}, form, this.note, this.text, this.events);
  }

  close() {
    this.#asking?.close();
    this.#events?.close();
  }

  soon() {
    this.#events?.soon();
  }

  /** Show the log of this instance's pod, and what happened to it. */
  show(instance) {
    this.close();
    this.instance.value = this.#shown = instance;
    this.text.hidden = true;
    put(this.text);
    say(this.note, "Reading it.");
    this.#events = new Events(this.#of(), this.#token, "Events of its pod");
    put(this.events, this.#events.node);
    this.#again(true);
  }

  #of() {
    return `${this.#path}/instances/${encodeURIComponent(this.#shown)}`;
  }

  #again(anew = false) {
    // who follows no more is told what was asked for already
    if (!anew && !(this.#asking && this.follow.checked)) return;
    this.#asking?.close();
    this.#asking = new Asking(`${this.#of()}/log`, this.#token, LOG, (...it) => this.#take(...it));
  }

  #take(told, words, gone) {
    if (gone) this.text.hidden = true;
    if (!this.follow.checked) this.#asking.close();
    if (!told) return say(this.note, `Not shown: ${words}`);
    say(this.note, `${told.pod}, attempt ${told.attempt}${told.more ? ": its last lines, there are more" : ""}${told.text ? "" : ": it has written nothing"}`);
    this.text.hidden = !told.text;
    const text = lines(told.text);
    if (this.text.textContent === text) return;
    const atEnd = this.text.scrollHeight - this.text.scrollTop - this.text.clientHeight < 40;
    this.text.textContent = text;
    if (atEnd) this.text.scrollTop = this.text.scrollHeight;
  }
}
