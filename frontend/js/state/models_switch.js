/** @import { Signal } from "../lib.js" */
/** @import { EngineStatus } from "../net/engine_status.js" */
/** @import { Status, Switch } from "../net/status_source.js" */
/** @import { Announcer } from "../dom/announcer.js" */

import { computed, effect, signal } from "../lib.js";
import { RouteError, reasonOf } from "../net/answers.js";
import { serveModel } from "../net/models_api.js";
import { switchWords } from "../text/models_words.js";

const DONE_MS = 6_000;
const TOO_LARGE = "does_not_fit";
const ENDS = new Set(["done", "failed"]);

/** The change from one served model to another, as far as it happened before the reader's eyes. */
export class ModelSwitch {
  /** The model that was just asked for, "" for none: Fireside has not said yes or no. */
  asking = signal("");
  /** Why the last wish was refused, "" if it was not. */
  refused = signal("");
  /** Whether that was because it needs more memory than there is. */
  tooLarge = signal(false);
  /** The model whose change is told until its end was seen. @type {Signal<string>} */
  #told = signal("");
  /** @type {import("../net/engine_status.js").EngineStatus} */
  #engine;
  /** @type {{readonly value: Switch | null}} the change that is to be shown */
  shown = computed(() => {
    const change = this.#engine.current.value?.engine.switch ?? null;
    return change && (!ENDS.has(change.state) || change.to === this.#told.value) ? change : null;
  });
  /** Whether a change is under way. */
  busy = computed(() => this.asking.value !== "" || Boolean(this.shown.value && !ENDS.has(this.shown.value.state)));

  /** @param {EngineStatus} engine @param {Announcer} announcer */
  constructor(engine, announcer) {
    this.#engine = engine;
    let said = "";
    effect(() => {
      const change = this.shown.value;
      const status = engine.current.peek();
      if (!change || !status) return void (said = "");
      const state = `${change.to} ${change.state}`;
      if (state !== said) announcer.say(spoken(change, status));
      said = state;
      this.#follow(change);
      return undefined;
    });
  }

  /** @param {string} id  a model of the library @returns {Promise<boolean>} whether it is, or will be, served */
  async choose(id) {
    this.asking.value = id;
    this.refused.value = "";
    try {
      this.#told.value = (await serveModel(id)).id;
      return true;
    } catch (error) {
      this.tooLarge.value = error instanceof RouteError && error.body?.error?.code === TOO_LARGE;
      this.refused.value = reasonOf(error);
      return false;
    } finally {
      this.asking.value = "";
    }
  }

  /** The reader has seen how it ended. */
  dismiss() {
    this.#told.value = this.refused.value = "";
  }

  /** @param {Switch} change */
  #follow({ state, to }) {
    if (!ENDS.has(state)) this.#told.value = to;
    if (state === "done") setTimeout(() => this.#forget(to), DONE_MS);
  }

  /** @param {string} to */
  #forget(to) {
    const change = this.#engine.current.peek()?.engine.switch;
    if (change?.to === to && change.state === "done" && this.#told.peek() === to) this.#told.value = "";
  }
}

/** @param {Switch} change @param {Status} status */
function spoken(change, { engine }) {
  // Of how much is loaded nobody wants to hear.
  const words = switchWords(change, { ...engine, bytes_total: 0 });
  return change.error ? `${words}. ${change.error}` : `${words}.`;
}
