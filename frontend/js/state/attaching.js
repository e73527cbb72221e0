/** @import { Attachment } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { Shelf } from "../dom/storage.js";
import { RouteError, askRoute, reasonOf } from "../net/answers.js";
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
 * @property {Attachment | null} attachment  null until Fireside has it
 * @property {boolean} ready  it can be sent: Fireside has it, and has read it
 * @property {Reading | null} reading  of a PDF, while its text is read
 * @property {string} error
 */

/**
 * How far a PDF has been read.
 *
 * @typedef {{state: "reading" | "read" | "failed", read: number, pages: number | null, error: string}} Reading
 */

/** Files on their way to Fireside. They are sent with a message by their hash, and kept with its draft over reloads. */
export class Attaching {
  /** @type {Signal<readonly Upload[]>} */
  uploads = signal([]);
  #keys = 0;
  #shelf = new Shelf("localStorage", "files");
  /** @type {Set<string | null>} chats whose kept files are on the list */
  #restored = new Set();

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

  /** Take files off the list: they were sent, or are not to be. @param {readonly Upload[]} files */
  remove(files) {
    const keys = files.map((file) => file.key);
    this.uploads.value = this.uploads.peek().filter((upload) => !keys.includes(upload.key));
    files.forEach((file) => this.#keep(file.chat));
  }

  /** Put on the list what was attached before the page was loaded. @param {string | null} chat */
  restore(chat) {
    if (this.#restored.has(chat)) return;
    this.#restored.add(chat);
    for (const attachment of JSON.parse(this.#shelf.get(chat ?? "new") || "[]")) void this.#lookFor(chat, attachment);
  }

  /**
   * @param {string | null} chat
   * @param {Attachment} attachment  which Fireside had, and may have removed since
   */
  async #lookFor(chat, attachment) {
    const key = this.#put(chat, attachment, attachment);
    try {
      await this.#read(key, attachment);
    } catch (error) {
      const gone = error instanceof RouteError && error.status === 404;
      this.#change(key, { error: gone ? "Fireside no longer has this file; attach it again." : reasonOf(error) });
    }
  }

  /**
   * @param {string | null} chat
   * @param {File} file
   */
  async #upload(chat, file) {
    const key = this.#put(chat, file);
    const body = new FormData();
    body.append("file", file);
    try {
      const attachment = await askRoute("/api/attachments", { method: "POST", body });
      this.#change(key, { attachment, ready: !isPdf(attachment) });
      this.#keep(chat);
      if (isPdf(attachment)) await this.#read(key, attachment);
    } catch (error) {
      this.#change(key, { error: reasonOf(error) });
    }
  }

  /**
   * @param {string | null} chat
   * @param {{name: string, size: number}} file
   * @param {Attachment | null} [attachment]
   */
  #put(chat, { name, size }, attachment = null) {
    const key = (this.#keys += 1);
    const upload = { key, chat, name, size, attachment, ready: false, reading: null, error: "" };
    this.uploads.value = [...this.uploads.peek(), upload];
    return key;
  }

  /** @param {string | null} chat */
  #keep(chat) {
    const there = this.of(chat).flatMap((upload) => upload.attachment ?? []);
    this.#shelf.set(there.length ? JSON.stringify(there) : "", chat ?? "new");
  }

  /**
   * Wait until a PDF has been read, or taken off the list.
   *
   * @param {number} key
   * @param {Attachment} attachment
   */
  async #read(key, attachment) {
    while (this.uploads.peek().some((upload) => upload.key === key)) {
      /** @type {Reading} */
      const reading = await askRoute(`/api/attachments/${attachment.sha256}/reading`);
      const { state, pages, error } = reading;
      this.#change(key, { attachment: { ...attachment, pages }, ready: state === "read", reading, error });
      if (state !== "reading") return;
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
