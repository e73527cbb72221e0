import { signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/** What stands in the composer of each chat, kept over reloads except in temporary chats. */
export class Drafts {
  /** Rises when a draft was set from outside the composer. */
  version = signal(0);

  #shelf = new Shelf("localStorage", "draft");
  /** @type {Map<string, string>} drafts of temporary chats */
  #passing = new Map();

  /** @param {string | null} chat */
  get(chat) {
    const key = chat ?? "new";
    return this.#passing.get(key) ?? this.#shelf.get(key);
  }

  /**
   * Keep what is being typed.
   *
   * @param {string | null} chat
   * @param {string} text
   * @param {{shelved?: boolean}} [options]  shelved: false for a chat that leaves no trace
   */
  keep(chat, text, { shelved = true } = {}) {
    const key = chat ?? "new";
    if (shelved || !text) this.#passing.delete(key);
    else this.#passing.set(key, text);
    if (shelved || !text) this.#shelf.set(text, key);
  }

  /**
   * The chat's id changed while something was being typed.
   *
   * @param {string | null} from
   * @param {string | null} to
   */
  move(from, to) {
    this.keep(to, this.get(from), { shelved: !this.#passing.has(from ?? "new") });
    this.keep(from, "");
  }

  /**
   * Put a text into the composer.
   *
   * @param {string | null} chat
   * @param {string} text
   */
  set(chat, text) {
    this.keep(chat, text);
    this.version.value += 1;
  }
}
