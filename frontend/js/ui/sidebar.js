/** @import { IconName } from "./icons.js" */

import { html, useId, useLayoutEffect, useRef } from "../lib.js";
import { ChatList } from "./chat_list.js";
import { useApp } from "./context.js";
import { FILTER, MENU, focusComposer, focusOn } from "./focus.js";
import { Icon } from "./icons.js";
import { InstallNote } from "./install_note.js";
import { keyNames } from "./keys.js";
import { ThemeSwitch } from "./theme_switch.js";
import { ViewLinks } from "./views.js";

export function Sidebar() {
  const { drawer } = useApp();
  const shut = drawer.narrow.value && !drawer.open.value;
  const nav = useFocusOnOpen(drawer.open.value);
  return html`<nav class=${`side ${shut ? "" : "side--open"}`} aria-label="Chats" inert=${shut} ref=${nav}>
    <div class="side__head">
      <div class="brand"><${Icon} name="flame" />Fireside</div>
      <${PaletteButton} />
      ${drawer.narrow.value &&
      html`<button type="button" class="tool" aria-label="Close the list of chats" onClick=${() => drawer.close()}>
        <${Icon} name="close" />
      </button>`}
    </div>
    <${NewChat} />
    <${Filter} />
    <${ChatList} />
    <${ViewLinks} />
    <${InstallNote} />
    <${ThemeSwitch} />
  </nav>`;
}

/** Moves the focus into the opened drawer and back to its button when it closes. @param {boolean} open */
function useFocusOnOpen(open) {
  const nav = useRef(/** @type {HTMLElement | null} */ (null));
  const wasOpen = useRef(open);
  useLayoutEffect(() => {
    if (open) nav.current?.querySelector("button")?.focus();
    else if (wasOpen.current && focusIsLost(nav.current)) focusOn(MENU);
    wasOpen.current = open;
  }, [open]);
  return nav;
}

/** @param {HTMLElement | null} nav  the drawer that was closed */
function focusIsLost(nav) {
  return document.activeElement === document.body || nav?.contains(document.activeElement);
}

function PaletteButton() {
  const { drawer, palette } = useApp();
  const open = () => {
    drawer.close();
    palette.toggle();
  };
  return html`<button
    type="button"
    class="everything"
    aria-label=${`Search everything, and actions: ${keyNames.palette}`}
    title="Search everything, and do anything by its name"
    aria-keyshortcuts="Control+K Meta+K"
    onClick=${open}
  >
    <${Icon} name="search" /><kbd aria-hidden="true">${keyNames.palette}</kbd>
  </button>`;
}

function NewChat() {
  const { client, drawer, transfer } = useApp();
  const menu = useId();
  const start = (/** @type {boolean} */ temporary) => {
    client.startChat(temporary);
    drawer.close();
    focusComposer();
  };
  return html`<div class="new">
    <button type="button" class="new__chat" aria-keyshortcuts="Alt+Shift+N" onClick=${() => start(false)}>
      <${Icon} name="plus" /><span>New chat</span><kbd aria-hidden="true">${keyNames.newChat}</kbd>
    </button>
    <button type="button" class="new__more" aria-label="Other kinds of chat" popovertarget=${menu}>
      <${Icon} name="more" />
    </button>
    <div id=${menu} popover="auto" class="panel panel--menu" role="dialog" aria-label="Other kinds of chat">
      <${MenuChoice} menu=${menu} icon="hidden" label="Temporary chat" act=${() => start(true)}>
        Never written to the disk, not in the list, gone when you leave it.
      <//>
      <${MenuChoice} menu=${menu} icon="upload" label="Import chats" act=${() => transfer.pick()}>
        From Fireside’s JSON or zip, ChatGPT’s conversations.json, or Open WebUI’s export.
      <//>
      <${MenuChoice} menu=${menu} icon="download" label="Export all chats" act=${() => transfer.exportAll()}>
        Whole, in a zip that can be imported again.
      <//>
    </div>
  </div>`;
}

/**
 * One line of the menu, which closes with it.
 *
 * @param {{menu: string, icon: IconName, label: string, act: () => void, children?: unknown}} props
 */
function MenuChoice({ menu, icon, label, act, children }) {
  return html`<button type="button" class="choice" popovertarget=${menu} popovertargetaction="hide" onClick=${act}>
    <${Icon} name=${icon} />
    <span><b>${label}</b> ${children}</span>
  </button>`;
}

function Filter() {
  const { chats } = useApp();
  const change = (/** @type {InputEvent & {currentTarget: HTMLInputElement}} */ event) => {
    chats.filter.value = event.currentTarget.value;
  };
  return html`<div class="find">
    <${Icon} name="search" />
    <input
      id=${FILTER}
      type="search"
      placeholder="Search chats"
      aria-label="Search chats"
      aria-keyshortcuts="Alt+Shift+F"
      autocomplete="off"
      dir="auto"
      value=${chats.filter}
      onInput=${change}
    />
    <kbd aria-hidden="true">${keyNames.filter}</kbd>
  </div>`;
}
