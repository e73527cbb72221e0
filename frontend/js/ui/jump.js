/** @import { ScrollFollower } from "../dom/scroll_follower.js" */
/** @import { Signal } from "../lib.js" */

import { useRef, useSignalEffect } from "../lib.js";
import { useApp } from "./context.js";

const SHOWN_MS = 2_500;

/**
 * Brings the message that was looked for into view, once its chat and its branch are shown.
 *
 * @param {{current: HTMLElement | null}} box
 * @param {Signal<ScrollFollower | null>} follower
 */
export function useJump(box, follower) {
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
    // The thread is drawn after the state has changed.
    const show = () => point(box.current, target.message_id, follower.peek());
    if (shown) requestAnimationFrame(() => requestAnimationFrame(show));
  });
}

/**
 * @param {HTMLElement | null} box
 * @param {string} id
 * @param {ScrollFollower | null} follower
 */
function point(box, id, follower) {
  const name = CSS.escape(id);
  const element = box?.querySelector(`[data-step-id="${name}"], [data-message-id="${name}"]`);
  if (!(element instanceof HTMLElement)) return;
  follower?.leave();
  element.scrollIntoView({ block: "center" });
  element.classList.add("found");
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  setTimeout(() => element.classList.remove("found"), SHOWN_MS);
}
