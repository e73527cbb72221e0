/** Builds the parts of the page, connects them, and shows the page. */

/** @import { ClientFrame, ServerFrame } from "./protocol.d.ts" */

import { computed, effect, html, render } from "./lib.js";
import { Announcer } from "./dom/announcer.js";
import { listenForCopy } from "./dom/code_blocks.js";
import { Painter } from "./dom/painter.js";
import { Connection } from "./net/connection.js";
import { EngineStatus } from "./net/engine_status.js";
import { Attaching } from "./state/attaching.js";
import { ChatSettings } from "./state/chat_settings.js";
import { Chats } from "./state/chats.js";
import { Client } from "./state/client.js";
import { Drafts } from "./state/drafts.js";
import { Notices } from "./state/notices.js";
import { Outbox } from "./state/outbox.js";
import { Palette } from "./state/palette.js";
import { Router } from "./state/router.js";
import { Search } from "./state/search.js";
import { Session } from "./state/session.js";
import { Theme } from "./state/theme.js";
import { Transfer } from "./state/transfer.js";
import { Wishes } from "./state/wishes.js";
import { Page } from "./ui/app.js";
import { Drawer } from "./ui/drawer.js";
import { listenForKeys } from "./ui/keys.js";

function build() {
  const url = new URL("/ws", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  /** @type {Connection} */
  const connection = new Connection({ url, onFrame: (/** @type {ServerFrame} */ frame) => client.receive(frame) });
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
  const app = {
    ...parts,
    client,
    chatSettings: new ChatSettings({ ...parts, send }),
    wishes: new Wishes({ ...parts, send }),
    title: titleOf(parts),
    connected: connection.open,
    attaching: new Attaching(),
    announcer: new Announcer(document),
    drawer: new Drawer(),
    engine: new EngineStatus(),
    painter: new Painter(),
    palette: new Palette(),
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

/** A page that is older than its server is asked to reload. @param {ReturnType<typeof build>["app"]} app */
function watchVersion({ engine, notices }) {
  let first = "";
  effect(() => {
    const version = engine.current.value?.version ?? first;
    if (first && version !== first) notices.askForReload();
    first ||= version;
  });
}

/** @param {ReturnType<typeof build>} built */
function watchBrowser({ app, connection }) {
  const comeBack = () => {
    if (document.hidden) return;
    connection.probe();
    app.engine.wake();
  };
  window.addEventListener("online", comeBack);
  window.addEventListener("pageshow", comeBack);
  document.addEventListener("visibilitychange", comeBack);
}

function start() {
  const built = build();
  connectParts(built);
  watchBrowser(built);
  listenForCopy(document);
  listenForKeys(built.app);
  const root = /** @type {HTMLElement} */ (document.getElementById("page"));
  root.replaceChildren();
  render(html`<${Page} app=${built.app} />`, root);
  void built.connection.run();
  void built.app.engine.run();
  void registerWorker();
}

async function registerWorker() {
  try {
    await navigator.serviceWorker?.register("/sw.js", { updateViaCache: "none" });
  } catch {
    // Fireside is down, or the browser forbids it: only the next opening without Fireside is affected.
  }
}

start();
