/** @import { Parameter } from "./document.js" */

import { batch, signal } from "../lib.js";

const SHOWN_CHARACTERS = 400_000;

/**
 * The URL of a request, with what was filled in.
 *
 * @param {string} path
 * @param {readonly Parameter[]} parameters
 * @param {Readonly<Record<string, string>>} values
 */
export function urlOf(path, parameters, values) {
  const filled = parameters
    .filter((parameter) => parameter.in === "path")
    .reduce((text, { name }) => text.replace(`{${name}}`, encodeURIComponent(values[name] || `{${name}}`)), path);
  const query = parameters
    .filter(({ in: place, name }) => place === "query" && values[name])
    .map(({ name }) => `${encodeURIComponent(name)}=${encodeURIComponent(values[name] ?? "")}`);
  return filled + (query.length ? `?${query.join("&")}` : "");
}

/** One request at a time, and what came of it so far. */
export class Sending {
  running = signal(false);
  /** In words: the status, or why there is none. */
  status = signal("");
  failed = signal(false);
  headers = signal("");
  text = signal("");
  /** @type {AbortController | null} */
  #abort = null;

  /** @param {{method: string, url: string, body: string, key: string}} request */
  async send({ method, url, body, key }) {
    this.stop();
    const abort = (this.#abort = new AbortController());
    batch(() => {
      this.running.value = true;
      this.failed.value = false;
      this.status.value = "Waiting for the answer…";
      this.headers.value = this.text.value = "";
    });
    /** @type {Record<string, string>} */
    const headers = body ? { "Content-Type": "application/json" } : {};
    if (key) headers.Authorization = `Bearer ${key}`;
    try {
      const answer = await fetch(url, { method, headers, signal: abort.signal, cache: "no-store", ...(body ? { body } : {}) });
      this.#begin(answer);
      await this.#read(answer);
    } catch (error) {
      if (this.#abort === abort) this.#break(abort.signal.aborted, error);
    }
    if (this.#abort === abort) this.running.value = false;
  }

  stop() {
    this.#abort?.abort();
  }

  /** @param {Response} answer */
  #begin(answer) {
    this.status.value = `${answer.status} ${answer.statusText}`.trim();
    this.failed.value = !answer.ok;
    this.headers.value = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  }

  /** @param {Response} answer */
  async #read(answer) {
    const type = answer.headers.get("content-type") ?? "";
    if (type && !/json|text|xml/.test(type)) {
      this.text.value = `(${(await answer.blob()).size} bytes of ${type})`;
      return;
    }
    let whole = "";
    for await (const piece of pieces(answer)) {
      whole += piece;
      this.text.value = whole.slice(0, SHOWN_CHARACTERS);
      if (whole.length > SHOWN_CHARACTERS) {
        this.stop();
        return;
      }
    }
    if (type.includes("json")) this.text.value = pretty(whole);
  }

  /**
   * @param {boolean} wanted
   * @param {unknown} error
   */
  #break(wanted, error) {
    this.failed.value = !wanted;
    this.status.value = [this.headers.value && this.status.value, wanted ? "stopped" : `No answer: ${String(error)}`]
      .filter(Boolean)
      .join(", ");
  }
}

/** @param {Response} answer */
async function* pieces(answer) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not JSON after all: shown as it came.
    return text;
  }
}
