/** @import { Signal } from "../lib.js" */
/** @import { Found, Sort } from "../net/models_api.js" */

import { effect, signal } from "../lib.js";
import { reasonOf } from "../net/answers.js";
import { searchHub } from "../net/models_api.js";

const PAUSE_MS = 300;

/** A search on the hub that follows what is typed and chosen. */
export class HubSearch {
  text = signal("");
  mlx = signal(true);
  /** @type {Signal<Sort>} */
  sort = signal(/** @type {Sort} */ ("downloads"));
  /** @type {Signal<number | null>} the largest size in bytes */
  most = signal(/** @type {number | null} */ (null));

  /** @type {Signal<readonly Found[] | null>} null until something was found out */
  found = signal(/** @type {readonly Found[] | null} */ (null));
  /** Why the last search failed, "" if it did not. */
  error = signal("");
  busy = signal(false);

  #again = signal(0);
  #running = new AbortController();
  /** @type {(() => void) | undefined} */
  #end;

  start() {
    let first = true;
    this.#end = effect(() => {
      const wanted = { text: this.text.value.trim(), mlx: this.mlx.value, sort: this.sort.value, most: this.most.value };
      this.#again.value;
      const timer = setTimeout(() => void this.#search(wanted), first ? 0 : PAUSE_MS);
      first = false;
      return () => clearTimeout(timer);
    });
  }

  close() {
    this.#end?.();
    this.#running.abort();
  }

  again() {
    this.#again.value += 1;
  }

  /** @param {import("../net/models_api.js").Wanted} wanted */
  async #search(wanted) {
    this.#running.abort();
    const running = (this.#running = new AbortController());
    this.busy.value = true;
    try {
      const found = await searchHub(wanted, running.signal);
      if (running.signal.aborted) return;
      this.found.value = found;
      this.error.value = "";
    } catch (error) {
      if (running.signal.aborted) return;
      this.error.value = reasonOf(error);
    } finally {
      if (!running.signal.aborted) this.busy.value = false;
    }
  }
}
