/** @import { ArticleEdit } from "../../state/memory_edit.js" */

import { html, useLayoutEffect, useRef } from "../../lib.js";
import { CopyButton } from "../copy_button.js";
import { Diff } from "../diff.js";

/**
 * Somebody else has changed the article since: what saving would do to it now, and the ways to decide.
 *
 * @param {{edit: ArticleEdit, onOverwrite: () => void}} props
 */
export function ConflictBox({ edit, onOverwrite }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const conflict = edit.conflict.value;
  useLayoutEffect(() => {
    if (conflict) box.current?.focus();
  }, [conflict]);
  if (!conflict) return null;
  const gone = conflict.text === null;
  return html`<section class="conflict" ref=${box} tabindex="-1" role="alert" aria-label="Conflict">
    <p><b>${conflict.words}</b></p>
    <${Diff} text=${conflict.diff} label="From the article as it is now to your text" />
    <div class="conflict__acts">
      <button type="button" class="button button--go" disabled=${edit.busy.value} onClick=${onOverwrite}>
        ${gone ? "Write it anew" : "Save mine over it"}
      </button>
      <button type="button" class="button" disabled=${edit.busy.value} onClick=${() => edit.takeTheirs()}>
        ${gone ? "Drop mine" : "Take theirs, drop mine"}
      </button>
      <${CopyButton} label="Copy mine: what you have written" words="Copy mine" text=${() => edit.text.peek()} />
    </div>
    <p class="conflict__hint">
      ${gone ? "" : "Their version stays in the history whatever you choose. "}
      ${"You can also change your text below first."}
    </p>
  </section>`;
}
