/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { RouteError, askRoute, postJson, reasonOf } from "../net/answers.js";

/**
 * A change of the memory that the model wants; see `GET /api/memory/proposals`.
 *
 * @typedef {object} ProposalValue
 * @property {string} id
 * @property {string} article
 * @property {string} reason
 * @property {string} call_id
 * @property {string} session_id
 * @property {number} created_at  in seconds since the epoch
 * @property {"open" | "accepted" | "edited" | "dropped" | "undone"} status
 * @property {string | null} before
 * @property {string} before_hash
 * @property {string} after
 * @property {string} diff
 */

const ROUTE = "/api/memory/proposals";

/** The proposal of one call, and what the person does with it. */
export class ProposalDesk {
  /** @type {Signal<ProposalValue | null>} */
  proposal = signal(null);
  error = signal("");
  busy = signal(false);
  /** The article that the decision is on, where it is another one than was proposed for. */
  #before_hash = "";

  #call_id;

  /**
   * @param {string} call_id
   * @param {ProposalValue} [known]
   */
  constructor(call_id, known) {
    this.#call_id = call_id;
    if (known) this.proposal.value = known;
    else void this.#find();
  }

  #find() {
    return this.#do(async () => {
      const { proposals } = await askRoute(ROUTE);
      return proposals.find((/** @type {ProposalValue} */ each) => each.call_id === this.#call_id) ?? null;
    });
  }

  /** @param {string} [text]  the person's own, in place of the model's */
  accept(text) {
    const base = this.#before_hash ? { before_hash: this.#before_hash } : {};
    return this.#act("accept", { ...base, ...(text !== undefined && { text }) });
  }

  drop() {
    return this.#act("drop", {});
  }

  undo() {
    return this.#act("undo", {});
  }

  /**
   * @param {"accept" | "drop" | "undo"} act
   * @param {unknown} body
   */
  #act(act, body) {
    const { id } = /** @type {ProposalValue} */ (this.proposal.peek());
    return this.#do(() => postJson(`${ROUTE}/${encodeURIComponent(id)}/${act}`, body));
  }

  /** @param {() => Promise<ProposalValue | null>} work */
  async #do(work) {
    this.busy.value = true;
    this.error.value = "";
    try {
      this.proposal.value = await work();
    } catch (error) {
      this.error.value = reasonOf(error);
      if (error instanceof RouteError) this.#showConflict(error.body);
    } finally {
      this.busy.value = false;
    }
  }

  /** The article was changed meanwhile: show what the proposal would change now. @param {any} body */
  #showConflict(body) {
    const shown = this.proposal.peek();
    if (!shown || typeof body?.diff !== "string") return;
    this.#before_hash = body.before_hash;
    this.proposal.value = { ...shown, diff: body.diff };
  }
}
