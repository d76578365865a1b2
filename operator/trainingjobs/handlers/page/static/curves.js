// Curves of what the training tells. What was before comes from the operator's memory; what comes
// while the page is open is added here, and thinned where it gets long.
import { h, put, s, say } from "./dom.js";
import { clock, number } from "./format.js";

const POINTS = 600, WIDE = 320, HIGH = 96, FIRST = { step: "Step", rate: "Steps/s" };

export class Curves {
  #points = new Map(); #figures = new Map();

  constructor() {
    this.none = h("p", { class: "faint" }, "Nothing was told of its steps yet.");
    this.node = h("div", { class: "curves" }, this.none);
  }

  /** What was before. */
  begin({ columns, rows }) {
    this.#points.clear();
    for (const figure of this.#figures.values()) figure.node.remove();
    this.#figures.clear();
    columns.forEach((name, at) => {
      for (const row of rows) this.#add(name, row[0], row[at + 1]);
    });
    this.#draw();
  }

  /** Where the training is now. */
  note(training, time) {
    if (!training) return;
    this.#add("step", time, training.step);
    this.#add("rate", time, training.stepsPerSecond);
    for (const [name, value] of Object.entries(training.metrics ?? {}).slice(0, 16)) this.#add(name, time, value);
    this.#draw();
  }

  #add(name, time, value) {
    const number = value === null || value === undefined || value === "" ? NaN : Number(value);
    if (!this.#points.has(name)) {
      if (Number.isNaN(number) || this.#points.size >= 18) return;
      this.#points.set(name, []);
    }
    const points = this.#points.get(name), last = points[points.length - 1];
    if (last && last[0] >= time) return;
    points.push([time, number]);
    if (points.length > POINTS) this.#points.set(name, points.filter((_, at) => at % 2 === 0 || at === points.length - 1));
  }

  #draw() {
    this.none.hidden = this.#points.size > 0;
    for (const [name, points] of this.#points) {
      const known = points.filter(([, value]) => Number.isFinite(value));
      if (!known.length) continue;
      if (!this.#figures.has(name)) {
        this.#figures.set(name, figure());
        this.node.append(this.#figures.get(name).node);
      }
      drawn(this.#figures.get(name), FIRST[name] ?? name, points, known);
    }
  }
}

function figure() {
  const caption = h("figcaption"), picture = s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", preserveAspectRatio: "none" });
  const ends = h("p", { class: "ends" }, h("span"), h("span"));
  return { node: h("figure", {}, caption, picture, ends), caption, picture, ends };
}

function drawn({ caption, picture, ends }, name, points, known) {
  const values = known.map(([, value]) => value), low = Math.min(...values), high = Math.max(...values);
  // one point stands in the middle, and a line that is level too
  const only = known.length === 1, level = high === low;
  const from = points[0][0], to = Math.max(points[points.length - 1][0], from + 1), last = values[values.length - 1];
  const x = (time) => (only ? WIDE / 2 : (WIDE * (time - from)) / (to - from));
  const y = (value) => (level ? HIGH / 2 : HIGH - 4 - ((HIGH - 8) * (value - low)) / (high - low));
  say(caption, `${name}: ${number(last)}`);
  picture.setAttribute("aria-label", `${name} from ${number(values[0])} to ${number(last)}, lowest ${number(low)}, highest ${number(high)}, ${clock(from * 1000)} to ${clock(to * 1000)}`);
  put(picture, runs(points).map((run) => (run.length === 1
    ? s("circle", { cx: x(run[0][0]), cy: y(run[0][1]), r: "2", class: "dot" })
    : s("polyline", { points: run.map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`).join(" "), class: "line" }))));
  say(ends.firstChild, `${number(low)} to ${number(high)}`);
  say(ends.lastChild, `${clock(from * 1000)} to ${clock(to * 1000)}`);
}

/** Pieces without a gap: what is no number (a loss of NaN) breaks the line and is not drawn over. */
function runs(points) {
  const found = [[]];
  for (const point of points) {
    if (Number.isFinite(point[1])) found[found.length - 1].push(point);
    else if (found[found.length - 1].length) found.push([]);
  }
  return found.filter((run) => run.length);
}
