/** @import { Signal } from "../lib.js" */
/** @import { Found } from "../net/memory_api.js" */

import { batch, signal } from "../lib.js";
import { reasonOf } from "../net/answers.js";
import { searchArticles } from "../net/memory_api.js";

const PAUSE_MS = 120;

/** Looks for what is typed in all articles. What was found stays until the next comes, so that nothing flickers. */
export class MemorySearch {
  query = signal("");
  /** @type {Signal<readonly Found[]>} */
  results = signal([]);
  total = signal(0);
  /** @type {Signal<readonly string[]>} the words that were looked for */
  terms = signal([]);
  /** What went wrong. */
  error = signal("");
  /** What is shown belongs to an older query. */
  busy = signal(false);

  #latest = new AbortController();
  #timer = 0;

  /** @param {string} query */
  look(query) {
    this.query.value = query;
    clearTimeout(this.#timer);
    this.#latest.abort();
    if (!query.trim()) return this.#show({ terms: [], total: 0, results: [] });
    this.busy.value = true;
    this.#timer = setTimeout(() => void this.#ask(query), PAUSE_MS);
    return undefined;
  }

  /** @param {string} query */
  async #ask(query) {
    const { signal: aborted } = (this.#latest = new AbortController());
    try {
      const found = await searchArticles(query, aborted);
      if (!aborted.aborted) this.#show(found);
    } catch (error) {
      if (!aborted.aborted) this.#show({ terms: [], total: 0, results: [] }, reasonOf(error));
    }
  }

  /** @param {{terms: string[], total: number, results: Found[]}} found @param {string} [error] */
  #show({ terms, total, results }, error = "") {
    batch(() => {
      this.terms.value = terms;
      this.total.value = total;
      this.results.value = results;
      this.error.value = error;
      this.busy.value = false;
    });
  }
}
