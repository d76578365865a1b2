// Where the page begins: the token, the place in it, and one view at a time.
import { h, put, say } from "./dom.js";
import { JobView } from "./job.js";
import { JobsView } from "./jobs.js";
import * as token from "./token.js";

const main = document.getElementById("main");
const link = document.getElementById("link");
const forget = document.getElementById("forget");
const WORDS = { live: "live", waiting: "not live: trying again", refused: "refused", token: "no token" };
let view = null;

function told(state, words) {
  link.className = state;
  say(link, state === "waiting" && words ? `${WORDS[state]} (${words})` : WORDS[state]);
  if (state === "token") return ask(words);
  view?.told(state, words);
}

function ask(words) {
  leave();
  token.forget();
  forget.hidden = true;
  link.className = "token";
  say(link, WORDS.token);
  put(main, token.form(words, show));
  main.querySelector("input").focus();
}

function leave() {
  view?.close();
  view = null;
}

function show() {
  leave();
  if (!token.get()) return ask("");
  forget.hidden = false;
  say(link, "connecting");
  const place = location.hash.slice(1).split("?")[0].split("/").map(decoded);
  const chosen = new URLSearchParams(location.hash.split("?")[1] ?? "").get("namespace");
  view = place[1] === "job" && place[3]
    ? new JobView(main, token.get(), place[2], place[3], told)
    : new JobsView(main, token.get(), chosen, told);
  document.title = view.title;
  main.focus({ preventScroll: true });
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

forget.addEventListener("click", () => ask("The token is forgotten here. It is good for a while yet."));
addEventListener("hashchange", () => { token.take(); show(); });
addEventListener("error", (event) => put(main, h("p", { role: "alert", class: "bad" }, `The page itself has failed: ${event.message}. Load it again.`)));
token.take();
show();
