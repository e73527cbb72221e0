/** @import { Signal } from "../lib.js" */

import { html, useLayoutEffect, useRef } from "../lib.js";

/**
 * A text that the person edits where it stood; it takes the focus, for it was just asked for.
 *
 * @param {{label: string, draft: Signal<string | null>}} props
 */
export function DraftField({ label, draft }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => area.current?.focus(), []);
  return html`<textarea
    ref=${area}
    class="call__edit"
    aria-label=${label}
    spellcheck=${false}
    dir="auto"
    rows="3"
    value=${draft.value}
    onInput=${() => (draft.value = area.current?.value ?? "")}
  ></textarea>`;
}
