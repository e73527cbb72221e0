/** @import { Signal } from "../lib.js" */

import { signal } from "../lib.js";

const CHAT = /^#\/chat\/([\w.:-]+)$/;
const OTHER = /^#\/(deleted|memory|models|settings|status)(?:\/(.*))?$/;

/** @typedef {"chat" | "deleted" | "memory" | "models" | "settings" | "status"} View */

/**
 * The address's hash: `#/chat` is a new chat, `#/chat/<id>` that one, `#/memory/<path>`, `#/models/<section>`,
 * `#/settings/<section>`, `#/status` and `#/deleted` are the other views. Anything else means a new chat. The chat stays open behind another view.
 */
export class Router {
  /** @type {Signal<View>} */
  view = signal("chat");
  /** @type {Signal<string>} what of a view other than the chat is shown: the address after its name, decoded */
  place = signal("");
  /** @type {Signal<string | null>} the id of the chat to show */
  chat = signal(null);

  constructor() {
    this.#read();
    window.addEventListener("hashchange", () => this.#read());
  }

  /**
   * Show a chat.
   *
   * @param {string | null} id
   * @param {{replace?: boolean}} [options]
   */
  go(id, { replace = false } = {}) {
    if (replace) history.replaceState(null, "", href(id));
    else if (location.hash !== href(id)) history.pushState(null, "", href(id));
    this.#show("chat", "");
    this.chat.value = id;
  }

  #read() {
    const other = OTHER.exec(location.hash);
    if (other) return this.#show(/** @type {View} */ (other[1]), decoded(other[2] ?? ""));
    this.#show("chat", "");
    this.chat.value = CHAT.exec(location.hash)?.[1] ?? null;
  }

  /** @param {View} view @param {string} place */
  #show(view, place) {
    this.view.value = view;
    this.place.value = place;
  }
}

/** The address of a chat. @param {string | null} id */
export function href(id) {
  return id ? `#/chat/${id}` : "#/chat";
}

/** The address of a place in another view. @param {View} view @param {string} [place] */
export function placeHref(view, place = "") {
  return place ? `#/${view}/${place.split("/").map(encodeURIComponent).join("/")}` : `#/${view}`;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
