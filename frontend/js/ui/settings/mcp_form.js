/** @import { McpList, McpServer } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useLayoutEffect, useMemo, useRef } from "../../lib.js";
import { putServer } from "../../net/settings_api.js";
import { FieldError } from "../../state/settings_form.js";
import { McpDraft } from "../../state/settings_mcp.js";
import { useApp } from "../context.js";
import { CheckField, Choices, Form, Save, TextField } from "./fields.js";
import { PairsField } from "./pairs.js";

/** @param {{server: McpServer | null, listing: Listing<McpList>, onEnd: () => void}} props  server: null for a new one */
export function McpForm({ server, listing, onEnd }) {
  const { announcer } = useApp();
  const draft = useMemo(() => new McpDraft(server), []);
  const { form } = draft;
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => element.current?.querySelector("input")?.focus(), []);
  const save = async () => {
    const done = await form.send(async () => {
      const name = draft.checkedName();
      if (!server && listing.value.value?.servers.some((other) => other.name === name)) {
        throw new FieldError("name", "There is a server with this name already; edit that one, or take another name.");
      }
      listing.value.value = await putServer(name, draft.entry());
    });
    if (!done) return;
    announcer.say(`${draft.name.value} is saved`);
    onEnd();
  };
  return html`<div ref=${element}>
    <${Form} form=${form} label=${server ? `MCP server ${server.name}` : "New MCP server"} onSend=${save}>
      ${server
        ? html`<h3 dir="auto">${server.name}</h3>`
        : html`<${TextField} form=${form} name="name" label="Name" hint="The names of its tools begin with it." value=${draft.name} />`}
      <${Choices}
        legend="Where it runs"
        value=${draft.transport}
        options=${[["stdio", "A program that Fireside starts"], ["http", "A server at a URL"]]}
      />
      ${draft.transport.value === "stdio" ? html`<${Program} draft=${draft} />` : html`<${Remote} draft=${draft} />`}
      <${CheckField} value=${draft.disabled} label="Switched off" hint="It stays in the list, and is not started." />
      <${Save} form=${form} label=${server ? "Save server" : "Add server"} onCancel=${onEnd} />
    <//>
  </div>`;
}

const SECRETS = "Values are kept in mcp.json, for you alone, and never shown again.";

/** @param {{draft: McpDraft}} props */
function Program({ draft }) {
  const { form } = draft;
  const code = { class: "input input--code" };
  return html`
    <${TextField} form=${form} name="command" label="Command" hint="The program alone; what follows it are arguments." value=${draft.command} attributes=${code} />
    <${PairsField} form=${form} name="args" pairs=${draft.args} legend="Arguments" one="Argument" named=${false} />
    <${PairsField} form=${form} name="env" pairs=${draft.env} legend="Environment variables" one="Variable" hint=${SECRETS} />
    <${TextField} form=${form} name="cwd" label="Working folder" hint="Empty means Fireside’s own folder." value=${draft.cwd} attributes=${code} />
  `;
}

/** @param {{draft: McpDraft}} props */
function Remote({ draft }) {
  const { form } = draft;
  const url = { class: "input input--code", type: "url", placeholder: "https://…" };
  return html`
    <${TextField} form=${form} name="url" label="URL" value=${draft.url} attributes=${url} />
    <${PairsField} form=${form} name="headers" pairs=${draft.headers} legend="Headers" one="Header" hint=${SECRETS} />
  `;
}
