/** @import { MessageModel } from "../state/message.js" */

import { html, useComputed } from "../lib.js";
import { reasoningWords } from "../text/message_words.js";
import { Icon } from "./icons.js";

/**
 * What the model thought before it answered: folded, plain text, live while it goes on.
 *
 * @param {{model: MessageModel}} props
 */
export function Reasoning({ model }) {
  const thought = useComputed(() => model.reasoning.value !== "");
  if (!thought.value) return null;
  const live = model.status.value === "running" && model.reasoning_ms.value === null;
  return html`<details class="thought" data-testid="reasoning" data-live=${live}>
    <summary>
      ${live ? html`<span class="turn__ember"></span>` : html`<${Icon} name="right" />`}
      ${reasoningWords(live, model.reasoning_ms.value)}
    </summary>
    <div class="thought__text" dir="auto" tabindex="0" role="region" aria-label="Reasoning">${model.reasoning}</div>
  </details>`;
}
