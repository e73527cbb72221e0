/** @import { Signal } from "../lib.js" */
/** @import { Panes } from "./thread_scroll.js" */

import { useRef, useSignalEffect } from "../lib.js";
import { useApp } from "./context.js";
import { messagesOf } from "./thread_part.js";

const SHOWN_MS = 2_500;
/** Frames to wait for the texts around it, which move it when they come. */
const PATIENCE = 90;

/**
 * Brings the message that was looked for into view, once its chat and its branch are shown.
 *
 * @param {Signal<Panes | null>} scrolling
 */
export function useJump(scrolling) {
  const { search, session, wishes } = useApp();
  const asked = useRef("");
  useSignalEffect(() => {
    const target = search.target.value;
    if (!target || session.view.value !== "open" || session.id.value !== target.session_id) return;
    const known = session.tree.all.value.some((message) => message.id === target.message_id);
    const shown = session.tree.path.value.some((message) => message.id === target.message_id);
    if (known && !shown && asked.current !== target.message_id) {
      asked.current = target.message_id;
      wishes.selectBranch(target.message_id);
      return;
    }
    asked.current = "";
    search.target.value = null;
    const show = () => {
      const parts = session.parts.peek();
      const index = parts.findIndex((part) => messagesOf(part).some(({ id }) => id === target.message_id));
      const panes = scrolling.peek();
      if (!panes || index < 0) return;
      panes.follower.leave();
      panes.view.reveal(index);
      approach(panes, parts[index]?.key ?? "", target.message_id, PATIENCE);
    };
    // The thread is drawn after the state has changed.
    if (shown) requestAnimationFrame(() => requestAnimationFrame(show));
  });
}

/**
 * @param {Panes} panes
 * @param {string} key  of the message's row
 * @param {string} id
 * @param {number} patience  in frames
 */
function approach(panes, key, id, patience) {
  const { box, follower } = panes;
  const row = box.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const name = CSS.escape(id);
  const element = row?.querySelector(`[data-step-id="${name}"], [data-message-id="${name}"]`) ?? row;
  element?.scrollIntoView({ block: "center" });
  const ready = row && !box.querySelector("[data-raw]");
  if (!ready && patience > 0) requestAnimationFrame(() => approach(panes, key, id, patience - 1));
  else {
    follower.look();
    if (element instanceof HTMLElement) point(element);
  }
}

/** @param {HTMLElement} element */
function point(element) {
  element.classList.add("found");
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  setTimeout(() => element.classList.remove("found"), SHOWN_MS);
}
