/** @import { Signal } from "../lib.js" */

import { effect, signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/** @typedef {"auto" | "light" | "dark"} Choice */

/** Light, dark, or what the system says. `theme_early.js` applies the kept choice before the first paint. */
export class Theme {
  /** @type {Choice[]} */
  static choices = ["auto", "light", "dark"];

  #shelf = new Shelf("localStorage", "theme");
  /** @type {Signal<Choice>} */
  choice = signal(Theme.choices.find((choice) => choice === this.#shelf.get()) ?? "auto");

  constructor() {
    effect(() => {
      const choice = this.choice.value;
      document.documentElement.dataset.theme = choice;
      this.#shelf.set(choice === "auto" ? "" : choice);
      tintWindow();
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tintWindow);
  }
}

/** The title bar of an installed page, or of a phone's browser, takes the page's colour. */
function tintWindow() {
  const tint = document.querySelector("meta[name=theme-color]");
  tint?.setAttribute("content", getComputedStyle(document.body).backgroundColor);
}
