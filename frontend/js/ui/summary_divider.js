/** @import { Summary } from "../protocol.d.ts" */

import { html } from "../lib.js";
import { count } from "../text/format.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** Where the messages end that the model knows only by their summary. @param {{summary: Summary}} props */
export function SummaryDivider({ summary }) {
  const { connected, session, wishes } = useApp();
  const words =
    summary.messages === 1 ? "1 older message is" : `${count(summary.messages)} older messages are`;
  return html`<div class="summary" data-testid="summary">
    <details>
      <summary><${Icon} name="right" />${words} summarized for the model</summary>
      <div class="summary__text" dir="auto" tabindex="0" role="region" aria-label="Summary">${summary.text}</div>
    </details>
    <button
      type="button"
      class="action"
      aria-label="Undo the summary"
      title="Let the model see the messages themselves again"
      disabled=${!connected.value || session.running.value !== null}
      onClick=${() => wishes.undoCompact(summary.id)}
    >
      <${Icon} name="undo" />Undo
    </button>
  </div>`;
}
