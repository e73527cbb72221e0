export const APPROVAL = "allow-once";
export const COMPOSER = "composer-text";
export const FILTER = "chat-filter";
export const MENU = "open-chats";

/** @param {string} id */
export function focusOn(id) {
  document.getElementById(id)?.focus();
}

/** Put the cursor into the composer, except where that would open an on-screen keyboard unasked. */
export function focusComposer() {
  if (window.matchMedia("(pointer: fine)").matches) focusOn(COMPOSER);
}
