/** @import { Signal } from "../lib.js" */

import { batch, computed, signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";
import { RouteError, reasonOf } from "../net/answers.js";
import { askPage, saveArticle } from "../net/memory_api.js";

/**
 * A text that was not saved, and the article that it was made from.
 *
 * @typedef {{text: string, before: string, before_hash: string}} Unsaved
 * @typedef {{words: string, diff: string, text: string | null, before_hash: string}} Conflict
 *   text: of the article as it is now; null where it was deleted
 */

const SHELF = new Shelf("localStorage", "memory");
const NEW = ".new";

/** What was typed for an article and never saved. @param {string} name @returns {Unsaved | null} */
export function unsavedOf(name) {
  try {
    const kept = JSON.parse(SHELF.get(name || NEW) || "null");
    return kept && typeof kept.text === "string" && typeof kept.before_hash === "string" ? kept : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** @param {string} name */
export const dropUnsaved = (name) => SHELF.set("", name || NEW);

/** What was typed for an article goes with its name. @param {string} name @param {string} new_name */
export function moveUnsaved(name, new_name) {
  if (name === new_name || !unsavedOf(name)) return;
  SHELF.set(SHELF.get(name), new_name);
  dropUnsaved(name);
}

/** A text that the person edits; every change is kept in the browser until it is saved. */
export class ArticleEdit {
  /** @type {Signal<string>} */
  text;
  busy = signal(false);
  error = signal("");
  /** @type {Signal<Conflict | null>} somebody else has changed the article */
  conflict = signal(null);
  changed = computed(() => this.text.value !== this.#before.value);

  /** @type {Signal<string>} */
  #before;
  #hash;
  #key;
  /** What was put on the shelf last. */
  #kept = "";

  /**
   * @param {string} name  "" for an article that has none yet
   * @param {{text: string, hash: string}} article  as it is read; of a new one both are empty
   * @param {Unsaved} [start]  what stands in the editor at first, where that is another text
   */
  constructor(name, article, start) {
    this.name = name;
    this.#key = name || NEW;
    this.#before = signal(start?.before ?? article.text);
    this.#hash = start?.before_hash ?? article.hash;
    this.text = signal(start?.text ?? article.text);
    if (start) this.#kept = SHELF.get(this.#key);
  }

  /** @param {string} text */
  type(text) {
    this.text.value = text;
    this.#keep();
  }

  /**
   * @param {string} [name]  of a new article
   * @returns {Promise<string>} the name under which it is saved, "" when it is not
   */
  save(name = this.name) {
    return this.#save(name, this.#hash);
  }

  /** Save over what somebody else wrote, as the shown difference says. */
  overwrite(name = this.name) {
    return this.#save(name, this.conflict.peek()?.before_hash ?? this.#hash);
  }

  /** Go on with what somebody else wrote instead. */
  takeTheirs() {
    const theirs = this.conflict.peek();
    if (!theirs) return;
    batch(() => {
      this.#before.value = this.text.value = theirs.text ?? "";
      this.#hash = theirs.before_hash;
      this.conflict.value = null;
    });
    this.#forget();
  }

  /** @param {string} name @param {string} hash */
  async #save(name, hash) {
    const text = this.text.peek();
    this.busy.value = true;
    this.error.value = "";
    try {
      const saved = await saveArticle(name, text, hash);
      this.#saved(text, saved.hash);
      return saved.name;
    } catch (error) {
      await this.#failed(error, name, text);
      return "";
    } finally {
      this.busy.value = false;
    }
  }

  /** @param {string} text @param {string} hash */
  #saved(text, hash) {
    this.conflict.value = null;
    this.#before.value = text;
    this.#hash = hash;
    this.#keep();
  }

  /** @param {unknown} error @param {string} name @param {string} text */
  async #failed(error, name, text) {
    if (!(error instanceof RouteError)) {
      this.error.value = `${reasonOf(error)} Your text is kept in this browser; save it when Fireside is back.`;
      return;
    }
    const { body } = error;
    if (error.status === 409 && typeof body?.diff === "string") {
      this.conflict.value = { words: error.message, diff: body.diff, text: body.text, before_hash: body.before_hash };
      return;
    }
    this.error.value = error.message;
    if (error.status === 409) await this.#lookAgain(name, text);
  }

  /**
   * Where git refused, the text may be on the disk nevertheless: saving it again is no conflict then.
   *
   * @param {string} name
   * @param {string} text
   */
  async #lookAgain(name, text) {
    try {
      const now = await askPage(name);
      if (now.text === text) this.#hash = now.hash;
    } catch (error) {
      if (!(error instanceof RouteError || error instanceof TypeError)) throw error;
    }
  }

  #keep() {
    const kept = { text: this.text.peek(), before: this.#before.peek(), before_hash: this.#hash };
    if (kept.text === kept.before) return this.#forget();
    this.#kept = JSON.stringify(kept);
    return SHELF.set(this.#kept, this.#key);
  }

  /** Another tab may keep a text of its own under the same name: that one stays. */
  #forget() {
    if (SHELF.get(this.#key) === this.#kept) SHELF.set("", this.#key);
  }
}
