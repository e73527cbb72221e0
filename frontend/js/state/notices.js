/** @import { Signal } from "../lib.js" */
/** @import { ServerFrame } from "../protocol.d.ts" */

import { signal } from "../lib.js";

/**
 * @typedef {object} Notice
 * @property {string} text
 * @property {boolean} [reload]  whether reloading the page is the remedy
 * @property {() => void} [undo]  takes back what the notice tells of
 * @property {boolean} [done]  it tells of something that went well
 * @property {string} [chat]  the id of a chat to open
 * @property {string} [about]  what it is about, of which only the newest is told
 */

const DONE_MS = 10_000;

/** What went wrong, or was done, and belongs to no message. */
export class Notices {
  /** @type {Signal<readonly Notice[]>} */
  shown = signal([]);
  /** Why nothing can be kept just now, "" where all is well. */
  unkept = signal("");

  /**
   * @param {string} text
   * @param {{reload?: boolean}} [options]
   */
  add(text, { reload = false } = {}) {
    if (this.shown.peek().some((notice) => notice.text === text)) return;
    this.shown.value = [...this.shown.peek(), { text, reload }];
  }

  /**
   * Tell of something that can be taken back for a while.
   *
   * @param {string} text
   * @param {() => void} undo
   * @param {{about?: string, stays?: boolean}} [options]
   *   about: what was told of the same before is dismissed; stays: until it is dismissed
   */
  offerUndo(text, undo, { about = text, stays = false } = {}) {
    this.forget(about);
    /** @type {Notice} */
    const notice = { text, about, done: true, undo: () => (this.dismiss(notice), undo()) };
    if (stays) this.#show(notice);
    else this.#showForAWhile(notice);
  }

  /** Show what was said of a chat, with a way to it. @param {string} text @param {string} chat */
  offerChat(text, chat) {
    this.forget(chat);
    this.#showForAWhile({ text, chat, about: chat, done: true });
  }

  /** Tell of something that went well. @param {string} text */
  tell(text) {
    this.#showForAWhile({ text, done: true });
  }

  /** @param {Notice} notice */
  #show(notice) {
    this.shown.value = [...this.shown.peek().filter(({ text }) => text !== notice.text), notice];
  }

  /** @param {Notice} notice */
  #showForAWhile(notice) {
    this.#show(notice);
    setTimeout(() => this.dismiss(notice), DONE_MS);
  }

  /**
   * Whether something could be kept, as far as a frame tells.
   *
   * @param {ServerFrame} frame
   * @param {boolean} temporary  whether it may be of a chat that is not kept in any case
   */
  hear(frame, temporary) {
    if (frame.type === "storage") this.unkept.value = frame.problem;
    if (frame.type === "hello") this.unkept.value = "";
    if (temporary) return;
    if (frame.type === "error") {
      if (frame.code === "storage_failed") this.unkept.value = frame.message;
      return;
    }
    const kept = frame.type === "accepted" || frame.type === "turn_start" || (frame.type === "turn_end" && frame.status !== "error");
    if (kept) this.unkept.value = "";
  }

  askForReload() {
    this.add("Fireside was updated. Reload the page to go on with the new version.", { reload: true });
  }

  /** Dismiss what was told of something that is otherwise now. @param {string} about */
  forget(about) {
    this.shown.value = this.shown.peek().filter((notice) => notice.about !== about);
  }

  /** @param {Notice} notice */
  dismiss(notice) {
    this.shown.value = this.shown.peek().filter((other) => other !== notice);
  }
}
