// The token: out of the address at once, in this tab's memory alone, sent to nobody but the operator.
import { h, say } from "./dom.js";

const NAME = "trainingjob.token";

/** Take it from the address, where it is, and take it out of there: also out of the history. */
export function take() {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token === null) return;
  sessionStorage.setItem(NAME, token.trim());
  history.replaceState(null, "", `${location.pathname}${location.search}#${given.get("at") ?? "/"}`);
}

/** The token; none where nobody has given one. */
export function get() {
  return sessionStorage.getItem(NAME) ?? "";
}

/** Know it no more. */
export function forget() {
  sessionStorage.removeItem(NAME);
}

/** The field for it. */
export function form(words, done) {
  const field = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "how" });
  const wrong = say(h("p", { role: "alert", class: "note" }), words);
  const node = h("form", { class: "ask" },
    h("h1", {}, "Show a token"),
    wrong,
    h("label", { for: "token" }, "Token"), field,
    h("button", { type: "submit" }, "Look"),
    h("p", { id: "how" }, "kubectl tj ui opens this page with one. By hand, for an account that may get and list TrainingJobs:"),
    h("p", {}, h("code", {}, "kubectl create token ACCOUNT --audience trainingjob.dev/status --duration 1h")));
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!/^[\x21-\x7e]+$/.test(field.value.trim())) return say(wrong, "This is no token.");
    sessionStorage.setItem(NAME, field.value.trim());
    return done();
  });
  return node;
}
