// A page of many things, and the buttons to the others.
import { h, say } from "./dom.js";

export class Pager {
  #size; #what; #at = 0; #pages = 1;

  constructor(size, what, turned) {
    this.#size = size; this.#what = what;
    const go = (by) => () => { this.#at = Math.min(this.#pages - 1, Math.max(0, this.#at + by)); turned(); };
    this.back = h("button", { type: "button", onclick: go(-1) }, "\u25C2 earlier");
    this.on = h("button", { type: "button", onclick: go(1) }, "later \u25B8");
    this.words = h("span", { role: "status" });
    this.node = h("nav", { class: "pager", "aria-label": `Pages of ${what}`, hidden: true }, this.back, this.words, this.on);
  }

  first() {
    this.#at = 0;
  }

  /** Turn to the page that has the thing at this place. */
  turnTo(index) {
    this.#at = Math.max(0, Math.floor(index / this.#size));
  }

  /** Those of this page. */
  of(all) {
    this.#pages = Math.max(1, Math.ceil(all.length / this.#size));
    this.#at = Math.min(this.#at, this.#pages - 1);
    const from = this.#at * this.#size, found = all.slice(from, from + this.#size);
    this.node.hidden = this.#pages === 1;
    this.back.disabled = this.#at === 0;
    this.on.disabled = this.#at === this.#pages - 1;
    say(this.words, `${from + 1} to ${from + found.length} of ${all.length} ${this.#what}`);
    return found;
  }
}
