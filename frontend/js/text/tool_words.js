/** @import { Settled, ToolCall } from "../protocol.d.ts" */
/** @import { IconName } from "../ui/icons.js" */

/**
 * By the tool's name. The argument is the one that matters: "" for none, "*" for the first that is a text.
 *
 * @type {Record<string, [words: string, argument: string, icon: IconName]>}
 */
const TOOLS = {
  read: ["Read a file", "path", "file"],
  ls: ["List a folder", "path", "folder"],
  find: ["Find files", "pattern", "search"],
  grep: ["Search in files", "pattern", "search"],
  bash: ["Run a command", "command", "terminal"],
  edit: ["Edit a file", "path", "edit"],
  write: ["Write a file", "path", "edit"],
  web_search: ["Search the web", "query", "globe"],
  web_fetch: ["Read a web page", "url", "globe"],
  memory_status: ["Look at the memory", "", "book"],
  memory_list: ["List the memory’s articles", "", "book"],
  memory_search: ["Search the memory", "query", "book"],
  memory_resolve: ["Look up in the memory", "article", "book"],
  memory_category: ["List a category of the memory", "*", "book"],
  memory_links: ["Follow links in the memory", "article", "book"],
  memory_read: ["Read from the memory", "article", "book"],
  memory_section: ["Read a section from the memory", "article", "book"],
  memory_infobox: ["Read facts from the memory", "article", "book"],
  memory_propose: ["Propose an addition to the memory", "article", "book"],
  memory_revise: ["Propose a change to the memory", "article", "book"],
  reference_search: ["Search Fireside’s manual", "query", "book"],
  reference_list: ["List Fireside’s manual", "", "book"],
  reference_read: ["Read Fireside’s manual", "name", "book"],
};

/** Tools whose calls leave a proposal for the person. */
export const PROPOSING = new Set(["memory_propose", "memory_revise"]);

/**
 * @typedef {object} ToolWords
 * @property {string} words  what the tool does
 * @property {string} subject  the one argument that matters, on one line
 * @property {IconName} icon
 */

/**
 * @param {ToolCall} call
 * @returns {ToolWords}
 */
export function toolWords({ name, source, arguments: written }) {
  const known = (source === "built-in" || !source) && Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (known) return { words: known[0], subject: subjectOf(written, known[1]), icon: known[2] };
  const foreign = source && source !== "built-in" && source !== "unknown";
  const words = foreign ? `${source}: ${bare(name, source)}` : name;
  return { words, subject: subjectOf(written, "*"), icon: foreign ? "plug" : "tool" };
}

/**
 * Tools of a server are named for it, so that two servers may have one of the same name.
 *
 * @param {string} name
 * @param {string} source
 */
function bare(name, source) {
  return name.startsWith(source) ? name.slice(source.length).replace(/^[_.:-]+/, "") || name : name;
}

/**
 * @param {string} written  arguments as JSON, which a model may have got wrong
 * @param {string} key
 */
function subjectOf(written, key) {
  const given = argumentsOf(written);
  const value = key === "*" ? Object.values(given).find((each) => typeof each === "string") : given[key];
  return typeof value === "string" ? value.trim().replace(/\s*\n\s*/g, " ⏎ ") : "";
}

/**
 * @param {string} written
 * @returns {Record<string, unknown>} empty where it is not a JSON object
 */
export function argumentsOf(written) {
  try {
    const value = JSON.parse(written);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** @param {string} written  JSON, laid out to be read; what is not JSON stays as it is */
export function laidOut(written) {
  try {
    return JSON.stringify(JSON.parse(written), null, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return written;
    throw error;
  }
}

/** @type {Record<ToolCall["status"], string>} */
export const STATUS_WORDS = {
  waiting: "Waiting",
  asking: "Needs permission",
  running: "Running",
  done: "Done",
  failed: "Failed",
  denied: "Denied",
  blocked: "Blocked",
  aborted: "Stopped",
};

/**
 * @param {Settled | null} settled
 * @returns {string} how an approval ended, "" where nobody was asked
 */
export function settledWords(settled) {
  if (!settled) return "";
  const { decision, who, why } = settled;
  if (who === "person") return decision === "allow" ? "Allowed once" : "Denied";
  if (who === "rule") return decision === "allow" ? `Allowed by your rule: ${why}` : `Denied by your rule: ${why}`;
  return `${decision === "allow" ? "Allowed" : "Denied"} by Fireside${why ? `: ${why}` : ""}`;
}
