/** @import { McpList, McpServer } from "../../net/settings_api.js" */
/** @import { Listing } from "../../state/settings_listing.js" */

import { html, useEffect, useSignal } from "../../lib.js";
import { readServers, removeServer, restartServer } from "../../net/settings_api.js";
import { RISK_NAMES, SERVER_STATES } from "../../text/settings_words.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { McpForm } from "./mcp_form.js";
import { Confirm, Empty, Loaded, focusIfLost, opener, useListing } from "./parts.js";

const LOOK_AGAIN_MS = 1_000;

/** The name under which a new server is edited: none can have it. */
const FRESH = "";

export function McpServers() {
  const listing = useListing(readServers);
  const editing = useSignal(/** @type {string | null} */ (null));
  useLookAgain(listing);
  const end = () => {
    const name = editing.value;
    editing.value = null;
    focusIfLost(() => opener(name));
  };
  return html`<p class="set__lead">
      Servers of the Model Context Protocol give the model more tools. They are in <code>mcp.json</code>, in the form that
      other programs use as well. A program that you add here runs with your rights: add only what you trust.
    </p>
    <${Loaded} listing=${listing} what="The MCP servers">
      ${(/** @type {McpList} */ { servers, problem }) => html`
        ${problem && html`<p class="set__error" role="alert"><${Icon} name="warning" /><span>${problem}</span></p>`}
        ${servers.length === 0 && !problem && editing.value !== FRESH && html`<${Empty} icon="plug">There are no MCP servers yet.<//>`}
        <ul class="rows" aria-label="MCP servers">
          ${servers.map((server) =>
            editing.value === server.name
              ? html`<li key=${server.name} class="row row--open"><${McpForm} server=${server} listing=${listing} onEnd=${end} /></li>`
              : html`<${ServerRow} key=${server.name} server=${server} listing=${listing} onEdit=${() => (editing.value = server.name)} />`,
          )}
        </ul>
        ${editing.value === FRESH
          ? html`<div class="row row--open"><${McpForm} server=${null} listing=${listing} onEnd=${end} /></div>`
          : html`<button type="button" class="button add" onClick=${() => (editing.value = FRESH)}><${Icon} name="plus" />Add a server</button>`}
      `}
    <//>`;
}

/** Starting is not waited for by Fireside: the list is read until what comes of it is known. @param {Listing<McpList>} listing */
function useLookAgain(listing) {
  const list = listing.value.value;
  const starting = list?.servers.some(({ state }) => state === "starting");
  useEffect(() => {
    if (!starting) return undefined;
    const timer = setTimeout(() => void listing.load(), LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [list]);
}

/** @param {{server: McpServer, listing: Listing<McpList>, onEdit: () => void}} props */
function ServerRow({ server, listing, onEdit }) {
  const { announcer } = useApp();
  const { name, state, error, config } = server;
  const act = (/** @type {() => Promise<unknown>} */ work, /** @type {string} */ words) => async () => {
    if (await listing.change(work)) announcer.say(words);
  };
  return html`<li class="row" data-testid="mcp-server" data-state=${state}>
    <div class="row__text">
      <p class="row__head"><b dir="auto">${name}</b><span class=${`state state--${state}`}>${SERVER_STATES[state]}</span></p>
      ${config && html`<p class="row__note"><code class="row__code">${config.url ?? [config.command, ...(config.args ?? [])].join(" ")}</code></p>`}
      ${error && html`<p class="row__note row__note--bad">${error}</p>`}
      <${ServerTools} server=${server} />
    </div>
    <div class="row__acts">
      ${state !== "disabled" &&
      html`<button
        type="button"
        class="button"
        aria-label=${`Restart: ${name}`}
        disabled=${listing.busy.value}
        onClick=${act(() => restartServer(name), `${name} is being started again`)}
      >
        Restart
      </button>`}
      <button type="button" class="button" aria-label=${`Edit: ${name}`} onClick=${onEdit}>Edit</button>
      <${Confirm}
        label="Remove"
        about=${name}
        question="Its tools and settings go."
        yes="Remove"
        onYes=${act(() => removeServer(name), `${name} is removed`)}
      />
    </div>
  </li>`;
}

/** @param {{server: McpServer}} props */
function ServerTools({ server: { tools } }) {
  if (tools.length === 0) return null;
  return html`<details class="row__more">
    <summary>${tools.length === 1 ? "1 tool" : `${tools.length} tools`}</summary>
    <ul>
      ${tools.map(
        ({ name, description, risk }) =>
          html`<li key=${name}><code>${name}</code> <span class=${`tag tag--${risk}`}>${RISK_NAMES[risk]}</span><p class="row__note" dir="auto">${description}</p></li>`,
      )}
    </ul>
  </details>`;
}
