/** @import { Signal } from "../lib.js" */

import { html, useRef } from "../lib.js";
import { useApp } from "./context.js";
import { Icon, StopIcon } from "./icons.js";

/** @param {{empty: boolean}} props */
export function ComposerButtons({ empty }) {
  const { connected, session, wishes } = useApp();
  const running = session.running.value !== null;
  return html`<div class="composer__buttons">
    ${!session.temporary.value && html`<${AttachButton} />`}
    ${running &&
    html`<button
      type="button"
      class="round round--stop"
      aria-label="Stop"
      title="Stop (Esc)"
      disabled=${!connected.value || session.stopping.value}
      onClick=${() => wishes.stop()}
    >
      <${StopIcon} />
    </button>`}
    ${(!running || !empty) &&
    html`<button type="submit" class="round" aria-label="Send" title="Send (Enter)" disabled=${empty}>
      <${Icon} name="send" />
    </button>`}
  </div>`;
}

function AttachButton() {
  const { attaching, session } = useApp();
  const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  const choose = (/** @type {Event & {currentTarget: HTMLInputElement}} */ event) => {
    attaching.add(session.id.peek(), event.currentTarget.files ?? []);
    event.currentTarget.value = "";
  };
  const open = () => picker.current?.click();
  return html`<input ref=${picker} type="file" multiple hidden aria-label="Files to attach" onChange=${choose} />
    <button type="button" class="tool" aria-label="Attach files" title="Attach files" onClick=${open}>
      <${Icon} name="clip" />
    </button>`;
}

/** During an answer: whether a message waits for its end or is seen before. @param {{steer: Signal<boolean>}} props */
export function SteerSwitch({ steer }) {
  const { session } = useApp();
  if (!session.running.value) return null;
  const choice = (/** @type {boolean} */ value, /** @type {string} */ words) => html`<label class="theme__choice">
    <input
      type="radio"
      name="steer"
      class="visually-hidden"
      checked=${steer.value === value}
      onChange=${() => (steer.value = value)}
    />
    <span>${words}</span>
  </label>`;
  return html`<fieldset class="steer">
    <legend class="visually-hidden">When Fireside sees the next message</legend>
    ${choice(false, "Send after the answer")} ${choice(true, "Let it see now")}
  </fieldset>`;
}
