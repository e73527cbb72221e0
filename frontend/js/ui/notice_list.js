import { html } from "../lib.js";
import { href } from "../state/router.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

export function NoticeList() {
  const { notices } = useApp();
  return html`<div class="notices" role="alert">
    ${notices.shown.value.map(
      (notice) => html`<div class=${`notice ${notice.done ? "notice--done" : ""}`} key=${notice.text} aria-live=${notice.chat ? "off" : undefined}>
        <p title=${notice.text}>${notice.text}</p>
        ${notice.reload && html`<button type="button" class="button" onClick=${() => location.reload()}>Reload</button>`}
        ${notice.undo && html`<button type="button" class="button" onClick=${notice.undo}>Undo</button>`}
        ${notice.chat &&
        html`<a class="button" href=${href(notice.chat)} onClick=${() => notices.dismiss(notice)}>Open<span class="visually-hidden"> the chat</span></a>`}
        <button type="button" class="tool" aria-label="Dismiss" onClick=${() => notices.dismiss(notice)}>
          <${Icon} name="close" />
        </button>
      </div>`,
    )}
  </div>`;
}
