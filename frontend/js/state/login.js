import { askRoute, reasonOf } from "../net/answers.js";

/** What of the browser's storage tells nothing of anybody. */
const KEPT = new Set(["theme", "text_size", "wrap", "version"].map((name) => `fireside.${name}`));

const LEFT = "fireside.left";

/** Leave this tab as well when another one logs out. */
export function followLogout() {
  new BroadcastChannel(LEFT).onmessage = () => location.replace("/login");
}

/**
 * End this browser's session, and leave nothing here of what was typed.
 *
 * @returns {Promise<string>} why it could not be ended, "" if it was: the page is left then
 */
export async function logOut() {
  try {
    await askRoute("/logout", { method: "POST" });
  } catch (error) {
    return `You are still logged in. ${reasonOf(error)}`;
  }
  for (const area of /** @type {const} */ (["localStorage", "sessionStorage"])) forget(area);
  new BroadcastChannel(LEFT).postMessage("");
  location.replace("/login");
  return "";
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
