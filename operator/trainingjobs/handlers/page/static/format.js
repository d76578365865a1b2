// Times, numbers and states as people read them.

const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

/** A duration as kubectl writes it: 45s, 5m10s, 3h2m, 2d4h. */
export function duration(seconds) {
  let left = Math.max(0, Math.round(seconds));
  if (!Number.isFinite(left)) return "";
  const first = UNITS.findIndex(([, size]) => left >= size);
  if (first < 0) return "0s";
  return UNITS.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count ? `${count}${unit}` : "";
  }).join("");
}

/** Seconds between two times; from the first until now where there is no second. */
export function between(from, to) {
  const start = Date.parse(from), end = to ? Date.parse(to) : Date.now();
  return Number.isNaN(start) || Number.isNaN(end) ? null : (end - start) / 1000;
}

/** How long ago that was. */
export function age(time) {
  const seconds = between(time);
  return seconds === null ? "" : duration(seconds);
}

/** A time of day, with the date where that is not today's. */
export function clock(time) {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  const sameDay = at.toDateString() === new Date().toDateString();
  return sameDay ? at.toLocaleTimeString() : at.toLocaleString();
}

/** A number with four digits. */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(Number(value))) return "";
  const it = Number(value);
  if (Number.isInteger(it)) return String(it);
  return String(Number(it.toPrecision(4)));
}

/** The part that is done, from "40%"; null where only a step is known. */
export function part(progress) {
  const found = /^(\d+(?:\.\d+)?)%$/.exec(progress ?? "");
  return found ? Math.min(100, Number(found[1])) : null;
}

const PHASES = {
  Suspended: ["\u2016", "still"], Pending: ["\u2026", "still"], Starting: ["\u2197", "busy"],
  Running: ["\u25B6", "good"], Restarting: ["\u21BB", "warn"], Succeeded: ["\u2714", "good"],
  Failed: ["\u2716", "bad"],
};

/** The sign, the kind of colour and the word of a job's phase. */
export function phase(row) {
  if (row.stalled && row.phase === "Running") return { sign: "!", kind: "bad", word: "Stalled" };
  const [sign, kind] = PHASES[row.phase] ?? ["?", "still"];
  return { sign, kind, word: row.phase ?? "Unknown" };
}

/** Ranks as people write them: 0, 2 to 7. */
export function ranks(all) {
  const found = [];
  for (const rank of all) {
    const last = found[found.length - 1];
    if (last && rank === last[1] + 1) last[1] = rank;
    else found.push([rank, rank]);
  }
  const shown = found.slice(0, 12).map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a} to ${b}`));
  return shown.join(", ") + (found.length > 12 ? ", \u2026" : "");
}
