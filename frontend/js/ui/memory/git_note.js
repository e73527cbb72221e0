/** @import { Memory } from "../../state/memory.js" */

import { html } from "../../lib.js";
import { Icon } from "../icons.js";

/** Why nothing can be changed, and what to do about it. @param {{memory: Memory}} props */
export function GitNote({ memory }) {
  const status = memory.status.value;
  if (!status || memory.writable.value) return null;
  return html`<div class="memory__git" role="note">
    <${Icon} name="warning" />
    ${status.git_program
      ? html`<p>
          This folder has no git repository, so it can only be read: Fireside writes nothing that cannot be undone.
          <button type="button" class="button" disabled=${memory.busy.value} onClick=${() => memory.begin()}>
            Make one
          </button>
        </p>`
      : html`<p>
          The git program is not installed, so the memory can only be read: Fireside writes nothing that cannot be
          undone. Install git, then${" "}
          <button type="button" class="button" onClick=${() => memory.load()}>look again</button>
        </p>`}
    ${memory.error.value && html`<p role="alert">${memory.error.value}</p>`}
  </div>`;
}
