/** @import { MessageModel } from "../state/message.js" */

import { html, useLayoutEffect, useRef, useSignal } from "../lib.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** The prompts that wait for the running answer, in their order. */
export function Queue() {
  const { session } = useApp();
  const queued = session.queued.value;
  if (queued.length === 0) return null;
  return html`<ul class="queue" aria-label="Waiting messages">
    ${queued.map((model) => html`<${Waiting} key=${model.key} model=${model} />`)}
  </ul>`;
}

/** @param {{model: MessageModel}} props */
function Waiting({ model }) {
  const { connected, wishes } = useApp();
  const editing = useSignal(false);
  model.version.value;
  const edit = () => (editing.value = true);
  const remove = () => wishes.editQueued(model, "");
  if (editing.value) return html`<${Editing} model=${model} onEnd=${() => (editing.value = false)} />`;
  const when = model.steering.value ? "Seen at the next step" : "Asked after the answer";
  const lost = !connected.value;
  return html`<li class="waiting" data-testid="queued" data-steering=${model.steering.value}>
    <span class="waiting__when">${when}</span>
    <span class="waiting__text" dir="auto">${model.text}</span>
    <button type="button" class="tool" aria-label="Edit waiting message" disabled=${lost} onClick=${edit}>
      <${Icon} name="edit" />
    </button>
    <button type="button" class="tool" aria-label="Remove waiting message" disabled=${lost} onClick=${remove}>
      <${Icon} name="close" />
    </button>
  </li>`;
}

/** @param {{model: MessageModel, onEnd: () => void}} props */
function Editing({ model, onEnd }) {
  const { wishes } = useApp();
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => area.current?.focus(), []);
  const save = () => {
    const text = area.current?.value ?? "";
    if (text === model.text || wishes.editQueued(model, text.trim() ? text : "")) onEnd();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") onEnd();
    else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) save();
    else return;
    event.preventDefault();
  };
  return html`<li class="waiting waiting--editing">
    <textarea ref=${area} dir="auto" rows="2" aria-label="Waiting message" onKeyDown=${onKeyDown}>${model.text}</textarea>
    <button type="button" class="tool" aria-label="Keep the change" onClick=${save}><${Icon} name="check" /></button>
    <button type="button" class="tool" aria-label="Leave it as it was" onClick=${onEnd}><${Icon} name="close" /></button>
  </li>`;
}
