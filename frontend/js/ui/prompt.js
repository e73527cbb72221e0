/** @import { Entry } from "../state/outbox.js" */
/** @import { MessageModel } from "../state/message.js" */

import { html } from "../lib.js";
import { promptEnd } from "../text/message_words.js";
import { useApp } from "./context.js";
import { CopyButton } from "./copy_button.js";
import { focusOn, COMPOSER } from "./focus.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";

/** A message of the reader's that the server has. @param {{model: MessageModel}} props */
export function Prompt({ model }) {
  const { session } = useApp();
  const queued = model.status.value === "queued" && session.running.value !== null;
  const end = promptEnd(model.status.value, model.error.value);
  return html`<article class="message message--user" aria-label="You" data-status=${model.status} data-message-id=${model.id}>
    <div class="message__row">
      <${CopyButton} text=${() => model.text} brief />
      <div class=${`bubble ${queued ? "bubble--waiting" : ""}`}>
        ${model.blocks.length ? html`<${Markdown} model=${model} />` : html`<${Plain} text=${model.text} />`}
      </div>
    </div>
    ${queued && html`<p class="message__note">Queued: asked when the answer is done.</p>`}
    ${end && html`<p class="message__note message__note--bad">${end}</p>`}
  </article>`;
}

/** A message of the reader's on its way to the server. @param {{entry: Entry}} props */
export function PendingPrompt({ entry }) {
  const { connected } = useApp();
  const failed = entry.error !== null;
  return html`<article class="message message--user" aria-label="You" data-status=${failed ? "failed" : "pending"}>
    <div class=${`bubble ${failed ? "bubble--failed" : "bubble--waiting"}`}><${Plain} text=${entry.text} /></div>
    <div class="message__foot">
      ${failed
        ? html`<${Failure} entry=${entry} />`
        : html`<span class="message__note">${connected.value ? "Sending…" : "Sent as soon as Fireside is back."}</span>`}
    </div>
  </article>`;
}

/** @param {{text: string}} props */
function Plain({ text }) {
  return html`<p class="plain" dir="auto">${text}</p>`;
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
