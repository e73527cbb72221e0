/** @import { Signal } from "../lib.js" */

import { batch, signal } from "../lib.js";
import { RouteError, reasonOf } from "../net/answers.js";

/** @typedef {"idle" | "saving" | "saved" | "failed"} Saving */

/** What a person filled in is wrong; the field and why. */
export class FieldError extends Error {
  /** @param {string} field @param {string} message */
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/** How the sending of a form goes. What is in its fields stays whatever happens. */
export class FormState {
  /** @type {Signal<Saving>} */
  saving = signal(/** @type {Saving} */ ("idle"));
  /** What is wrong and belongs to no field. */
  error = signal("");
  /** @type {Signal<Record<string, string>>} what is wrong with a field, by its name */
  errors = signal(/** @type {Record<string, string>} */ ({}));

  #fields;

  /** @param {readonly string[]} fields  that an error can be shown beside */
  constructor(fields) {
    this.#fields = fields;
  }

  /** Something was typed: what was saved is no longer what is there. */
  touch() {
    if (this.saving.peek() !== "saving") this.saving.value = "idle";
  }

  /**
   * @param {() => Promise<unknown>} work  throws a FieldError for what Fireside need not be asked about
   * @returns {Promise<boolean>} whether it was done
   */
  async send(work) {
    if (this.saving.peek() === "saving") return false;
    this.#show("saving", {}, "");
    try {
      await work();
      this.#show("saved", {}, "");
      return true;
    } catch (error) {
      const field = this.#fieldOf(error);
      if (field) this.#show("failed", { [field]: wordsOf(error) }, "");
      else this.#show("failed", {}, wordsOf(error));
      return false;
    }
  }

  /** @param {unknown} error */
  #fieldOf(error) {
    if (error instanceof FieldError) return error.field;
    const named = error instanceof RouteError ? String(error.body?.error?.param ?? "") : "";
    // Fireside may name a part of a body, such as `sampling.top_p`, or begin its sentence with the field.
    const said = error instanceof RouteError ? /^`(\w+)`/.exec(error.message)?.[1] : "";
    const path = (named || said || "").replace(/^\$\./, "").split(/[.[]/);
    return this.#fields.find((field) => field === path.at(-1)) ?? this.#fields.find((field) => field === path[0]);
  }

  /** @param {Saving} saving @param {Record<string, string>} errors @param {string} error */
  #show(saving, errors, error) {
    batch(() => {
      this.saving.value = saving;
      this.errors.value = errors;
      this.error.value = error;
    });
  }
}

/** @param {unknown} error */
function wordsOf(error) {
  if (error instanceof FieldError) return error.message;
  const words = reasonOf(error);
  return error instanceof RouteError ? words : `${words} What you wrote is kept here; try again when it runs.`;
}
