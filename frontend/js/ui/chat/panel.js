import { html } from "../../lib.js";
import { settingsWords } from "../../text/chat_words.js";
import { useApp } from "../context.js";
import { CHAT_PANEL, MODEL_PANEL } from "../focus.js";
import { Icon } from "../icons.js";
import { lazy } from "../lazy.js";
import { usePopover } from "../popover.js";

const Parts = lazy(async () => (await import("./panel_parts.js")).PanelParts, { meanwhile: null });

/** The button for what holds in this chat alone, and its panel. */
export function ChatPanel() {
  const { chatSettings } = useApp();
  const { open, watch } = usePopover();
  const words = settingsWords(chatSettings.current.value);
  return html`<button
      type="button"
      class=${`tool tool--bar ${words ? "tool--set" : ""}`}
      popovertarget=${CHAT_PANEL}
      data-testid="this-chat"
      aria-label=${["This chat", words].filter(Boolean).join(": ")}
      title="This chat: preset, instructions, tools"
    >
      <${Icon} name="sliders" />
    </button>
    <div
      id=${CHAT_PANEL}
      popover="auto"
      class="panel panel--tall panel--wide"
      role="dialog"
      aria-label="This chat"
      onBeforeToggle=${watch}
    >
      ${open.value &&
      html`<h2>This chat</h2>
        <p>What is set here holds from the next answer on, in this chat alone.</p>
        <${Parts} />
        <${Files} />
        <p class="panel__part">
          <button type="button" class="action" popovertarget=${MODEL_PANEL}><${Icon} name="gauge" />Thinking and sampling</button>
        </p>`}
    </div>`;
}

/** A chat that is on the disk can be had as a file. */
function Files() {
  const { chats, session, transfer } = useApp();
  const id = session.id.value;
  if (!id || !chats.find(id)) return null;
  return html`<section class="panel__part" aria-label="Export this chat">
    <h3>Export</h3>
    <div class="panel__row panel__row--start">
      <button type="button" class="action" onClick=${() => transfer.exportChat(id, "markdown")}>
        <${Icon} name="download" />As Markdown
      </button>
      <button type="button" class="action" onClick=${() => transfer.exportChat(id, "json")}>
        <${Icon} name="download" />As JSON, whole
      </button>
    </div>
  </section>`;
}
