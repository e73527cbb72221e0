/** @import { EngineStatus } from "../net/engine_status.js" */
/** @import { Notices } from "./notices.js" */

import { effect } from "../lib.js";
import { Shelf } from "../dom/storage.js";

/**
 * Asks for a reload when the page is older than its server. A page that was opened without a server came out of
 * the browser's cache, and is of the version that was last seen.
 *
 * @param {{engine: EngineStatus, notices: Notices}} app
 */
export function watchVersion({ engine, notices }) {
  const shelf = new Shelf("localStorage", "version");
  let own = "";
  effect(() => {
    if (engine.reachable.value === false) own ||= shelf.get();
    const version = engine.current.value?.version;
    if (!version) return;
    own ||= version;
    if (version !== own) notices.askForReload();
    shelf.set(version);
  });
}
