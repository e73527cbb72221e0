/**
 * The routes of the memory; their shapes are in `docs/api.md`. All reject as `askRoute` does.
 *
 * @typedef {object} Summary
 * @property {string} name
 * @property {string} title
 * @property {string[]} category
 * @property {number} modified_at  in seconds since the epoch
 *
 * @typedef {object} Status
 * @property {string} root
 * @property {boolean} exists
 * @property {boolean} git  it has a repository
 * @property {boolean} git_program  git is installed
 *
 * @typedef {object} Heading
 * @property {number} level
 * @property {string} title
 * @property {string} path
 *
 * @typedef {object} Outbound
 * @property {string} target
 * @property {string} label
 * @property {string | null} article
 * @property {string | null} broken
 *
 * @typedef {object} Inbound
 * @property {string} article
 * @property {string} title
 * @property {number} line
 *
 * @typedef {object} Page
 * @property {string} name
 * @property {string} title
 * @property {string} text
 * @property {Record<string, string | string[]>} fields
 * @property {Heading[]} headings
 * @property {number} modified_at
 * @property {string} hash
 * @property {string[]} blocks  HTML from the server's renderer, which is safe to insert
 * @property {Outbound[]} outbound
 * @property {Inbound[]} inbound
 *
 * @typedef {object} Commit
 * @property {string} commit
 * @property {number} time
 * @property {string} subject
 * @property {string} author
 *
 * @typedef {object} Found
 * @property {string} name
 * @property {string} title
 * @property {{line: number, heading: string, text: string}[]} hits
 *
 * @typedef {{query: string, terms: string[], total: number, results: Found[]}} Results
 * @typedef {{name: string, hash: string, commit: string | null}} Saved
 * @typedef {Saved & {linked: string[]}} Renamed  linked: other articles whose links were changed
 */

import { askRoute, postJson, sendJson } from "./answers.js";

const ROUTE = "/api/memory";

/** @param {string} path @param {Record<string, string>} [query] */
const at = (path, query = {}) => `${ROUTE}/${path}?${new URLSearchParams(query)}`;

/** @returns {Promise<Status>} */
export const askStatus = () => askRoute(at("status"));

/** @returns {Promise<Status>} */
export const makeVault = () => postJson(`${ROUTE}/init`, {});

/** @returns {Promise<Summary[]>} */
export const listArticles = async () => (await askRoute(at("list"))).articles;

/** @returns {Promise<import("../state/proposals.js").ProposalValue[]>} */
export const openProposals = async () => (await askRoute(at("proposals", { status: "open" }))).proposals;

/** @param {string} q @param {AbortSignal} signal @returns {Promise<Results>} */
export const searchArticles = (q, signal) => askRoute(at("search", { q }), { signal });

/** An article's Markdown. @param {string} name @returns {Promise<string>} */
export const askText = async (name) => (await askRoute(at("article", { name }))).text;

/** @param {string} name @returns {Promise<Page>} */
export const askPage = (name) => askRoute(at("page", { name }));

/** @param {string} name @returns {Promise<Commit[]>} */
export const askHistory = async (name) => (await askRoute(at("history", { name }))).commits;

/** @param {string} name @param {{commit?: string, base?: string}} versions @returns {Promise<string>} */
export const askDiff = async (name, versions) => (await askRoute(at("diff", { name, ...versions }))).diff;

/** @param {string} name @param {string} commit @returns {Promise<string>} */
export const askVersion = async (name, commit) => (await askRoute(at("version", { name, commit }))).text;

/**
 * @param {string} name
 * @param {string} text
 * @param {string} before_hash  of the article that the text was made from; "" for a new one
 * @returns {Promise<Saved>}
 */
export const saveArticle = (name, text, before_hash) =>
  sendJson("PUT", at("article", { name }), { text, before_hash });

/**
 * @param {string} name
 * @param {string} new_name
 * @param {string} before_hash
 * @returns {Promise<Renamed>}
 */
export const renameArticle = (name, new_name, before_hash) =>
  postJson(at("rename", { name }), { new_name, before_hash });

/** @param {string} name @param {string} before_hash @returns {Promise<Saved>} */
export const deleteArticle = (name, before_hash) =>
  askRoute(at("article", { name, before_hash }), { method: "DELETE" });
