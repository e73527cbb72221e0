import { html } from "../lib.js";
import { ChatPanel } from "./chat/panel.js";
import { useApp } from "./context.js";
import { ContextMeter } from "./context_meter.js";
import { EnginePill } from "./engine_pill.js";
import { MENU } from "./focus.js";
import { Icon } from "./icons.js";
import { viewTitle } from "./views.js";

export function TopBar() {
  const { chatSettings, drawer, router, session, title } = useApp();
  const other = viewTitle(router.view.value);
  const fresh = session.temporary.value ? "Temporary chat" : "New chat";
  const unnamed = { missing: "Chat not found", opening: "Chat", new: fresh, open: fresh }[session.view.value];
  return html`<header class="top">
    ${drawer.narrow.value &&
    html`<button
      type="button"
      id=${MENU}
      class="tool"
      aria-label="Open the list of chats"
      aria-expanded=${drawer.open.value}
      onClick=${() => (drawer.open.value = true)}
    >
      <${Icon} name="menu" />
    </button>`}
    <h1 class="top__title" dir="auto">${other || title.value || unnamed}</h1>
    ${!other && session.temporary.value && html`<${TemporaryBadge} />`}
    ${!other && chatSettings.current.value.read_only && html`<${ReadOnlyBadge} />`}
    ${!other && html`<${ContextMeter} />`}
    <${EnginePill} />
    ${!other && html`<${ChatPanel} />`}
  </header>`;
}

function TemporaryBadge() {
  return html`<span class="badge" role="img" aria-label="Temporary" title="Not in the list, not on the disk">
    <${Icon} name="hidden" /><span>Temporary</span>
  </span>`;
}

function ReadOnlyBadge() {
  return html`<span class="badge" role="img" aria-label="Read-only" title="What would ask you first is blocked in this chat">
    <${Icon} name="lock" /><span>Read-only</span>
  </span>`;
}
