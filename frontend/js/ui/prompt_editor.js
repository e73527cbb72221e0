/** @import { MessageModel } from "../state/message.js" */

import { html, useLayoutEffect, useRef } from "../lib.js";
import { useApp } from "./context.js";
import { focusComposer } from "./focus.js";

/**
 * Says a message anew, in its place. What was said before is kept as another branch.
 *
 * @param {{model: MessageModel, onEnd: () => void}} props
 */
export function PromptEditor({ model, onEnd }) {
  const { client, session } = useApp();
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => {
    area.current?.focus();
    area.current?.setSelectionRange(model.text.length, model.text.length);
  }, []);
  const end = () => {
    onEnd();
    focusComposer();
  };
  const send = () => {
    const text = area.current?.value ?? "";
    if ((!text.trim() && model.attachments.length === 0) || session.running.peek()) return;
    const after = model.parent.peek();
    const place = after === null ? { first: true } : { after };
    client.ask(text, { ...place, ...(model.attachments.length && { attachments: model.attachments }) });
    end();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") end();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send();
    else return;
    event.preventDefault();
  };
  return html`<form
    class="editor"
    aria-label="Edit message"
    onSubmit=${(/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      send();
    }}
  >
    <textarea ref=${area} dir="auto" rows="3" aria-label="Edit message" onKeyDown=${onKeyDown}>${model.text}</textarea>
    <div class="editor__buttons">
      <button type="button" class="button" onClick=${end}>Cancel</button>
      <button type="submit" class="button button--go" disabled=${session.running.value !== null}>Send again</button>
    </div>
  </form>`;
}
