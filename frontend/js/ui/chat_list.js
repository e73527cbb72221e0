/** @import { SessionRow } from "../protocol.d.ts" */
/** @import { Group } from "../state/chats.js" */

import { html, useId } from "../lib.js";
import { placeHref } from "../state/router.js";
import { ChatRow } from "./chat_row.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";
import { SearchHits } from "./search_hits.js";

export function ChatList() {
  const { chats, engine } = useApp();
  if (!chats.known.value) return html`<${Unknown} gone=${engine.reachable.value === false} />`;
  const groups = chats.groups.value;
  const archived = chats.archived.value;
  const deleted = chats.deleted.value > 0 && chats.filter.value === "";
  const none = groups.length === 0 && archived.length === 0;
  return html`<div class="chats">
    ${groups.map((group) => html`<${ChatGroup} key=${group.title} group=${group} />`)}
    ${archived.length > 0 && html`<${Archived} rows=${archived} open=${chats.filter.value !== ""} />`}
    ${none && html`<p class="chats__none">${emptyWords(chats.filter.value)}</p>`}
    <${SearchHits} />
    ${deleted && html`<${DeletedLink} />`}
  </div>`;
}

/** @param {{gone: boolean}} props  gone: there is no Fireside to tell the chats */
function Unknown({ gone }) {
  if (gone) return html`<div class="chats"><p class="chats__none">Your chats are listed as soon as Fireside is back.</p></div>`;
  return html`<div class="chats" role="status" data-testid="chats-loading">
    <span class="visually-hidden">Loading the chats…</span>
    <div class="chats__bones"><span class="bone"></span><span class="bone"></span><span class="bone bone--short"></span></div>
  </div>`;
}

/** @param {{rows: readonly SessionRow[], open: boolean}} props */
function Archived({ rows, open }) {
  return html`<details class="chats__archived" open=${open}>
    <summary class="chats__age"><${Icon} name="right" />Archived (${rows.length})</summary>
    <ul>
      ${rows.map((row) => html`<${ChatRow} key=${row.id} row=${row} />`)}
    </ul>
  </details>`;
}

/** Where deleted chats can be brought back, as long as there are any. */
function DeletedLink() {
  const { chats, drawer, router } = useApp();
  return html`<a
    class="chats__deleted"
    href=${placeHref("deleted")}
    aria-current=${router.view.value === "deleted" ? "page" : undefined}
    onClick=${() => drawer.close()}
  >
    <${Icon} name="trash" />Recently deleted (${chats.deleted.value})
  </a>`;
}

/** @param {string} filter */
function emptyWords(filter) {
  return filter ? "No chat has this in its title." : "No chats yet. They are kept on this machine.";
}

/** @param {{group: Group}} props */
function ChatGroup({ group }) {
  const id = useId();
  return html`<section aria-labelledby=${id}>
    <h2 class="chats__age" id=${id}>${group.title}</h2>
    <ul>
      ${group.rows.map((row) => html`<${ChatRow} key=${row.id} row=${row} />`)}
    </ul>
  </section>`;
}
