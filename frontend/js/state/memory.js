/** @import { Signal } from "../lib.js" */
/** @import { Renamed, Status, Summary } from "../net/memory_api.js" */
/** @import { ProposalValue } from "./proposals.js" */

import { batch, computed, signal } from "../lib.js";
import { RouteError, reasonOf } from "../net/answers.js";
import { askStatus, deleteArticle, listArticles, makeVault, openProposals, renameArticle, saveArticle } from "../net/memory_api.js";
import { moveUnsaved } from "./memory_edit.js";

/** The memory as a whole: whether there is one, and its articles. */
export class Memory {
  /** @type {Signal<Status | null>} null until it is known */
  status = signal(null);
  /** @type {Signal<readonly Summary[]>} the newest first */
  articles = signal([]);
  /** @type {Signal<readonly ProposalValue[]>} those that wait for the person */
  proposals = signal([]);
  /** Why nothing can be shown. */
  error = signal("");
  busy = signal(false);
  /** Whether articles can be changed: there is a repository, and a program for it. */
  writable = computed(() => Boolean(this.status.value?.git && this.status.value.git_program));

  /** Read everything anew. What is shown stays where that fails. */
  load() {
    return this.#do(async () => this.#show(await askStatus()));
  }

  /** The person said yes: make the vault, or what is missing of it. */
  begin() {
    return this.#do(async () => this.#show(await makeVault()), { tell: true });
  }

  /**
   * @param {string} name
   * @param {string} hash  of the article that is meant
   * @returns {Promise<string>} why it was not deleted, "" when it was
   */
  async remove(name, hash) {
    try {
      await deleteArticle(name, hash);
    } catch (error) {
      return reasonOf(error);
    }
    await this.load();
    return "";
  }

  /**
   * @param {string} name
   * @param {string} new_name
   * @param {string} hash  of the article that is meant
   * @returns {Promise<Renamed | string>} why it was not renamed, if it was not
   */
  async rename(name, new_name, hash) {
    try {
      const renamed = await renameArticle(name, new_name, hash);
      moveUnsaved(name, renamed.name);
      await this.load();
      return renamed;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Put a deleted article back. @param {string} name @param {string} text */
  async putBack(name, text) {
    try {
      await saveArticle(name, text, "");
    } catch (error) {
      return reasonOf(error);
    }
    await this.load();
    return "";
  }

  /** @param {Status} status */
  async #show(status) {
    const [articles, proposals] = status.exists ? await Promise.all([listArticles(), openProposals()]) : [[], []];
    batch(() => {
      this.articles.value = articles.sort((one, other) => other.modified_at - one.modified_at);
      this.proposals.value = proposals;
      this.status.value = status;
    });
  }

  /** @param {() => Promise<void>} work @param {{tell?: boolean}} [options]  tell: of a failure in any case */
  async #do(work, { tell = false } = {}) {
    this.busy.value = true;
    try {
      await work();
      this.error.value = "";
    } catch (error) {
      if (!(error instanceof RouteError) && !(error instanceof TypeError)) throw error;
      if (tell || !this.status.peek()) this.error.value = reasonOf(error);
    } finally {
      this.busy.value = false;
    }
  }
}
