/** @import { Attachment, SessionSettings } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/**
 * How a prompt is asked, beyond its text; see the frame `prompt`.
 *
 * @typedef {object} Manner
 * @property {string | null} [after]
 * @property {boolean} [first]
 * @property {boolean} [steer]
 * @property {readonly Attachment[]} [attachments]
 *
 * A prompt that the server has not confirmed yet.
 *
 * @typedef {object} Entry
 * @property {string} client_id
 * @property {string | null} session_id  null until the chat it opens has an id
 * @property {string} text
 * @property {string | null} error  why it failed; it waits for Retry then
 * @property {Manner} [manner]
 * @property {boolean} [temporary]  of a chat that it opens
 * @property {SessionSettings} [settings]  of a chat that it opens
 */

/** Prompts on their way. They survive a reload: what was typed is never lost. */
export class Outbox {
  // Per tab on purpose: two tabs that share a list would each open a new chat for the same prompt.
  #shelf = new Shelf("sessionStorage", "outbox");
  /** @type {Signal<readonly Entry[]>} */
  entries = signal(JSON.parse(this.#shelf.get() || "[]"));

  /**
   * @param {string | null} session_id
   * @param {string} text
   * @param {Pick<Entry, "manner" | "temporary" | "settings">} [rest]
   */
  add(session_id, text, rest = {}) {
    this.#save([...this.entries.peek(), { client_id: newId(), session_id, text, error: null, ...rest }]);
  }

  /** @param {string} client_id */
  find(client_id) {
    return this.entries.peek().find((entry) => entry.client_id === client_id);
  }

  /** @param {string | null} session_id */
  of(session_id) {
    return this.entries.peek().filter((entry) => entry.session_id === session_id);
  }

  /** @param {ReadonlySet<string | null | undefined>} client_ids */
  remove(client_ids) {
    if (this.entries.peek().some((entry) => client_ids.has(entry.client_id))) {
      this.#save(this.entries.peek().filter((entry) => !client_ids.has(entry.client_id)));
    }
  }

  /**
   * @param {string} client_id
   * @param {string | null} error  null: to be sent again
   */
  mark(client_id, error) {
    this.#update((entry) => entry.client_id === client_id, { error });
  }

  /**
   * @param {string | null} from
   * @param {string | null} to
   */
  move(from, to) {
    this.#update((entry) => entry.session_id === from, { session_id: to });
  }

  /**
   * @param {(entry: Entry) => boolean} matches
   * @param {Partial<Entry>} change
   */
  #update(matches, change) {
    this.#save(this.entries.peek().map((entry) => (matches(entry) ? { ...entry, ...change } : entry)));
  }

  /** @param {readonly Entry[]} entries */
  #save(entries) {
    this.entries.value = entries;
    this.#shelf.set(entries.length ? JSON.stringify(entries) : "");
  }
}

/** `crypto.randomUUID` exists only in a secure context, which plain http to another machine is not. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
