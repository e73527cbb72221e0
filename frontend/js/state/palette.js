import { batch, signal } from "../lib.js";
import { Search } from "./search.js";

/**
 * A question that an action asks in the palette.
 *
 * @typedef {{label: string, answer: (text: string) => unknown}} Question
 */

/** Where everything can be found and done by its name: what is typed, and what of the list is chosen. */
export class Palette {
  open = signal(false);
  query = signal("");
  /** The key of the row that Enter takes; "" for the first. */
  active = signal("");
  /** @type {import("../lib.js").Signal<Question | null>} */
  question = signal(null);
  /** What is looked for; nothing while a question is answered. */
  #sought = signal("");
  search = new Search(this.#sought, "message,reasoning,tool,attachment,memory");

  toggle() {
    if (this.open.peek()) this.close();
    else this.open.value = true;
  }

  close() {
    batch(() => {
      this.open.value = false;
      this.question.value = null;
      this.type("");
    });
  }

  /** @param {string} text */
  type(text) {
    batch(() => {
      this.query.value = text;
      this.active.value = "";
      this.#sought.value = this.question.peek() ? "" : text;
    });
  }

  /**
   * Stay open, or open, for a line of text.
   *
   * @param {string} label
   * @param {string} before  what stands there to be edited
   * @param {(text: string) => unknown} answer  not called for an empty text, or the same
   */
  ask(label, before, answer) {
    batch(() => {
      this.question.value = { label, answer: (text) => text.trim() && text.trim() !== before && answer(text.trim()) };
      this.type(before);
      this.open.value = true;
    });
  }
}
