/** @import { KeyInfo, McpServer, PresetSettings, Risk, RuleKind, ToolRow, TrialOutcome } from "../net/settings_api.js" */

import { count } from "./format.js";

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const minute = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** @param {number} time  in seconds since 1970 */
export const onDay = (time) => day.format(time * 1000);

/** @param {number} time  in seconds since 1970 */
export const atMinute = (time) => minute.format(time * 1000);

/** @type {Record<Risk, string>} */
export const RISKS = {
  read: "looks at this machine",
  change: "changes files; asks first",
  execute: "runs programs; asks first",
  send: "talks to other machines; asks first once something of this machine is in the chat",
};

/** @type {Record<Risk, string>} */
export const RISK_NAMES = { read: "Reads", change: "Changes", execute: "Runs", send: "Sends" };

/** @type {Record<RuleKind, {name: string, value: string, hint: string}>} */
export const KINDS = {
  command_prefix: {
    name: "Commands that begin with…",
    value: "First words of the command",
    hint: "Such as git status. It speaks for one simple command, never for what is chained behind it.",
  },
  command: { name: "Exactly one command", value: "The whole command", hint: "As it would be run, letter by letter." },
  path: {
    name: "Files of a folder or pattern",
    value: "Absolute path, wildcards allowed",
    hint: "Such as ~/notes/**. A name that begins with a dot has to be written out.",
  },
  host: { name: "One host", value: "Host name", hint: "Such as example.org, or *.example.org for those below it." },
  tool: { name: "Every call of the tool", value: "", hint: "" },
};

/** What kinds of rules a tool's card can offer. @param {ToolRow | undefined} tool @returns {RuleKind[]} */
export function kindsFor(tool) {
  if (!tool) return ["command_prefix", "command", "path", "host", "tool"];
  if (tool.risk === "execute") return ["command_prefix", "command"];
  if (tool.source !== "built-in") return ["tool"];
  return tool.risk === "send" ? ["host", "tool"] : ["path", "tool"];
}

/** @param {TrialOutcome} outcome */
export function trialWords({ count: all, days, decided }) {
  if (all === 0) return `In the past ${days} days it would have allowed nothing: no call that asked you fits it.`;
  const parts = [
    decided.allow && `you allowed ${count(decided.allow)}`,
    decided.deny && `you denied ${count(decided.deny)}`,
    decided.open && `${count(decided.open)} ${decided.open === 1 ? "was" : "were"} never answered`,
  ].filter(Boolean);
  return `In the past ${days} days it would have allowed ${calls(all)} without asking you; of ${all === 1 ? "it" : "these"} ${parts.join(", ")}.`;
}

/** @param {number} number */
const calls = (number) => `${count(number)} ${number === 1 ? "call" : "calls"}`;

/** @type {Record<McpServer["state"], string>} */
export const SERVER_STATES = {
  starting: "Starting…",
  ready: "Running",
  failed: "Does not run",
  disabled: "Switched off",
};

/** What of a preset is worth a line. @param {PresetSettings} settings */
export function presetWords({ instructions, tools, thinking, read_only, sampling }) {
  const parts = [
    instructions && `instructions of ${count(instructions.length)} characters`,
    tools && (tools.length ? `${count(tools.length)} ${tools.length === 1 ? "tool" : "tools"}` : "no tools"),
    thinking === true && "thinks",
    thinking === false && "does not think",
    read_only && "nothing that asks",
    ...Object.entries(sampling ?? {}).map(([name, value]) => `${name.replace("_", " ")} ${value}`),
  ].filter(Boolean);
  const line = parts.join(", ");
  return line ? line[0]?.toUpperCase() + line.slice(1) : "As the model does by itself";
}

/** @param {KeyInfo} key */
export function keyWords({ source, prefix, created, last_used }) {
  if (source !== "created") return "Given when Fireside was started; it ends when Fireside is started without it.";
  return [
    prefix && `${prefix}…`,
    created && `made on ${onDay(created)}`,
    last_used ? `last used ${atMinute(last_used)}` : "never used",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Markdown's `code` alone. @param {string} words @returns {{text: string, code: boolean}[]} */
export function codePieces(words) {
  return words.split("`").map((text, index) => ({ text, code: index % 2 === 1 }));
}
