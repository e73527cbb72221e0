/** @import { Memory } from "../../state/memory.js" */

import { html, useMemo, useSignal } from "../../lib.js";
import { ArticleEdit, unsavedOf } from "../../state/memory_edit.js";
import { articleHref, listHref } from "../../state/memory_place.js";
import { useApp } from "../context.js";
import { Back } from "./back.js";
import { Editor } from "./editor.js";
import { GitNote } from "./git_note.js";

/** An article that is not there yet. @param {{memory: Memory, name: string}} props  name: where it is known already */
export function NewArticle({ memory, name }) {
  const { announcer } = useApp();
  const typed = useSignal(name);
  const edit = useMemo(() => new ArticleEdit(name, { text: "", hash: "" }, unsavedOf(name) ?? undefined), [name]);
  const saved = async (/** @type {string} */ as) => {
    await memory.load();
    announcer.say("Saved.");
    location.hash = articleHref(as);
  };
  const leave = () => (location.hash = listHref);
  if (!memory.writable.value) {
    return html`<div class="memory__column"><${Back} href=${listHref} /><${GitNote} memory=${memory} /></div>`;
  }
  return html`<${Editor} edit=${edit} title="New article" name=${typed} onSaved=${saved} onLeave=${leave} />`;
}
