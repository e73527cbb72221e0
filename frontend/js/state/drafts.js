import { signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/** What stands in the composer of each chat, kept over reloads. */
export class Drafts {
  /** Rises when a draft was set from outside the composer. */
  version = signal(0);

  #shelf = new Shelf("localStorage", "draft");

  /** @param {string | null} chat */
  get(chat) {
    return this.#shelf.get(chat ?? "new");
  }

  /**
   * Keep what is being typed.
   *
   * @param {string | null} chat
   * @param {string} text
   */
  keep(chat, text) {
    this.#shelf.set(text, chat ?? "new");
  }

  /**
   * The chat's id changed while something was being typed.
   *
   * @param {string | null} from
   * @param {string | null} to
   */
  move(from, to) {
    this.keep(to, this.get(from));
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
