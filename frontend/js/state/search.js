/** @import { Signal } from "../lib.js" */

import { effect, signal } from "../lib.js";
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
 * @property {boolean} archived
 * @property {string} snippet  HTML: everything is escaped, what was found is in `<mark>`
 *
 * @typedef {{session_id: string, message_id: string}} Target
 */

const PAUSE_MS = 150;
const KINDS = "message,reasoning,tool,attachment";

/** Looks for what is typed in all that was said. */
export class Search {
  /** @type {Signal<readonly Hit[]>} */
  hits = signal([]);
  /** What the person should know about them. */
  note = signal("");
  busy = signal(false);
  /** @type {Signal<Target | null>} the message to be shown as soon as its chat is */
  target = signal(null);

  #latest = new AbortController();
  #timer = 0;

  /** @param {Signal<string>} query */
  constructor(query) {
    effect(() => this.#schedule(query.value.trim()));
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
      const parameters = new URLSearchParams({ q: query, kind: KINDS });
      const { hits, note } = await askRoute(`/api/search?${parameters}`, { signal: aborted });
      if (!aborted.aborted) this.#show(hits, note ?? "");
    } catch (error) {
      if (!aborted.aborted) this.#show([], reasonOf(error));
    }
  }

  /**
   * @param {readonly Hit[]} hits
   * @param {string} note
   */
  #show(hits, note) {
    this.hits.value = hits;
    this.note.value = note;
    this.busy.value = false;
  }
}
