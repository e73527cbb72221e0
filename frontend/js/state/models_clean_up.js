/** @import { Signal } from "../lib.js" */
/** @import { CleanUpPlan, Removed } from "../net/models_api.js" */

import { signal } from "../lib.js";
import { reasonOf } from "../net/answers.js";
import { cleanUp, readPlan } from "../net/models_api.js";

/** What may be removed: shown as a plan, and carried out only as it was shown. */
export class CleanUp {
  /** @type {Signal<CleanUpPlan | null>} */
  plan = signal(/** @type {CleanUpPlan | null} */ (null));
  /** Also old snapshots that have a file which no kept one has. */
  force = signal(false);
  /** @type {Signal<Removed | null>} what was just removed */
  removed = signal(/** @type {Removed | null} */ (null));
  error = signal("");
  busy = signal(false);

  load() {
    return this.#busily(async () => {
      this.plan.value = await readPlan(this.force.peek());
    });
  }

  /** @param {boolean} force */
  choose(force) {
    this.force.value = force;
    return this.load();
  }

  /** Remove what the plan shows. Where that has changed meanwhile, the new plan is shown and nothing removed. */
  execute() {
    const plan = this.plan.peek();
    if (!plan) return Promise.resolve();
    return this.#busily(async () => {
      this.removed.value = null;
      try {
        this.removed.value = await cleanUp(plan.token, this.force.peek());
      } finally {
        this.plan.value = await readPlan(this.force.peek());
      }
    });
  }

  /** @param {() => Promise<void>} work */
  async #busily(work) {
    this.busy.value = true;
    this.error.value = "";
    try {
      await work();
    } catch (error) {
      this.error.value = reasonOf(error);
    } finally {
      this.busy.value = false;
    }
  }
}
