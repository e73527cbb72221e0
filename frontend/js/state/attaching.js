/** @import { Attachment } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { askRoute, reasonOf } from "../net/answers.js";
import { isPdf } from "../text/file_words.js";

/** Between two looks at how far a PDF has been read. */
const LOOK_MS = 300;

/**
 * A file that is to go with the next message of a chat.
 *
 * @typedef {object} Upload
 * @property {number} key
 * @property {string | null} chat
 * @property {string} name
 * @property {number} size
 * @property {Attachment | null} attachment  null until Fireside has it, and has read it
 * @property {Reading | null} reading  of a PDF, while its text is read
 * @property {string} error
 */

/**
 * How far a PDF has been read.
 *
 * @typedef {{state: "reading" | "read" | "failed", read: number, pages: number | null, error: string}} Reading
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
    const upload = { key, chat, name: file.name, size: file.size, attachment: null, reading: null, error: "" };
    this.uploads.value = [...this.uploads.peek(), upload];
    const body = new FormData();
    body.append("file", file);
    try {
      const attachment = await askRoute("/api/attachments", { method: "POST", body });
      const pages = isPdf(attachment) ? await this.#read(key, attachment.sha256) : null;
      this.#change(key, { attachment: { ...attachment, pages } });
    } catch (error) {
      this.#change(key, { error: reasonOf(error) });
    }
  }

  /**
   * Wait until a PDF has been read, or taken off the list.
   *
   * @param {number} key
   * @param {string} sha256
   * @returns {Promise<number | null>} its pages
   */
  async #read(key, sha256) {
    for (;;) {
      /** @type {Reading} */
      const reading = await askRoute(`/api/attachments/${sha256}/reading`);
      if (reading.state === "failed") this.#change(key, { error: reading.error });
      if (reading.state !== "reading" || !this.uploads.peek().some((upload) => upload.key === key)) return reading.pages;
      this.#change(key, { reading });
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
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
