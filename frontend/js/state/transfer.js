/** @import { Notices } from "./notices.js" */
/** @import { Router } from "./router.js" */

import { askRoute, reasonOf } from "../net/answers.js";
import { importWords } from "../text/transfer_words.js";

/**
 * What became of imported files; see `POST /api/sessions/import`.
 *
 * @typedef {object} Outcome
 * @property {{id: string, title: string, messages: number}[]} imported
 * @property {{title: string, why: string}[]} skipped
 */

/** How long the browser may need to take a file over. */
const TAKEN_MS = 60_000;

/** Chats as files, out of Fireside and into it. */
export class Transfer {
  #notices;
  #router;

  /** @param {{notices: Notices, router: Router}} parts */
  constructor({ notices, router }) {
    this.#notices = notices;
    this.#router = router;
  }

  /** @param {string} id @param {"markdown" | "json"} format */
  exportChat(id, format) {
    return this.#download(new URLSearchParams({ id, format }), "The chat");
  }

  /** All chats, archived ones too, in a zip that `importFiles` takes. */
  exportAll() {
    return this.#download(new URLSearchParams({ all: "1", format: "json" }), "The chats");
  }

  /** Let the person choose files to import. */
  pick() {
    const picker = document.createElement("input");
    picker.type = "file";
    picker.multiple = true;
    picker.accept = ".json,.zip,application/json,application/zip";
    picker.addEventListener("change", () => void this.importFiles([...(picker.files ?? [])]));
    picker.click();
  }

  /** Tells what became of each. One chat alone is shown. @param {readonly File[]} files */
  async importFiles(files) {
    if (files.length === 0) return;
    const form = new FormData();
    files.forEach((file) => form.append("file", file, file.name));
    try {
      const outcome = /** @type {Outcome} */ (
        await askRoute("/api/sessions/import", { method: "POST", body: form })
      );
      const { text, good } = importWords(outcome);
      if (good) this.#notices.tell(text);
      else this.#notices.add(text);
      const [only, ...more] = outcome.imported;
      if (only && more.length === 0) this.#router.go(only.id);
    } catch (error) {
      this.#notices.add(`Nothing was imported. ${reasonOf(error)}`);
    }
  }

  /** @param {URLSearchParams} parameters @param {string} what */
  async #download(parameters, what) {
    try {
      const response = await fetch(`/api/sessions/export?${parameters}`, { cache: "no-store" });
      if (!response.ok) throw new Error((await response.json()).error.message);
      save(await response.blob(), nameOf(response.headers.get("Content-Disposition") ?? ""));
    } catch (error) {
      const why = error instanceof TypeError ? "Fireside does not answer." : String(/** @type {Error} */ (error).message);
      this.#notices.add(`${what} could not be exported. ${why}`);
    }
  }
}

/** @param {string} disposition  a response's header */
function nameOf(disposition) {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  return encoded ? decodeURIComponent(encoded) : (/filename="([^"]+)"/.exec(disposition)?.[1] ?? "fireside");
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), TAKEN_MS);
}
