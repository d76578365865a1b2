// The attempts of a job on a line of time, and the same in words.
import { h, s } from "./dom.js";
import { between, clock, duration } from "./format.js";

const WIDE = 640, HIGH = 28;

/** The picture and the table. */
export function attempts(job) {
  const all = allOf(job);
  if (!all.length) return [h("p", { class: "faint" }, "None has begun.")];
  const from = Math.min(...all.map((it) => it.from)), to = Math.max(...all.map((it) => it.to), from + 1000);
  const x = (time) => (WIDE * (time - from)) / (to - from);
  const bars = all.map((it) => [
    s("rect", { x: x(it.from), y: 4, width: Math.max(2, x(it.to) - x(it.from) - 1), height: 20, rx: 2, class: `bar ${it.kind}` }),
    x(it.to) - x(it.from) > 18 ? s("text", { x: x(it.from) + 5, y: 19, class: "barword" }, `${it.number} ${it.sign}`) : null]);
  const words = all.map((it) => `attempt ${it.number} ${it.reason} after ${duration((it.to - it.from) / 1000)}`).join("; ");
  const row = (it) => h("tr", {}, h("th", { scope: "row" }, it.number), h("td", {}, h("span", { "aria-hidden": "true" }, `${it.sign} `), it.reason),
    h("td", {}, clock(it.from)), h("td", { class: "number" }, duration((it.to - it.from) / 1000)), h("td", { class: "number" }, it.step ?? ""), h("td", { class: "says" }, it.cause));
  const heads = ["Attempt", "End", "Began", "Lasted", "Last step", "First cause"].map((it) => h("th", { scope: "col" }, it));
  return [
    s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", class: "times", "aria-label": `Attempts on a line of time: ${words}` }, bars),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The table of attempts" },
      h("table", {}, h("caption", {}, "Attempts; those of long ago are not kept"), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, [...all].reverse().map(row)))),
  ];
}

function allOf(job) {
  const { status } = job;
  const over = (status.attempts ?? []).map((it) => ({
    number: it.attempt, from: Date.parse(it.startTime ?? it.endTime), to: Date.parse(it.endTime), reason: it.reason,
    kind: "bad", sign: "\u2716", step: it.step, cause: causeOf(it.failure),
  }));
  const began = status.attemptStartTime ?? status.startTime;
  if (began && status.attempt && !over.some((it) => it.number === status.attempt)) over.push(current(job, began));
  return over.filter((it) => Number.isFinite(it.from) && Number.isFinite(it.to));
}

function current({ status, phase, stalled }, began) {
  const from = Date.parse(began), seconds = between(began, status.completionTime);
  const [kind, sign] = { Succeeded: ["good", "\u2714"], Failed: ["bad", "\u2716"] }[phase] ?? (stalled ? ["bad", "!"] : ["busy", "\u25B6"]);
  const cause = phase === "Failed" ? causeOf(status.failure) : "";
  return { number: status.attempt, from, to: from + 1000 * Math.max(0, seconds ?? 0), reason: phase ?? "", kind, sign, step: status.training?.step, cause };
}

function causeOf(failure) {
  if (!failure) return "";
  const said = (failure.message ?? "").trim().split("\n").pop().slice(0, 200);
  return `rank ${failure.rank} (${failure.pod}): ${failure.reason}${said ? `: ${said}` : ""}`;
}
