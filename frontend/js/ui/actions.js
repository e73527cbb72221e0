/** @import { SessionRow } from "../protocol.d.ts" */
/** @import { App } from "./context.js" */
/** @import { IconName } from "./icons.js" */

import { placeHref } from "../state/router.js";
import { copyAndTell } from "./copy_button.js";
import { CHAT_PANEL, DELETED, MODEL_PANEL, focusComposer, focusOn } from "./focus.js";
import { keyNames } from "./key_names.js";
import { openPopover } from "./popover.js";

/**
 * Something that can be done by its name: in the palette, and where it has a `slash`, by typing that as a message.
 *
 * @typedef {object} Action
 * @property {string} title
 * @property {IconName} icon
 * @property {string} [words]  other names that it is looked for by
 * @property {string} [slash]
 * @property {string} [keys]
 * @property {() => unknown} run
 */

/** What can be done now, the most wanted first. Reads signals, so that it follows them. @param {App} app @returns {Action[]} */
export function actionsOf(app) {
  const { chats, connected, session } = app;
  const row = chats.find(session.id.value);
  return [...chatting(app), ...(row && connected.value ? aboutChat(app, row) : []), ...everywhere(app)];
}

/** What a message means that is typed and never sent to a model. @param {App} app @param {string} text */
export function commandOf(app, text) {
  const typed = text.trim();
  const slash = typed === "/clear" ? "/new" : typed;
  return slash.startsWith("/") ? actionsOf(app).find((action) => action.slash === slash)?.run : undefined;
}

/** @param {App} app @returns {Action[]} */
function chatting(app) {
  const { client, connected, engine, router, session, wishes } = app;
  const answer = session.parts.value.findLast((part) => part.kind === "answer");
  const steps = answer?.kind === "answer" ? answer.steps : [];
  const text = steps.map((step) => step.text.trim()).filter(Boolean).join("\n\n");
  const prompt = session.tree.all.value.find((message) => message.id === steps[0]?.parent.value && message.role === "user");
  const running = session.running.value !== null;
  const start = (/** @type {boolean} */ temporary) => {
    client.startChat(temporary);
    focusComposer();
  };
  const panel = (/** @type {string} */ id) => {
    if (router.view.peek() !== "chat") router.go(session.id.peek());
    // The palette closes, and the chat is drawn, first.
    setTimeout(() => openPopover(id));
  };
  return [
    { title: "New chat", icon: "plus", slash: "/new", keys: keyNames.newChat, words: "clear", run: () => start(false) },
    { title: "Temporary chat", icon: "hidden", slash: "/temporary", words: "private incognito", run: () => start(true) },
    ...when(running && connected.value, { title: "Stop the answer", icon: "close", slash: "/stop", run: () => wishes.stop() }),
    ...when(!running && connected.value && prompt, {
      title: "Regenerate the last answer",
      icon: "retry",
      slash: "/regenerate",
      words: "again retry",
      run: () => prompt && wishes.regenerate(prompt),
    }),
    ...when(text, { title: "Copy the last answer", icon: "copy", slash: "/copy", run: () => copyAndTell(app, text) }),
    { title: "Settings of this chat", icon: "sliders", slash: "/chat", words: "preset instructions tools", run: () => panel(CHAT_PANEL) },
    { title: "Model, thinking and sampling", icon: "gauge", slash: "/model", words: "temperature seed engine", run: () => panel(MODEL_PANEL) },
    ...when(engine.current.value?.mode === "core", {
      title: "Switch model…",
      icon: "chip",
      slash: "/models",
      words: "serve change load another",
      run: () => void setTimeout(() => openPopover(MODEL_PANEL)),
    }),
    ...when(!running && connected.value && session.messages.value.length > 1, {
      title: "Summarize older messages",
      icon: "book",
      slash: "/compact",
      words: "context compact",
      run: () => wishes.compact(),
    }),
  ];
}

/** @param {App} app @param {SessionRow} row  the chat that is shown @returns {Action[]} */
function aboutChat({ palette, transfer, wishes }, row) {
  const rename = () => palette.ask("New title", row.title, (title) => wishes.rename(row.id, title));
  return [
    { title: "Rename this chat", icon: "edit", slash: "/rename", words: "title", run: rename },
    {
      title: row.pinned ? "Unpin this chat" : "Pin this chat",
      icon: "pin",
      slash: "/pin",
      run: () => wishes.mark(row.id, { pinned: !row.pinned }),
    },
    {
      title: row.archived ? "Take this chat out of the archive" : "Archive this chat",
      icon: "archive",
      slash: "/archive",
      run: () => wishes.archive(row),
    },
    { title: "Export this chat as Markdown", icon: "download", slash: "/export", words: "save download", run: () => transfer.exportChat(row.id, "markdown") },
    { title: "Export this chat as JSON", icon: "download", words: "save download", run: () => transfer.exportChat(row.id, "json") },
    { title: "Delete this chat", icon: "trash", slash: "/delete", words: "remove", run: () => wishes.remove(row) },
  ];
}

/** @param {App} app @returns {Action[]} */
function everywhere({ engine, login, notices, theme, transfer }) {
  const go = (/** @type {string} */ address) => () => (location.hash = address);
  const deleted = () => {
    location.hash = placeHref("deleted");
    // Where it is open already nothing else would answer; the palette closes first.
    setTimeout(() => focusOn(DELETED));
  };
  const dark = theme.dark.value;
  return [
    { title: `Switch to the ${dark ? "light" : "dark"} theme`, icon: dark ? "sun" : "moon", words: "toggle theme colours", run: () => theme.toggle() },
    { title: "Import chats", icon: "upload", slash: "/import", words: "chatgpt open webui file", run: () => transfer.pick() },
    { title: "Export all chats", icon: "download", words: "backup zip save download", run: () => transfer.exportAll() },
    { title: "Recently deleted chats", icon: "trash", words: "trash bin restore undelete purge for good", run: deleted },
    { title: "Keyboard shortcuts", icon: "terminal", slash: "/keys", words: "help", run: go(placeHref("settings", "shortcuts")) },
    ...when(engine.current.value?.login, {
      title: "Log out of this browser",
      icon: "leave",
      slash: "/logout",
      words: "sign out",
      run: async () => {
        const failure = await login.logOut();
        if (failure) notices.add(failure);
      },
    }),
    { title: "Reload the page", icon: "retry", slash: "/reload", run: () => location.reload() },
  ];
}

/** @param {unknown} condition @param {Action} action */
const when = (condition, action) => (condition ? [action] : []);
