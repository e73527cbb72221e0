/** @import { Signal } from "../lib.js" */

import { computed, effect, signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/** @typedef {"auto" | "light" | "dark"} Choice */

const DARK = window.matchMedia("(prefers-color-scheme: dark)");

/** Light, dark, or what the system says. `theme_early.js` applies the kept choice before the first paint. */
export class Theme {
  /** @type {Choice[]} */
  static choices = ["auto", "light", "dark"];

  #shelf = new Shelf("localStorage", "theme");
  /** @type {Signal<Choice>} */
  choice = signal(Theme.choices.find((choice) => choice === this.#shelf.get()) ?? "auto");

  /** Whether the system's own choice is dark. */
  #system = signal(DARK.matches);
  /** What the page looks like now. */
  dark = computed(() => (this.choice.value === "auto" ? this.#system.value : this.choice.value === "dark"));

  constructor() {
    DARK.addEventListener("change", () => (this.#system.value = DARK.matches));
    effect(() => {
      const choice = this.choice.value;
      document.documentElement.dataset.theme = choice;
      this.#shelf.set(choice === "auto" ? "" : choice);
      tintWindow();
    });
    DARK.addEventListener("change", tintWindow);
  }

  toggle() {
    this.choice.value = this.dark.peek() ? "light" : "dark";
  }
}

/** The title bar of an installed page, or of a phone's browser, takes the page's colour. */
function tintWindow() {
  const tint = document.querySelector("meta[name=theme-color]");
  tint?.setAttribute("content", getComputedStyle(document.body).backgroundColor);
}
