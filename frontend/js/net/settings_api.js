/** The routes of the settings; see docs/api.md and docs/phone.md. Each is rejected as `askRoute` is. */

import { askRoute, postJson, sendJson } from "./answers.js";

/**
 * @typedef {"read" | "change" | "execute" | "send"} Risk
 * @typedef {{name: string, description: string, risk: Risk, source: string, usual: boolean}} ToolRow
 *
 * @typedef {"tool" | "path" | "command" | "command_prefix" | "host"} RuleKind
 *
 * @typedef {object} Rule
 * @property {string} id
 * @property {string} tool
 * @property {RuleKind} kind
 * @property {string | string[]} value
 * @property {"session" | "always"} scope
 * @property {string | null} session_id
 * @property {string} words  Markdown, with code in it
 * @property {{session_id: string, call_id: string} | null} granted_from
 * @property {number} created_at
 * @property {number | null} expires_at
 *
 * @typedef {object} Approval  a call that was asked about
 * @property {number} id
 * @property {string} session_id
 * @property {string} tool
 * @property {{command: string, path: string, host: string}} subject
 * @property {"allow" | "deny" | null} decision
 * @property {number} created_at
 *
 * @typedef {{tool: string, kind: RuleKind, value: string | string[]}} Trial
 * @typedef {{days: number, count: number, decided: {allow: number, deny: number, open: number}, approvals: Approval[]}} TrialOutcome
 *
 * @typedef {object} McpEntry
 * @property {string | null} [command]
 * @property {string[]} [args]
 * @property {Record<string, string>} [env]
 * @property {string | null} [cwd]
 * @property {string | null} [url]
 * @property {Record<string, string>} [headers]
 * @property {boolean} [disabled]
 *
 * @typedef {object} McpServer
 * @property {string} name
 * @property {"stdio" | "http" | null} transport
 * @property {"starting" | "ready" | "failed" | "disabled"} state
 * @property {string} error
 * @property {{name: string, tool: string, description: string, risk: Risk}[]} tools
 * @property {McpEntry | null} config
 *
 * @typedef {{servers: McpServer[], problem: string | null}} McpList
 *
 * @typedef {import("../protocol.d.ts").SamplingChoice} Sampling
 *
 * @typedef {object} PresetSettings
 * @property {string} [instructions]
 * @property {string[] | null} [tools]
 * @property {boolean} [read_only]
 * @property {boolean | null} [thinking]
 * @property {Sampling} [sampling]
 *
 * @typedef {{name: string, settings: PresetSettings, modified_at: number}} Preset
 *
 * @typedef {object} KeyInfo
 * @property {string} id
 * @property {string} name
 * @property {string} source  "created", or where a key came from that was given at the start
 * @property {string | null} prefix
 * @property {number | null} created
 * @property {number | null} last_used
 *
 * @typedef {{required: boolean, keys: KeyInfo[]}} KeyList
 */

const APPROVALS = "/api/settings/tool-approvals";
const MCP = "/api/settings/mcp";
const INSTRUCTIONS = "/api/settings/instructions";

/** A path with a name in it that may hold anything. @param {string} path @param {string} name */
const named = (path, name) => `${path}/${encodeURIComponent(name)}`;

/** @returns {Promise<Rule[]>} */
export const readRules = async () => (await askRoute(APPROVALS)).rules;

/** @param {string} id */
export const takeRuleBack = (id) => sendJson("DELETE", APPROVALS, { id });

/** @param {Trial} trial @returns {Promise<TrialOutcome>} */
export const tryRule = (trial) => postJson(`${APPROVALS}/dry-run`, trial);

/** @returns {Promise<ToolRow[]>} */
export const readTools = async () => (await askRoute("/api/tools")).tools;

/** @returns {Promise<McpList>} */
export const readServers = () => askRoute(MCP);

/** @param {string} name @param {McpEntry} entry @returns {Promise<McpList>} */
export const putServer = (name, entry) => sendJson("PUT", named(MCP, name), entry);

/** @param {string} name @returns {Promise<McpList>} */
export const removeServer = (name) => sendJson("DELETE", named(MCP, name));

/** @param {string} name @returns {Promise<McpList>} */
export const restartServer = (name) => postJson(`${named(MCP, name)}/restart`, {});

/** @returns {Promise<string>} */
export const readInstructions = async () => (await askRoute(INSTRUCTIONS)).instructions;

/** @param {string} instructions */
export const putInstructions = (instructions) => sendJson("PUT", INSTRUCTIONS, { instructions });

/** @returns {Promise<Preset[]>} */
export const readPresets = async () => (await askRoute("/api/presets")).presets;

/** @param {string} name @param {PresetSettings} settings @returns {Promise<Preset>} */
export const putPreset = (name, settings) => sendJson("PUT", named("/api/presets", name), settings);

/** @param {string} name */
export const deletePreset = (name) => sendJson("DELETE", named("/api/presets", name));

/** @returns {Promise<KeyList>} */
export const readKeys = () => askRoute("/api/keys");

/** @param {string} name @returns {Promise<{key: string, info: KeyInfo}>} */
export const createKey = (name) => postJson("/api/keys", { name });

/** @param {string} id */
export const deleteKey = (id) => sendJson("DELETE", named("/api/keys", id));
