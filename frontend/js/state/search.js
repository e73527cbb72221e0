/** @import { Signal } from "../lib.js" */

import { batch, effect, signal } from "../lib.js";
import { askRoute, reasonOf } from "../net/answers.js";

/**
 * A place that was found; see `GET /api/search`.
 *
 * @typedef {object} Hit
 * @property {"title" | "message" | "reasoning" | "tool" | "attachment" | "memory"} kind
 * @property {string | null} session_id
 * @property {string | null} session_title
 * @property {string | null} message_id
 * @property {string | null} name
 * @property {string | null} [heading]
 * @property {boolean} archived
 * @property {string} snippet  HTML: everything is escaped, what was found is in `<mark>`
 *
 * @typedef {{session_id: string, message_id: string}} Target
 */

const PAUSE_MS = 150;

/** Looks for what is typed. The newest text wins: what was asked before is neither waited for nor shown. */
export class Search {
  /** @type {Signal<readonly Hit[]>} */
  hits = signal([]);
  /** What the person should know about them. */
  note = signal("");
  /** There is no answer to what is typed; `note` says why. */
  failed = signal(false);
  busy = signal(false);
  /** @type {Signal<Target | null>} the message to be shown as soon as its chat is */
  target = signal(null);

  #latest = new AbortController();
  #timer = 0;
  #query;
  #kinds;
  /** Fireside ends this one's older search when a newer one comes. */
  #client = `page-${Math.random().toString(36).slice(2)}`;

  /** @param {Signal<string>} query @param {string} kinds  with commas */
  constructor(query, kinds) {
    this.#query = query;
    this.#kinds = kinds;
    effect(() => this.#schedule(query.value.trim()));
  }

  /** Look once more for what could not be looked for. */
  again() {
    this.#schedule(this.#query.peek().trim());
  }

  /** @param {string} query */
  #schedule(query) {
    clearTimeout(this.#timer);
    this.#latest.abort();
    this.busy.value = query !== "";
    if (query) this.#timer = setTimeout(() => void this.#look(query), PAUSE_MS);
    else this.#show([], "");
  }

  /** @param {string} query */
  async #look(query) {
    const { signal: aborted } = (this.#latest = new AbortController());
    try {
      const parameters = new URLSearchParams({ q: query, kind: this.#kinds, client: this.#client });
      const { hits, note } = await askRoute(`/api/search?${parameters}`, { signal: aborted });
      if (!aborted.aborted) this.#show(hits, note ?? "");
    } catch (error) {
      if (!aborted.aborted) this.#show([], reasonOf(error), true);
    }
  }

  /**
   * @param {readonly Hit[]} hits
   * @param {string} note
   * @param {boolean} [failed]
   */
  #show(hits, note, failed = false) {
    batch(() => {
      this.hits.value = hits;
      this.note.value = note;
      this.failed.value = failed;
      this.busy.value = false;
    });
  }
}
