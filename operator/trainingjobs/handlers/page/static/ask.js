// Questions to the operator, with the token: answers are never kept, and no cookie goes with them.

/** The answer to one. */
export function ask(path, token, signal) {
  return fetch(new URL(path, document.baseURI), {
    headers: { Authorization: `Bearer ${token}` }, signal, credentials: "omit", cache: "no-store", redirect: "error",
  });
}

/** What a refusal says. */
export async function wordsOf(answer) {
  try {
    return (await answer.json()).error ?? answer.statusText;
  } catch {
    return answer.statusText;
  }
}

const SOON = 2;

/** The same question again and again while somebody looks; each once the one before is answered. */
export class Asking {
  #path; #token; #seconds; #told; #abort = new AbortController(); #timer = null; #hurry = false;

  /** `told(value, words, gone)` with what is answered, or why nothing is, and if that is so for good. */
  constructor(path, token, seconds, told) {
    this.#path = path; this.#token = token; this.#seconds = seconds; this.#told = told;
    this.#ask();
  }

  close() {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  /** Do not wait as long as usual: something has happened. All that does until then is one. */
  soon() {
    if (this.#hurry) return;
    this.#hurry = true;
    if (this.#timer !== null) this.#later(SOON);
  }

  #later(seconds) {
    clearTimeout(this.#timer);
    if (!this.#abort.signal.aborted) this.#timer = setTimeout(() => this.#ask(), 1000 * seconds);
  }

  async #ask() {
    let patience = this.#seconds;
    this.#timer = null;
    this.#hurry = false;
    if (!document.hidden) {
      try {
        const answer = await ask(this.#path, this.#token, this.#abort.signal);
        const gone = [401, 403, 404].includes(answer.status);
        const found = answer.ok ? [await answer.json(), "", false] : [null, await wordsOf(answer), gone];
        if (!this.#abort.signal.aborted) this.#told(...found);
        if (!answer.ok) patience *= 3;
      } catch (error) {
        if (!this.#abort.signal.aborted) this.#told(null, `the operator cannot be reached (${error.message})`, false);
      }
    }
    // who was refused is in no hurry
    this.#later(this.#hurry && patience === this.#seconds ? SOON : patience);
  }
}
