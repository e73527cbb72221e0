/** @import { Entry } from "../state/outbox.js" */
/** @import { MessageModel } from "../state/message.js" */

import { html, useSignal } from "../lib.js";
import { promptEnd } from "../text/message_words.js";
import { AttachmentList } from "./attachment_list.js";
import { useApp } from "./context.js";
import { CopyButton } from "./copy_button.js";
import { focusOn, COMPOSER } from "./focus.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";
import { PromptEditor } from "./prompt_editor.js";
import { Siblings } from "./siblings.js";

/** A message of the reader's that the server has. @param {{model: MessageModel}} props */
export function Prompt({ model }) {
  const editing = useSignal(false);
  const end = promptEnd(model.status.value, model.error.value);
  model.version.value;
  return html`<article
    class=${`message message--user ${editing.value ? "message--editing" : ""}`}
    aria-label="You"
    data-status=${model.status}
    data-message-id=${model.id}
  >
    ${editing.value
      ? html`<${PromptEditor} model=${model} onEnd=${() => (editing.value = false)} />`
      : html`<div class="message__row">
          <div class="message__acts">
            <${CopyButton} label="Copy message" words="" text=${() => model.text} />
            <${EditButton} onEdit=${() => (editing.value = true)} />
          </div>
          <div class="bubble">
            ${model.blocks.length ? html`<${Markdown} model=${model} />` : html`<${Plain} text=${model.text} />`}
            <${AttachmentList} attachments=${model.attachments} />
          </div>
        </div>`}
    <${Siblings} model=${model} what="message" />
    ${end && html`<${Unanswered} model=${model} why=${end} />`}
  </article>`;
}

/** @param {{model: MessageModel, why: string}} props */
function Unanswered({ model, why }) {
  const { connected, session, wishes } = useApp();
  const busy = !connected.value || session.running.value !== null;
  return html`<div class="message__foot">
    <span class="message__note message__note--bad">${why}</span>
    <button type="button" class="action" disabled=${busy} onClick=${() => wishes.regenerate(model)}>
      <${Icon} name="retry" />Ask again
    </button>
  </div>`;
}

/** @param {{onEdit: () => void}} props */
function EditButton({ onEdit }) {
  const { session } = useApp();
  return html`<button
    type="button"
    class="action"
    aria-label="Edit and send again"
    title="Edit and send again; this version is kept"
    disabled=${session.running.value !== null}
    onClick=${onEdit}
  >
    <${Icon} name="edit" />
  </button>`;
}

/** A message of the reader's on its way to the server. @param {{entry: Entry}} props */
export function PendingPrompt({ entry }) {
  const { connected } = useApp();
  const failed = entry.error !== null;
  return html`<article class="message message--user" aria-label="You" data-status=${failed ? "failed" : "pending"}>
    <div class=${`bubble ${failed ? "bubble--failed" : "bubble--waiting"}`}>
      <${Plain} text=${entry.text} />
      <${AttachmentList} attachments=${entry.manner?.attachments ?? []} />
    </div>
    <div class="message__foot">
      ${failed
        ? html`<${Failure} entry=${entry} />`
        : html`<span class="message__note">${connected.value ? "Sending…" : "Sent as soon as Fireside is back."}</span>`}
    </div>
  </article>`;
}

/** @param {{text: string}} props */
function Plain({ text }) {
  return text && html`<p class="plain" dir="auto">${text}</p>`;
}

/** @param {{entry: Entry}} props */
function Failure({ entry }) {
  const { client, drafts } = useApp();
  const edit = () => {
    const kept = drafts.get(entry.session_id);
    drafts.set(entry.session_id, kept ? `${entry.text}\n\n${kept}` : entry.text);
    client.discard(entry.client_id);
    focusOn(COMPOSER);
  };
  return html`<span class="message__note message__note--bad" role="alert">Not sent. ${entry.error}</span>
    <button type="button" class="action" onClick=${() => client.retry(entry.client_id)}>
      <${Icon} name="retry" />Retry
    </button>
    <button type="button" class="action" onClick=${edit}><${Icon} name="edit" />Edit</button>`;
}
