export const APPROVAL = "allow-once";
export const CHAT_PANEL = "chat-panel";
export const COMPOSER = "composer-text";
/** The heading of the deleted chats. */
export const DELETED = "deleted-chats";
export const FILTER = "chat-filter";
export const MENU = "open-chats";
export const MODEL_PANEL = "model-panel";

/** @param {string} id */
export function focusOn(id) {
  document.getElementById(id)?.focus();
}

/** Put the cursor into the composer, except where that would open an on-screen keyboard unasked. */
export function focusComposer() {
  if (window.matchMedia("(pointer: fine)").matches) focusOn(COMPOSER);
}
