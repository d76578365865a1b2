// The command behind what is shown, to copy: the page itself changes nothing.
import { clean, h, say } from "./dom.js";

const PLAIN = /^[A-Za-z0-9._/:=@,-]+$/;

/** A word as a shell takes it. */
export function quoted(word) {
  const text = clean(word);
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A command line of these words. */
export function command(...given) {
  return given.filter((it) => it !== null && it !== undefined && it !== "").map(quoted).join(" ");
}

/** The command, with a button that copies it; what it is for is told to those who cannot see where it stands. */
export function shown(line, what) {
  const code = h("code", {}, line);
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy the command: ${what}` }, "copy");
  button.addEventListener("click", () => copy(code, button));
  return h("p", { class: "command" }, code, button);
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    say(button, "copied");
  } catch {
    getSelection().selectAllChildren(code);
    say(button, "press Ctrl-C");
  }
  setTimeout(() => say(button, "copy"), 2000);
}
