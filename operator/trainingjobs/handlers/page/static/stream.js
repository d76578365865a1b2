// Server-sent events by fetch: an EventSource can show no token. One stream at a time, closed while
// nobody looks at the page, opened again with patience when it breaks.
import { ask, wordsOf } from "./ask.js";

const SLOWEST = 10_000, QUICKEST = 1_000;
const HIDDEN = 15_000;
const SILENT = 45_000;
const LONGEST = 32 * 1024 * 1024;

export class Stream {
  #path; #token; #on; #told; #abort = null; #timer = null; #wait = QUICKEST; #closed = false; #heard = 0; #watch;

  /** `on[event](value)` for each event; `told(state, words)` with live, waiting, token, refused. */
  constructor(path, token, on, told) {
    this.#path = path; this.#token = token; this.#on = on; this.#told = told;
    document.addEventListener("visibilitychange", this.#seen);
    this.#watch = setInterval(() => this.#listen(), SILENT / 3);
    this.#open();
  }

  close() {
    this.#closed = true;
    document.removeEventListener("visibilitychange", this.#seen);
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.#abort?.abort();
  }

  #seen = () => {
    clearTimeout(this.#timer);
    if (document.hidden) this.#timer = setTimeout(() => this.#abort?.abort(), HIDDEN);
    else if (!this.#abort) this.#open();
  };

  /** A connection that has died without a word is as good as none. */
  #listen() {
    if (this.#abort && Date.now() - this.#heard > SILENT) this.#abort.abort();
  }

  async #open() {
    const abort = this.#abort = new AbortController();
    this.#heard = Date.now();
    let words = "the connection has ended";
    try {
      const answer = await ask(this.#path, this.#token, abort.signal);
      if (!answer.ok) return this.#refused(answer.status, await wordsOf(answer));
      this.#told("live", "");
      words = await this.#read(answer.body.getReader()) ?? words;
    } catch (error) {
      words = abort.signal.aborted ? "the connection was idle" : `the operator cannot be reached (${error.message})`;
    } finally {
      if (this.#abort === abort) this.#abort = null;
    }
    this.#later(words);
  }

  #refused(status, words) {
    this.#abort = null;
    if (this.#closed) return;
    if (status === 401) return this.#told("token", words);
    if (status === 403 || status === 404) {
      this.#told("refused", words);
      this.#wait = SLOWEST;
    }
    this.#later(words, status === 403 || status === 404);
  }

  #later(words, quiet = false) {
    if (this.#closed || document.hidden) return;
    if (!quiet) this.#told("waiting", words);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(SLOWEST, this.#wait * 2);
  }

  /** Read to the end; what the server said of it. */
  async #read(reader) {
    const decoder = new TextDecoder();
    let rest = "", words = null;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return words;
      this.#heard = Date.now();
      rest += decoder.decode(value, { stream: true });
      if (rest.length > LONGEST) throw new Error("an event is too long");
      const events = rest.split("\n\n");
      rest = events.pop();
      for (const event of events) words = this.#take(event) ?? words;
    }
  }

  #take(event) {
    const found = /^event: (\w+)\ndata: ([^\n]*)$/.exec(event);
    if (!found || this.#closed) return null;
    this.#wait = QUICKEST;
    const value = JSON.parse(found[2]);
    if (found[1] === "bye") return value.error;
    this.#on[found[1]]?.(value);
    return null;
  }
}
