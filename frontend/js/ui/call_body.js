/** @import { FileChange, ToolCall } from "../protocol.d.ts" */
/** @import { ToolModel } from "../state/tool.js" */

import { html, useLayoutEffect, useRef } from "../lib.js";
import { argumentsOf, laidOut } from "../text/tool_words.js";
import { useApp } from "./context.js";
import { Diff } from "./diff.js";
import { Icon } from "./icons.js";

/** What a call was given and what it gave. @param {{model: ToolModel}} props */
export function CallBody({ model }) {
  const call = model.call.value;
  return html`
    ${call.changes.length === 0 && html`<${Given} call=${call} />`}
    ${call.changes.map((change) => html`<${Change} key=${change.path} call_id=${call.call_id} change=${change} />`)}
    ${model.output.value !== "" && html`<${Output} model=${model} />`}
  `;
}

/** @param {{call: ToolCall}} props */
function Given({ call }) {
  const given = argumentsOf(call.arguments);
  if (call.name === "bash" && typeof given.command === "string") {
    return html`<pre class="out" tabindex="0" role="region" aria-label="Command">$ ${given.command}</pre>`;
  }
  if (call.arguments.trim() === "{}") return null;
  return html`<pre class="out" tabindex="0" role="region" aria-label="Arguments">${laidOut(call.arguments)}</pre>`;
}

/** The output; while it grows its end stays in view. @param {{model: ToolModel}} props */
function Output({ model }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const running = model.call.value.status === "running";
  useLayoutEffect(() => {
    if (running && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [model.output.value]);
  return html`<pre class="out" ref=${box} tabindex="0" role="region" aria-label="Output">${model.output.value}</pre>`;
}

/** @param {{call_id: string, change: FileChange}} props */
function Change({ call_id, change }) {
  const { connected, wishes } = useApp();
  const words = change.before === null ? "New file" : change.after === null ? "Deleted file" : "Changed file";
  return html`<div class="change" data-testid="change" data-undone=${change.undone}>
    <div class="change__head">
      <span>${words} <code>${change.path}</code></span>
      ${change.undone
        ? html`<span class="change__undone" role="status">Undone</span>`
        : html`<button
            type="button"
            class="action"
            aria-label=${`Undo the change of ${change.path}`}
            disabled=${!connected.value}
            onClick=${() => wishes.undoChange(call_id, change.path)}
          >
            <${Icon} name="undo" />Undo
          </button>`}
    </div>
    <${Diff} text=${change.diff} label=${`Changes of ${change.path}`} />
  </div>`;
}
