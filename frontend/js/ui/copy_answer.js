/** @import { MessageModel } from "../state/message.js" */

import { html, useRef, useSignal } from "../lib.js";
import { plainText } from "../dom/plain_text.js";
import { CopyButton, copyAndTell } from "./copy_button.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** Copies what an answer says, without its thoughts and calls. @param {{steps: readonly MessageModel[]}} props */
export function CopyAnswer({ steps }) {
  const app = useApp();
  const open = useSignal(false);
  const opener = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const close = () => {
    open.value = false;
    opener.current?.focus();
  };
  const copy = (/** @type {string} */ text) => {
    close();
    return copyAndTell(app, text);
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !open.value) return;
    event.preventDefault();
    close();
  };
  const onFocusOut = (/** @type {FocusEvent & {currentTarget: HTMLElement}} */ event) => {
    if (!(event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget))) open.value = false;
  };
  return html`<span class="copy-answer" onKeyDown=${onKeyDown} onFocusOut=${onFocusOut}>
    <${CopyButton} label="Copy message" text=${() => markdownOf(steps)} />
    <button
      type="button"
      class="action action--icon"
      ref=${opener}
      aria-label="Copy as…"
      aria-expanded=${open.value}
      onClick=${() => (open.value = !open.value)}
    >
      <${Icon} name="more" />
    </button>
    ${open.value &&
    html`<span class="copy-answer__menu" role="group" aria-label="Copy as">
      <button type="button" class="action" onClick=${() => copy(markdownOf(steps))}>Copy as Markdown</button>
      <button type="button" class="action" onClick=${() => copy(textOf(steps))}>Copy as text</button>
    </span>`}
  </span>`;
}

/** @param {readonly MessageModel[]} steps */
export function markdownOf(steps) {
  return joined(steps.map((step) => step.text));
}

/** @param {readonly MessageModel[]} steps */
function textOf(steps) {
  return joined(steps.map((step) => textOfBlocks(step.blocks)));
}

/** @param {readonly string[]} blocks */
function textOfBlocks(blocks) {
  const template = document.createElement("template");
  template.innerHTML = blocks.join("");
  return plainText(template.content);
}

/** @param {readonly string[]} texts */
function joined(texts) {
  return texts.map((text) => text.trim()).filter(Boolean).join("\n\n");
}
