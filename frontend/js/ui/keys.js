/** @import { App } from "./context.js" */

import { APPROVAL, FILTER, focusComposer, focusOn } from "./focus.js";

export { keyNames, shortcuts } from "./key_names.js";

/**
 * The shortcuts that work anywhere on the page.
 *
 * @param {App} app
 */
export function listenForKeys(app) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const act = actionFor(event, app);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/**
 * @param {KeyboardEvent} event
 * @param {App} app
 * @returns {(() => void) | undefined}
 */
function actionFor(event, app) {
  const command = event.ctrlKey || event.metaKey;
  if (command && !event.altKey && !event.shiftKey && event.code === "KeyK") return () => app.palette.toggle();
  if (app.palette.open.peek()) return undefined;
  // By its place on the keyboard: with Alt (Option) held, some systems make another letter of it.
  if (event.altKey && event.shiftKey && !command && event.code === "KeyN") return () => startChat(app);
  if (event.altKey && event.shiftKey && !command && event.code === "KeyF") return () => focusFilter(app);
  if (event.altKey && event.shiftKey && !command && event.code === "KeyA") return () => focusOn(APPROVAL);
  return event.key === "Escape" ? escapeAction(app) : undefined;
}

/** @param {App} app */
function escapeAction({ chats, drawer, router, session, wishes }) {
  // An open popover closes by itself.
  if (document.querySelector(":popover-open")) return undefined;
  if (chats.filter.value && document.activeElement?.id === FILTER) return () => (chats.filter.value = "");
  if (drawer.open.value) return () => drawer.close();
  if (document.activeElement?.id === FILTER) return focusComposer;
  // An answer that is not in view is not stopped by the way.
  return session.running.value && router.view.value === "chat" ? () => wishes.stop() : undefined;
}

/** @param {App} app */
function focusFilter({ drawer }) {
  drawer.open.value = drawer.narrow.value;
  // The drawer can take the focus only after it was shown.
  setTimeout(() => focusOn(FILTER));
}

/** @param {App} app */
function startChat({ client, drawer }) {
  client.startChat();
  drawer.close();
  focusComposer();
}
