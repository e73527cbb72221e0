/** @import { EngineStatus } from "../net/engine_status.js" */
/** @import { Announcer } from "../dom/announcer.js" */
/** @import { LocalModel } from "../net/models_api.js" */
/** @import { Painter } from "../dom/painter.js" */
/** @import { Attaching } from "../state/attaching.js" */
/** @import { Client } from "../state/client.js" */
/** @import { ChatSettings } from "../state/chat_settings.js" */
/** @import { Chats } from "../state/chats.js" */
/** @import { Drafts } from "../state/drafts.js" */
/** @import { ModelSwitch } from "../state/models_switch.js" */
/** @import { Notices } from "../state/notices.js" */
/** @import { Outbox } from "../state/outbox.js" */
/** @import { Palette } from "../state/palette.js" */
/** @import { Rendering } from "../state/rendering.js" */
/** @import { Router } from "../state/router.js" */
/** @import { Search } from "../state/search.js" */
/** @import { Session } from "../state/session.js" */
/** @import { Theme } from "../state/theme.js" */
/** @import { Transfer } from "../state/transfer.js" */
/** @import { Wishes } from "../state/wishes.js" */
/** @import { Drawer } from "./drawer.js" */
/** @import { Listing } from "../state/settings_listing.js" */
/** @import { Login } from "../state/login.js" */
/** @import { Signal } from "../lib.js" */

import { createContext, useContext } from "../lib.js";

/**
 * The parts of the page, built once in `main.js`.
 *
 * @typedef {object} App
 * @property {Announcer} announcer
 * @property {Attaching} attaching
 * @property {Chats} chats
 * @property {ChatSettings} chatSettings
 * @property {Client} client
 * @property {Signal<boolean>} connected
 * @property {Drafts} drafts
 * @property {Drawer} drawer
 * @property {EngineStatus} engine
 * @property {Listing<LocalModel[]>} library  the models on this machine
 * @property {Login} login
 * @property {ModelSwitch} modelSwitch
 * @property {Notices} notices
 * @property {Outbox} outbox
 * @property {Painter} painter
 * @property {Palette} palette
 * @property {Rendering} rendering
 * @property {Router} router
 * @property {Search} search
 * @property {Session} session
 * @property {Theme} theme
 * @property {Transfer} transfer
 * @property {Wishes} wishes
 * @property {{readonly value: string}} title  of the chat that is shown, "" where it has none yet
 */

export const AppContext = createContext(/** @type {App | null} */ (null));

/** @returns {App} */
export function useApp() {
  const app = useContext(AppContext);
  if (!app) throw new Error("useApp needs an AppContext.Provider around it");
  return app;
}
