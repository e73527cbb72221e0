/** @import { Signal } from "../lib.js" */
/** @import { Summary } from "../net/memory_api.js" */

import { signal } from "../lib.js";
import { RouteError } from "../net/answers.js";
import { askText } from "../net/memory_api.js";
import { excerpt } from "../text/excerpt.js";

const CHARACTERS = 180;

/** How articles begin; what was read once is read again only after a change. */
export class Excerpts {
  /** @type {Signal<ReadonlyMap<string, string>>} by the article's name */
  shown = signal(new Map());
  /** @type {Map<string, number>} when those that were asked for were changed */
  #asked = new Map();

  /** @param {readonly Summary[]} articles */
  async load(articles) {
    await Promise.all(articles.filter(({ name, modified_at }) => this.#asked.get(name) !== modified_at).map((article) => this.#read(article)));
  }

  /** @param {Summary} article */
  async #read({ name, modified_at }) {
    this.#asked.set(name, modified_at);
    try {
      const words = excerpt(await askText(name), CHARACTERS);
      this.shown.value = new Map(this.shown.peek()).set(name, words);
    } catch (error) {
      // Its title stands alone then.
      if (!(error instanceof RouteError) && !(error instanceof TypeError)) throw error;
      this.#asked.delete(name);
    }
  }
}
