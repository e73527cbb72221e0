/** @import { Memory } from "../../state/memory.js" */

import { html } from "../../lib.js";
import { listHref, newHref, proposalsHref } from "../../state/memory_place.js";
import { several } from "../../text/memory_words.js";
import { CopyButton } from "../copy_button.js";
import { Back } from "./back.js";
import { GitNote } from "./git_note.js";
import { Lately } from "./lately.js";

/** What the memory is, where it lies, and how it grows. @param {{memory: Memory}} props */
export function About({ memory }) {
  const { root = "" } = memory.status.value ?? {};
  const number = memory.articles.value.length;
  const waiting = memory.proposals.value.length;
  return html`<div class="memory__column about">
    <${Back} href=${listHref} />
    <h2 tabindex="-1">${number === 0 ? "Nothing is remembered yet" : several(number, "article")}</h2>
    <${GitNote} memory=${memory} />
    ${waiting > 0 &&
    html`<p class="about__waiting">
      <a href=${proposalsHref}>
        ${several(waiting, "proposal")} of the model ${waiting === 1 ? "waits" : "wait"} for you
      </a>
    </p>`}
    ${number > 0 && html`<${Lately} articles=${memory.articles.value} />`}
    <h3>How it grows</h3>
    <p>
      Say “remember that …” in a chat, and the model proposes a change that you accept, edit or refuse. Or${" "}
      <a href=${newHref()}>write an article</a> yourself. Link articles with <code>[[Name]]</code>.
    </p>
    <h3>Where it lies</h3>
    <div class="about__root">
      <code>${root}</code>
      <${CopyButton} label="Copy the folder’s path" words="" text=${() => root} />
    </div>
    <p class="about__faint">
      Plain Markdown in a git repository on this machine. In Obsidian choose “Open folder as vault” and take this
      folder. What you change there or in an editor is here at once.
    </p>
  </div>`;
}
