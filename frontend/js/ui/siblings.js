/** @import { MessageModel } from "../state/message.js" */

import { html } from "../lib.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** Goes between a message and those in its place: "2 / 3". @param {{model: MessageModel, what: string}} props */
export function Siblings({ model, what }) {
  const { connected, session, wishes } = useApp();
  const all = session.tree.siblings(model);
  if (all.length < 2) return null;
  const place = all.indexOf(model);
  const busy = !connected.value || session.running.value !== null;
  const step = (/** @type {-1 | 1} */ way, /** @type {"left" | "right"} */ icon, /** @type {string} */ words) => {
    const other = all[place + way];
    return html`<button
      type="button"
      class="action action--icon"
      aria-label=${`${words} ${what}`}
      disabled=${busy || !other}
      onClick=${() => other && wishes.selectBranch(other.id)}
    >
      <${Icon} name=${icon} />
    </button>`;
  };
  return html`<span class="siblings" role="group" aria-label=${`Versions of this ${what}`} data-testid="siblings">
    ${step(-1, "left", "Previous")}
    <span class="siblings__place">${place + 1} / ${all.length}</span>
    ${step(1, "right", "Next")}
  </span>`;
}
