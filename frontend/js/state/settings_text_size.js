import { effect, signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/** @typedef {"small" | "normal" | "large" | "larger"} TextSize */

/** @type {readonly TextSize[]} */
export const TEXT_SIZES = ["small", "normal", "large", "larger"];



/** How large all of the page is drawn in this browser. `theme_early.js` applies it before the first paint. */
export class TextSizeChoice {
  #shelf = new Shelf("localStorage", "text_size");
  choice = signal(TEXT_SIZES.find((size) => size === this.#shelf.get()) ?? "normal");
  /** Ends the watch. */
  close = effect(() => {
    const chosen = this.choice.value;
    for (const size of TEXT_SIZES) document.documentElement.classList.toggle(`text-${size}`, size === chosen && size !== "normal");
    this.#shelf.set(chosen === "normal" ? "" : chosen);
  });
}
