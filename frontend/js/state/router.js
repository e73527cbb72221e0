/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";

const CHAT = /^#\/chat\/([\w.:-]+)$/;

/** The address's hash: `#/chat` is a new chat, `#/chat/<id>` that one. Anything else means a new chat. */
export class Router {
  /** @type {Signal<string | null>} the id of the chat to show */
  chat = signal(read());

  constructor() {
    window.addEventListener("hashchange", () => (this.chat.value = read()));
  }

  /**
   * @param {string | null} id
   * @param {{replace?: boolean}} [options]
   */
  go(id, { replace = false } = {}) {
    if (replace) history.replaceState(null, "", href(id));
    else if (location.hash !== href(id)) history.pushState(null, "", href(id));
    this.chat.value = id;
  }
}

/** @param {string | null} id */
export function href(id) {
  return id ? `#/chat/${id}` : "#/chat";
}

function read() {
  return CHAT.exec(location.hash)?.[1] ?? null;
}
