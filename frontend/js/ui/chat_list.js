/** @import { Group } from "../state/chats.js" */

import { html, useId } from "../lib.js";
import { ChatRow } from "./chat_row.js";
import { useApp } from "./context.js";

export function ChatList() {
  const { chats } = useApp();
  const groups = chats.groups.value;
  return html`<div class="chats">
    ${groups.map((group) => html`<${ChatGroup} key=${group.title} group=${group} />`)}
    ${groups.length === 0 && chats.known.value && html`<p class="chats__none">${emptyWords(chats.filter.value)}</p>`}
  </div>`;
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
