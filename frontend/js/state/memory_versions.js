/** @import { Signal } from "../lib.js" */
/** @import { Commit } from "../net/memory_api.js" */

import { batch, signal } from "../lib.js";
import { RouteError, reasonOf } from "../net/answers.js";
import { askDiff, askHistory, askVersion } from "../net/memory_api.js";

/** In place of a commit: the article as it lies on the disk. */
export const NOW = "now";
/** In place of a commit: the version before the one that is compared with it. */
export const BEFORE = "before";

/** The versions of one article, and the difference of two of them. */
export class Versions {
  /** @type {Signal<readonly Commit[]>} the newest first */
  commits = signal([]);
  /** The article was changed by hand, or written by another program, and that is not committed. */
  uncommitted = signal(false);
  /** @type {Signal<"loading" | "shown" | "failed">} */
  phase = signal("loading");
  error = signal("");
  from = signal(BEFORE);
  to = signal(NOW);
  /** @type {Signal<string | null>} null until it is known */
  diff = signal(null);

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  async load() {
    try {
      const [commits, changes] = await Promise.all([askHistory(this.name), this.#handMade()]);
      batch(() => {
        this.commits.value = commits;
        this.uncommitted.value = changes !== "";
        this.phase.value = "shown";
      });
    } catch (error) {
      this.error.value = reasonOf(error);
      this.phase.value = "failed";
      return;
    }
    await this.compare(BEFORE, this.uncommitted.peek() ? NOW : (this.commits.peek()[0]?.commit ?? NOW));
  }

  /** @param {string} from @param {string} to */
  async compare(from, to) {
    batch(() => {
      this.from.value = from;
      this.to.value = to;
      this.diff.value = null;
      this.error.value = "";
    });
    try {
      const versions = { ...(to !== NOW && { commit: to }), ...(from !== BEFORE && { base: from }) };
      const diff = await askDiff(this.name, versions);
      if (from === this.from.peek() && to === this.to.peek()) this.diff.value = diff;
    } catch (error) {
      this.error.value = reasonOf(error);
    }
  }

  /** The text of a version, to be edited again. @param {string} commit */
  text(commit) {
    return askVersion(this.name, commit);
  }

  /** Of an article that was deleted there is nothing by hand. */
  async #handMade() {
    try {
      return await askDiff(this.name, {});
    } catch (error) {
      if (error instanceof RouteError) return "";
      throw error;
    }
  }
}
