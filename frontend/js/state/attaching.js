/** @import { Attachment } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { askRoute, reasonOf } from "../net/answers.js";

/**
 * A file that is to go with the next message of a chat.
 *
 * @typedef {object} Upload
 * @property {number} key
 * @property {string | null} chat
 * @property {string} name
 * @property {number} size
 * @property {Attachment | null} attachment  null until Fireside has it
 * @property {string} error
 */

/** Files on their way to Fireside. They are sent with a message by their hash. */
export class Attaching {
  /** @type {Signal<readonly Upload[]>} */
  uploads = signal([]);
  #keys = 0;

  /** @param {string | null} chat */
  of(chat) {
    return this.uploads.value.filter((upload) => upload.chat === chat);
  }

  /**
   * @param {string | null} chat
   * @param {Iterable<File>} files
   */
  add(chat, files) {
    for (const file of files) void this.#upload(chat, file);
  }

  /** @param {number} key */
  remove(key) {
    this.uploads.value = this.uploads.peek().filter((upload) => upload.key !== key);
  }

  /**
   * @param {string | null} chat
   * @returns {Attachment[] | null} what goes with the message that is sent now; null while some are on their way
   */
  take(chat) {
    const own = this.of(chat).filter((upload) => !upload.error);
    const there = own.flatMap((upload) => upload.attachment ?? []);
    if (there.length < own.length) return null;
    this.uploads.value = this.uploads.peek().filter((upload) => upload.chat !== chat);
    return there;
  }

  /**
   * @param {string | null} chat
   * @param {File} file
   */
  async #upload(chat, file) {
    const key = (this.#keys += 1);
    const upload = { key, chat, name: file.name, size: file.size, attachment: null, error: "" };
    this.uploads.value = [...this.uploads.peek(), upload];
    const body = new FormData();
    body.append("file", file);
    try {
      this.#change(key, { attachment: await askRoute("/api/attachments", { method: "POST", body }) });
    } catch (error) {
      this.#change(key, { error: reasonOf(error) });
    }
  }

  /**
   * @param {number} key
   * @param {Partial<Upload>} change
   */
  #change(key, change) {
    this.uploads.value = this.uploads.peek().map((upload) => (upload.key === key ? { ...upload, ...change } : upload));
  }
}
