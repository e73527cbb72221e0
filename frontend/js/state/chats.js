/** @import { SessionRow } from "../protocol.d.ts" */
/** @import { Signal } from "../lib.js" */

import { batch, computed, signal } from "../lib.js";

const months = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });

/**
 * @typedef {object} Group
 * @property {string} title
 * @property {SessionRow[]} rows
 */

/** The list of chats. */
export class Chats {
  /** @type {Signal<readonly SessionRow[]>} */
  rows = signal([]);
  /** Whether the list was received since the page was opened. */
  known = signal(false);
  /** How many deleted chats can be restored. */
  deleted = signal(0);
  /** @type {Set<string>} those whose deletion this page has asked for */
  leaving = new Set();
  filter = signal("");
  #found = computed(() => matching(this.rows.value, this.filter.value));
  groups = computed(() => group(this.#found.value.filter((row) => !row.archived), new Date()));
  archived = computed(() => this.#found.value.filter((row) => row.archived));

  /**
   * @param {readonly SessionRow[]} rows  pinned ones first, then the newest
   * @param {number} [deleted]  how many others can be restored
   */
  replace(rows, deleted = 0) {
    batch(() => {
      this.rows.value = rows;
      this.deleted.value = deleted;
      this.known.value = true;
    });
  }

  /** @param {string} id */
  remove(id) {
    this.rows.value = this.rows.peek().filter((row) => row.id !== id);
  }

  /** @param {string | null} id */
  find(id) {
    return this.rows.value.find((row) => row.id === id);
  }
}

/**
 * @param {readonly SessionRow[]} rows
 * @param {string} filter  words that must all be in the title
 */
function matching(rows, filter) {
  const words = filter.toLocaleLowerCase().split(/\s+/);
  return rows.filter((row) => words.every((word) => row.title.toLocaleLowerCase().includes(word)));
}

/**
 * @param {readonly SessionRow[]} rows
 * @param {Date} now
 * @returns {Group[]}
 */
function group(rows, now) {
  /** @type {Map<string, SessionRow[]>} */
  const groups = new Map();
  for (const row of rows) {
    const title = row.pinned ? "Pinned" : age(new Date(row.modified_at * 1000), now);
    groups.set(title, [...(groups.get(title) ?? []), row]);
  }
  return [...groups].map(([title, members]) => ({ title, rows: members }));
}

/**
 * @param {Date} then
 * @param {Date} now
 */
function age(then, now) {
  /** @param {number} days */
  const midnight = (days) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days);
  if (then >= midnight(0)) return "Today";
  if (then >= midnight(1)) return "Yesterday";
  if (then >= midnight(7)) return "Last week";
  return then >= midnight(30) ? "Last month" : months.format(then);
}
