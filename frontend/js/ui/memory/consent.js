/** @import { Memory } from "../../state/memory.js" */

import { html } from "../../lib.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";

/** The memory is off until the person says yes. @param {{memory: Memory}} props */
export function Consent({ memory }) {
  const { announcer } = useApp();
  const { root, git_program } = memory.status.value ?? { root: "", git_program: true };
  const begin = async () => {
    await memory.begin();
    if (!memory.error.peek()) announcer.say("The memory is on.");
  };
  return html`<div class="consent">
    <div class="consent__sheet">
      <${Icon} name="book" />
      <h2>Let Fireside remember?</h2>
      <p class="consent__lead">Memory is off. Nothing that you say is kept beyond its chat.</p>
      <ol class="consent__points">
        <li><b>What it is.</b> A small wiki about you and your work. The model looks things up in it, and proposes
          what to add; nothing is written before you accept it, word for word.</li>
        <li><b>Where it is.</b> On this machine, in <code class="consent__root">${root}</code>, and nowhere else.</li>
        <li><b>What it is made of.</b> Plain Markdown files in a git repository: every change can be undone, and the
          folder opens as a vault in Obsidian or in any editor.</li>
      </ol>
      ${!git_program &&
      html`<p class="consent__note" role="note">
        <${Icon} name="warning" />
        <span>
          The git program is not installed here. Memory can be read without it, and written to once git is there.
        </span>
      </p>`}
      ${memory.error.value && html`<p class="consent__note consent__note--bad" role="alert">${memory.error.value}</p>`}
      <div class="consent__acts">
        <button type="button" class="button button--go" disabled=${memory.busy.value} onClick=${begin}>
          Turn memory on
        </button>
        <a class="button" href="#/chat">Not now</a>
      </div>
      <p class="consent__after">To turn it off again, move the folder away.</p>
    </div>
  </div>`;
}
