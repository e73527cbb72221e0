import { askRoute, reasonOf } from "../net/answers.js";

/** What of the browser's storage tells nothing of anybody. */
const KEPT = new Set(["theme", "text_size", "wrap", "version"].map((name) => `fireside.${name}`));

const LEFT = "fireside.left";

/** The session of this browser, where Fireside wants a login. */
export class Login {
  /** This tab ends the session itself, and leaves when it has forgotten all; or it is on its way already. */
  #leaving = false;

  /** Leave this tab as well when another one logs out. */
  follow() {
    new BroadcastChannel(LEFT).onmessage = () => this.ended();
  }

  /** Somebody else has ended the session, or deleted its key. */
  ended() {
    if (this.#leaving) return;
    this.#leaving = true;
    location.replace("/login");
  }

  /**
   * End this browser's session, and leave nothing here of what was typed.
   *
   * @returns {Promise<string>} why it could not be ended, "" if it was: the page is left then
   */
  async logOut() {
    this.#leaving = true;
    try {
      await askRoute("/logout", { method: "POST" });
    } catch (error) {
      this.#leaving = false;
      return `You are still logged in. ${reasonOf(error)}`;
    }
    for (const area of /** @type {const} */ (["localStorage", "sessionStorage"])) forget(area);
    new BroadcastChannel(LEFT).postMessage("");
    location.replace("/login");
    return "";
  }
}

/** @param {"localStorage" | "sessionStorage"} name */
function forget(name) {
  try {
    const area = window[name];
    const ours = Object.keys(area).filter((key) => key.startsWith("fireside.") && !KEPT.has(key));
    ours.forEach((key) => area.removeItem(key));
  } catch (error) {
    // A browser that forbids its storage has kept nothing.
    if (!(error instanceof DOMException)) throw error;
  }
}
