/** @import { Signal } from "../lib.js" */
/** @import { Page } from "../net/memory_api.js" */

import { batch, signal } from "../lib.js";
import { RouteError, reasonOf } from "../net/answers.js";
import { askPage } from "../net/memory_api.js";

/** One article that is being read. */
export class OpenArticle {
  /** @type {Signal<"loading" | "shown" | "missing" | "failed">} */
  phase = signal("loading");
  /** @type {Signal<Page | null>} */
  page = signal(null);
  /** Why it is missing or could not be read. */
  error = signal("");
  /** @type {Signal<readonly string[]>} names that may be meant by one that is missing */
  near = signal([]);

  /** @param {string} name  as the address has it */
  constructor(name) {
    this.name = name;
  }

  /** Read it, or read it again: what is shown stays where Fireside does not answer. */
  async load() {
    try {
      const page = await askPage(this.name);
      const same = page.hash === this.page.peek()?.hash && this.phase.peek() === "shown";
      // Others may have written the articles that it links to.
      if (!same || JSON.stringify(page) !== JSON.stringify(this.page.peek())) this.#show("shown", page, "", []);
    } catch (error) {
      const missing = error instanceof RouteError && (error.status === 404 || error.status === 400);
      if (missing) this.#show("missing", null, error.message, error.body?.near ?? []);
      else if (!this.page.peek()) this.#show("failed", null, reasonOf(error), []);
    }
  }

  /** Try again after a failure. */
  retry() {
    this.phase.value = "loading";
    return this.load();
  }

  /**
   * @param {"shown" | "missing" | "failed"} phase
   * @param {Page | null} page
   * @param {string} error
   * @param {readonly string[]} near
   */
  #show(phase, page, error, near) {
    batch(() => {
      this.page.value = page;
      this.error.value = error;
      this.near.value = near;
      this.phase.value = phase;
    });
  }
}
