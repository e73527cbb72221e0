/** @import { Part } from "../state/turns.js" */

import { html, useComputed, useEffect, useLayoutEffect, useRef, useSignal, useSignalEffect } from "../lib.js";
import { ScrollFollower } from "../dom/scroll_follower.js";
import { Answer } from "./answer.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";
import { useJump } from "./jump.js";
import { MissingChat } from "./missing_chat.js";
import { PendingPrompt, Prompt } from "./prompt.js";
import { Queue } from "./queue.js";
import { SummaryDivider } from "./summary_divider.js";
import { Welcome } from "./welcome.js";

/** The conversation. It follows the answer as long as the reader is at its end. */
export function Thread() {
  const { session } = useApp();
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const column = useRef(/** @type {HTMLElement | null} */ (null));
  const follower = useFollower(box, column);
  useJump(box, follower);
  return html`<div class="thread">
    <section
      class="thread__scroll"
      ref=${box}
      role="log"
      aria-live="off"
      aria-label="Conversation"
      tabindex="0"
      aria-busy=${session.view.value === "opening"}
    >
      <div class="thread__column" ref=${column}><${Conversation} /></div>
    </section>
    ${follower.value && !follower.value.atEnd.value && html`<${JumpButton} onJump=${() => follower.value?.jump()} />`}
  </div>`;
}

function Conversation() {
  const { session } = useApp();
  const pending = usePending();
  const parts = session.parts.value;
  if (session.view.value === "missing") return html`<${MissingChat} />`;
  if (session.view.value !== "opening" && parts.length + pending.value.length === 0) return html`<${Welcome} />`;
  return html`${parts.map((part) => html`<${PartView} key=${part.key} part=${part} />`)}
    <${Queue} />
    ${pending.value.map((entry) => html`<${PendingPrompt} key=${entry.client_id} entry=${entry} />`)}`;
}

/** @param {{part: Part}} props */
function PartView({ part }) {
  switch (part.kind) {
    case "prompt":
      return html`<${Prompt} model=${part.message} />`;
    case "answer":
      return html`<${Answer} steps=${part.steps} />`;
    default:
      return html`<${SummaryDivider} summary=${part.summary} />`;
  }
}

/** The prompts of this chat that the server has not confirmed. */
function usePending() {
  const { outbox, session } = useApp();
  return useComputed(() => outbox.entries.value.filter((entry) => entry.session_id === session.id.value));
}

/**
 * @param {{current: HTMLElement | null}} box
 * @param {{current: HTMLElement | null}} column
 */
function useFollower(box, column) {
  const { session } = useApp();
  const follower = useSignal(/** @type {ScrollFollower | null} */ (null));
  const pending = usePending();
  useLayoutEffect(() => {
    if (!box.current || !column.current) return undefined;
    follower.value = new ScrollFollower(box.current, column.current);
    return () => follower.peek()?.stop();
  }, []);
  useSignalEffect(() => {
    if (session.view.value === "opening" || session.view.value === "new") follower.value?.jump();
  });
  useEffect(() => follower.peek()?.jump(), [pending.value.at(-1)?.client_id]);
  return follower;
}

/** @param {{onJump: () => void}} props */
function JumpButton({ onJump }) {
  const { session } = useApp();
  return html`<button type="button" class=${`jump ${session.running.value ? "jump--news" : ""}`} onClick=${onJump}>
    <${Icon} name="down" />Jump to latest
  </button>`;
}
