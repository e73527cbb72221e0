/** Builds the parts of the page, connects them, and shows the page. */

/** @import { ClientFrame, ServerFrame } from "./protocol.d.ts" */

import { computed, effect, html, loadHighlighter, render } from "./lib.js";
import { Announcer } from "./dom/announcer.js";
import { listenForCopy } from "./dom/code_blocks.js";
import { Painter } from "./dom/painter.js";
import { Connection } from "./net/connection.js";
import { EngineStatus } from "./net/engine_status.js";
import { readLibrary } from "./net/models_api.js";
import { Attaching } from "./state/attaching.js";
import { ChatSettings } from "./state/chat_settings.js";
import { Chats } from "./state/chats.js";
import { Client } from "./state/client.js";
import { Drafts } from "./state/drafts.js";
import { takeLaunch } from "./state/launch.js";
import { Login } from "./state/login.js";
import { ModelSwitch } from "./state/models_switch.js";
import { Notices } from "./state/notices.js";
import { Outbox } from "./state/outbox.js";
import { Palette } from "./state/palette.js";
import { Rendering } from "./state/rendering.js";
import { Router } from "./state/router.js";
import { Search } from "./state/search.js";
import { Session } from "./state/session.js";
import { Listing } from "./state/settings_listing.js";
import { Theme } from "./state/theme.js";
import { Transfer } from "./state/transfer.js";
import { watchVersion } from "./state/version_watch.js";
import { Wishes } from "./state/wishes.js";
import { Page } from "./ui/app.js";
import { Drawer } from "./ui/drawer.js";
import { listenForKeys } from "./ui/keys.js";
import { preparePalette } from "./ui/palette/door.js";
import { prepareCalls } from "./ui/tool_card.js";

/** By then the page has what it needs at once. */
const QUIET_MS = 2_000;

function build() {
  const url = new URL("/ws", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  /** @type {Connection} */
  const connection = new Connection({
    url,
    onFrame: (/** @type {ServerFrame} */ frame) => client.receive(frame),
    onLoggedOut: () => login.ended(),
  });
  const parts = {
    session: new Session(),
    outbox: new Outbox(),
    chats: new Chats(),
    drafts: new Drafts(),
    notices: new Notices(),
    router: new Router(),
  };
  const send = (/** @type {ClientFrame} */ frame) => connection.send(frame);
  const client = new Client({ ...parts, send });
  const announcer = new Announcer(document);
  const login = new Login();
  const engine = new EngineStatus(() => login.ended());
  const app = {
    ...parts,
    client,
    chatSettings: new ChatSettings({ ...parts, send }),
    wishes: new Wishes({ ...parts, send }),
    title: titleOf(parts),
    connected: connection.open,
    attaching: new Attaching(),
    announcer,
    drawer: new Drawer(),
    engine,
    library: new Listing(readLibrary),
    login,
    modelSwitch: new ModelSwitch(engine, announcer),
    painter: new Painter(document),
    palette: new Palette(),
    rendering: new Rendering({ ...parts, send }),
    search: new Search(parts.chats.filter, "message,reasoning,tool,attachment"),
    theme: new Theme(),
    transfer: new Transfer(parts),
  };
  return { app, connection };
}

/**
 * The list of chats hears of a new title first; a chat that is not in it has only its own.
 *
 * @param {{chats: Chats, session: Session}} parts
 */
function titleOf({ chats, session }) {
  return computed(() => chats.find(session.id.value)?.title || session.title.value);
}

/** @param {ReturnType<typeof build>} built */
function connectParts({ app, connection }) {
  effect(() => app.client.show(app.router.chat.value));
  effect(() => {
    document.title = app.title.value ? `${app.title.value} · Fireside` : "Fireside";
  });
  effect(() => (connection.open.value ? app.engine.wake() : app.client.pause()));
  effect(() => {
    if (app.engine.reachable.value) connection.wake();
  });
  watchVersion(app);
}

/** @param {ReturnType<typeof build>} built */
function watchBrowser({ app, connection }) {
  const look = () => {
    connection.probe();
    void app.engine.check();
  };
  const comeBack = () => {
    if (document.hidden) return;
    look();
  };
  window.addEventListener("online", comeBack);
  window.addEventListener("offline", look);
  window.addEventListener("pageshow", comeBack);
  document.addEventListener("visibilitychange", comeBack);
}

function start() {
  const built = build();
  takeLaunch(built.app);
  connectParts(built);
  watchBrowser(built);
  built.app.login.follow();
  listenForCopy(document);
  listenForKeys(built.app);
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  root.replaceChildren();
  render(html`<${Page} app=${built.app} />`, root);
  void built.connection.run();
  void built.app.engine.run();
  void registerWorker();
  setTimeout(() => [prepareCalls, preparePalette, loadHighlighter].forEach(whenIdle), QUIET_MS);
}

/** WebKit has no word for that. @param {() => void} work */
function whenIdle(work) {
  if ("requestIdleCallback" in window) requestIdleCallback(work);
  else setTimeout(work);
}

async function registerWorker() {
  try {
    await navigator.serviceWorker?.register("/sw.js", { updateViaCache: "none" });
  } catch {
    // Fireside is down, or the browser forbids it: only the next opening without Fireside is affected.
  }
}

start();
