/** @import { AlwaysOffer, Approval, ToolCall } from "../protocol.d.ts" */
/** @import { ToolModel } from "../state/tool.js" */

import { html, useEffect, useId, useSignal } from "../lib.js";
import { toolWords } from "../text/tool_words.js";
import { editable } from "../text/edited_arguments.js";
import { useApp } from "./context.js";
import { Diff } from "./diff.js";
import { DraftField } from "./draft_field.js";
import { APPROVAL, focusComposer, focusOn } from "./focus.js";
import { Icon } from "./icons.js";
import { keyNames } from "./keys.js";

/** @typedef {Pick<Approval, "decision" | "always">} Ruling */

/**
 * A call that waits for the person: what would happen exactly, and the ways to decide. It never takes the focus
 * by itself; a shortcut brings the reader here, Enter allows, Escape denies.
 *
 * @param {{model: ToolModel}} props
 */
export function ApprovalCard({ model }) {
  const { announcer, connected, wishes } = useApp();
  const call = model.call.value;
  const id = useId();
  /** The arguments as the person wrote them anew; null as long as they are the model's. */
  const draft = useSignal(/** @type {string | null} */ (null));
  const { words, icon, subject } = toolWords(call);
  useEffect(() => announcer.say(`Permission needed: ${words}. ${call.question ?? ""}`), [call.call_id]);
  const form = editable(call);
  const edited = draft.value === null ? null : form.encode(draft.value);
  const decide = (/** @type {Ruling} */ ruling) => {
    const allowed = ruling.decision === "allow" && edited !== null;
    if (wishes.rule(call.call_id, { ...ruling, ...(allowed && { edited_arguments: edited.json }) })) focusComposer();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    if (draft.value === null) return decide({ decision: "deny" });
    draft.value = null;
    focusOn(APPROVAL);
  };
  return html`<section
    class="call call--asking"
    data-testid="approval"
    data-status="asking"
    data-call-id=${call.call_id}
    aria-labelledby=${id}
    onKeyDown=${onKeyDown}
  >
    <h2 class="call__ask" id=${id}>
      <${Icon} name=${icon} />
      <span class="call__asked">
        ${words}?${call.preview?.kind === "diff" && html`${" "}<code dir="auto">${subject}</code>`}
      </span>
      <kbd aria-hidden="true">${keyNames.approval}</kbd>
    </h2>
    ${call.question && html`<p class="call__question">${call.question}</p>`}
    ${draft.value === null
      ? html`<${Shown} call=${call} />`
      : html`<${DraftField} label=${form.label} draft=${draft} />`}
    ${edited?.error && html`<p class="call__question message__note--bad" role="alert">${edited.error}</p>`}
    <div class="call__buttons">
      <button
        type="button"
        class="button button--go"
        id=${APPROVAL}
        aria-keyshortcuts="Alt+Shift+A"
        disabled=${!connected.value || Boolean(edited?.error)}
        onClick=${() => decide({ decision: "allow" })}
      >
        ${edited ? "Allow once, as edited" : "Allow once"}
      </button>
      <button type="button" class="button" disabled=${!connected.value} onClick=${() => decide({ decision: "deny" })}>
        Deny
      </button>
      <button
        type="button"
        class="button"
        aria-expanded=${edited !== null}
        onClick=${() => (draft.value = edited ? null : form.text)}
      >
        ${edited ? "Do not edit" : "Edit"}
      </button>
      <span class="call__keys" aria-hidden="true"><kbd>esc</kbd> ${edited ? "ends editing" : "denies"}</span>
    </div>
    ${call.offers.length > 0 && draft.value === null && html`<${Offers} offers=${call.offers} onChoose=${decide} />`}
  </section>`;
}

/** Exactly what would happen. @param {{call: ToolCall}} props */
function Shown({ call }) {
  const preview = call.preview ?? { kind: "arguments", text: editable(call).text };
  if (preview.kind === "diff") return html`<${Diff} text=${preview.text} label="What would change" />`;
  const label = preview.kind === "command" ? "Command" : preview.kind === "request" ? "What is sent" : "Arguments";
  return html`<pre class="out" tabindex="0" role="region" aria-label=${label}>${preview.text}</pre>`;
}

/** @param {{offers: readonly AlwaysOffer[], onChoose: (ruling: Ruling) => void}} props */
function Offers({ offers, onChoose }) {
  const { connected } = useApp();
  return html`<details class="offers">
    <summary><${Icon} name="right" />Always allow…</summary>
    <ul>
      ${offers.map(
        ({ scope, words }) => html`<li key=${scope}>
          <button
            type="button"
            class="button"
            data-scope=${scope}
            disabled=${!connected.value}
            onClick=${() => onChoose({ decision: "allow", always: scope })}
          >
            ${words}
          </button>
        </li>`,
      )}
    </ul>
  </details>`;
}
