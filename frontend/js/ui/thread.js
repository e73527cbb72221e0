/** @import { Panes } from "./thread_scroll.js" */

import { html, useComputed, useRef } from "../lib.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";
import { useJump } from "./jump.js";
import { MissingChat } from "./missing_chat.js";
import { PendingPrompt } from "./prompt.js";
import { Queue } from "./queue.js";
import { ThreadList } from "./thread_list.js";
import { useScrolling } from "./thread_scroll.js";
import { Welcome } from "./welcome.js";

/** The conversation. It follows the answer as long as the reader is at its end. */
export function Thread() {
  const { session } = useApp();
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const column = useRef(/** @type {HTMLElement | null} */ (null));
  const pending = usePending();
  const scrolling = useScrolling(box, column, pending.value.at(-1)?.client_id);
  useJump(scrolling);
  const panes = scrolling.value;
  return html`<div class="thread">
    <section
      class="thread__scroll"
      ref=${box}
      role="log"
      aria-live="off"
      aria-label="Conversation"
      tabindex="0"
      aria-busy=${session.view.value === "opening"}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => panes && toEitherEnd(event, panes)}
    >
      <div class="thread__column" ref=${column}>${panes && html`<${Conversation} panes=${panes} />`}</div>
    </section>
    ${panes && !panes.follower.atEnd.value && html`<${JumpButton} onJump=${() => panes.follower.jump()} />`}
  </div>`;
}

/**
 * The browser's own way there is smooth, and ends too soon where heights along it are still guesses.
 *
 * @param {KeyboardEvent} event
 * @param {Panes} panes
 */
function toEitherEnd(event, panes) {
  if (event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key !== "Home" && event.key !== "End") return;
  event.preventDefault();
  if (event.key === "End") {
    panes.follower.jump();
    return;
  }
  panes.follower.leave();
  panes.view.reveal(0);
  panes.box.scrollTop = 0;
  panes.follower.look();
}

/** @param {{panes: Panes}} props */
function Conversation({ panes }) {
  const { session } = useApp();
  const pending = usePending();
  const parts = session.parts.value;
  if (session.view.value === "missing") return html`<${MissingChat} />`;
  if (session.view.value !== "opening" && parts.length + pending.value.length === 0) return html`<${Welcome} />`;
  return html`<${ThreadList} parts=${parts} view=${panes.view} held=${panes.held} />
    <${Queue} />
    ${pending.value.map((entry) => html`<${PendingPrompt} key=${entry.client_id} entry=${entry} />`)}`;
}

/** The prompts of this chat that the server has not confirmed. */
function usePending() {
  const { outbox, session } = useApp();
  return useComputed(() => outbox.entries.value.filter((entry) => entry.session_id === session.id.value));
}

/** @param {{onJump: () => void}} props */
function JumpButton({ onJump }) {
  const { session } = useApp();
  return html`<button type="button" class=${`jump ${session.running.value ? "jump--news" : ""}`} onClick=${onJump}>
    <${Icon} name="down" />Jump to latest
  </button>`;
}
