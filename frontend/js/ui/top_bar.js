import { html } from "../lib.js";
import { useApp } from "./context.js";
import { EnginePill } from "./engine_pill.js";
import { MENU } from "./focus.js";
import { Icon } from "./icons.js";

export function TopBar() {
  const { drawer, session, title } = useApp();
  const unnamed = session.view.value === "missing" ? "Chat not found" : "New chat";
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
    <h1 class="top__title" dir="auto">${title.value || unnamed}</h1>
    <${EnginePill} />
  </header>`;
}
