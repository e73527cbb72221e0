/** @import { McpEntry, McpServer } from "../net/settings_api.js" */
/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";
import { FieldError, FormState } from "./settings_form.js";

/** What Fireside shows in place of a secret, and takes for "as it was". */
export const MASK = "••••••••";

/** @typedef {{key: number, name: Signal<string>, value: Signal<string>}} Pair */

/** Lines of a form that can be added and taken away. */
export class Pairs {
  /** @type {Signal<readonly Pair[]>} */
  lines = signal(/** @type {readonly Pair[]} */ ([]));
  #keys = 0;

  /** @param {Record<string, string>} [values] */
  constructor(values = {}) {
    for (const [name, value] of Object.entries(values)) this.add(name, value);
  }

  add(name = "", value = "") {
    const line = { key: (this.#keys += 1), name: signal(name), value: signal(value) };
    this.lines.value = [...this.lines.peek(), line];
    return line;
  }

  /** @param {Pair} line */
  remove(line) {
    this.lines.value = this.lines.peek().filter((other) => other !== line);
  }

  /** @param {string} field @returns {Record<string, string>} */
  object(field) {
    const lines = this.lines.value.filter(({ name, value }) => name.value.trim() || value.value);
    if (lines.some(({ name }) => !name.value.trim())) throw new FieldError(field, "A value has no name yet.");
    return Object.fromEntries(lines.map(({ name, value }) => [name.value.trim(), value.value]));
  }
}

/** What is filled in for an MCP server. */
export class McpDraft {
  form = new FormState(["name", "command", "args", "env", "cwd", "url", "headers"]);
  name;
  /** "stdio": a program that Fireside starts; "http": a server that runs elsewhere */
  transport;
  command;
  args;
  env;
  cwd;
  url;
  headers;
  disabled;

  /** @param {McpServer | null} server */
  constructor(server) {
    const { command, args = [], env, cwd, url, headers, disabled = false } = server?.config ?? {};
    this.name = signal(server?.name ?? "");
    this.transport = signal(url ? "http" : "stdio");
    this.command = signal(command ?? "");
    this.args = new Pairs();
    for (const argument of args) this.args.add("", argument);
    this.env = new Pairs(env);
    this.cwd = signal(cwd ?? "");
    this.url = signal(url ?? "");
    this.headers = new Pairs(headers);
    this.disabled = signal(disabled);
  }

  checkedName() {
    const name = this.name.value.trim();
    if (!name) throw new FieldError("name", "Give the server a name, such as calendar.");
    if (name.includes("/")) throw new FieldError("name", "A name has no slash.");
    return name;
  }

  /** @returns {McpEntry} */
  entry() {
    const disabled = this.disabled.value;
    if (this.transport.value === "http") {
      if (!/^https?:\/\/[^/]/.test(this.url.value.trim())) {
        throw new FieldError("url", "Give the address of a running server: http://… or https://…");
      }
      return { url: this.url.value.trim(), headers: this.headers.object("headers"), disabled };
    }
    if (!this.command.value.trim()) throw new FieldError("command", "Give the program to start, such as npx or uvx.");
    return {
      command: this.command.value.trim(),
      args: this.args.lines.value.map(({ value }) => value.value),
      env: this.env.object("env"),
      cwd: this.cwd.value.trim() || null,
      disabled,
    };
  }
}
