/** @import { Hit } from "../state/search.js" */

import { html, useId } from "../lib.js";
import { pieces } from "../dom/snippet.js";
import { href } from "../state/router.js";
import { fromMark } from "../text/plain_snippet.js";
import { useApp } from "./context.js";
import { Marked } from "./marked.js";

/** Characters before what was found: a line of the sidebar. */
const LEAD = 40;

/** @type {Partial<Record<Hit["kind"], string>>} */
const WHERE = { reasoning: "In its thinking", tool: "In a tool’s call", attachment: "In a file" };

/** What was found in the messages of all chats. */
export function SearchHits() {
  const { chats, search } = useApp();
  const id = useId();
  if (!chats.filter.value.trim()) return null;
  const hits = search.hits.value;
  const none = search.busy.value ? "Looking…" : search.note.value || "Nothing was said with these words.";
  return html`<section aria-labelledby=${id} aria-busy=${search.busy.value}>
    <h2 class="chats__age" id=${id}>In messages</h2>
    ${hits.length === 0 && html`<p class="chats__none" role="status">${none}</p>`}
    <ul>
      ${hits.map((hit, index) => html`<${HitRow} key=${index} hit=${hit} />`)}
    </ul>
    ${hits.length > 0 && search.note.value && html`<p class="chats__none">${search.note.value}</p>`}
  </section>`;
}

/** @param {{hit: Hit}} props */
function HitRow({ hit: { kind, name, session_id, session_title, message_id, snippet } }) {
  const { drawer, search } = useApp();
  const open = () => {
    if (session_id && message_id) search.target.value = { session_id, message_id };
    drawer.close();
  };
  const where = [WHERE[kind], name].filter(Boolean).join(": ");
  return html`<li class="chat hit" data-testid="hit">
    <a href=${href(session_id)} onClick=${open}>
      <span class="chat__title" dir="auto">${session_title || "New chat"}</span>
      ${where && html`<span class="hit__where">${where}</span>`}
      <span class="hit__snippet" dir="auto">
        <${Marked} pieces=${fromMark(pieces(snippet), LEAD)} />
      </span>
    </a>
  </li>`;
}
