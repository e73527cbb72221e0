/** @import { DeletedChat } from "../net/deleted_api.js" */

import { html, useEffect, useMemo, useSignal } from "../lib.js";
import { reasonOf } from "../net/answers.js";
import { readDeleted, restoreChat } from "../net/deleted_api.js";
import { href } from "../state/router.js";
import { Listing } from "../state/settings_listing.js";
import { deletedWords } from "../text/deleted_words.js";
import { useApp } from "./context.js";
import { FactLine } from "./fact_line.js";

/** There is no such chat, or it was deleted and can be restored; it opens when it is back, whoever restores it. */
export function MissingChat() {
  const { chats, client, session } = useApp();
  const deleted = useMemo(() => new Listing(readDeleted), []);
  const { value: id } = session.id;
  const { value: rows } = chats.rows;
  useEffect(() => {
    if (id && chats.find(id)) client.show(id);
    else void deleted.load();
  }, [id, rows]);
  const chat = deleted.value.value?.sessions.find((other) => other.id === id);
  return html`<div class="welcome">
    ${chat ? html`<${Restorable} key=${chat.id} chat=${chat} />` : html`<${Unknown} />`}
    <a class="button" href=${href(null)}>Start a new chat</a>
  </div>`;
}

function Unknown() {
  return html`<h2>This chat is not here</h2>
    <div class="welcome__note"><p>It was deleted, or its address is not quite right. Nothing else was changed.</p></div>`;
}

/** @param {{chat: DeletedChat}} props */
function Restorable({ chat }) {
  const { client } = useApp();
  const busy = useSignal(false);
  const trouble = useSignal("");
  const restore = async () => {
    busy.value = true;
    trouble.value = "";
    try {
      await restoreChat(chat.id);
      client.show(chat.id);
    } catch (error) {
      trouble.value = reasonOf(error);
    } finally {
      busy.value = false;
    }
  };
  return html`<h2>This chat is deleted</h2>
    <div class="welcome__note">
      <p><b class="row__title" dir="auto" title=${chat.title}>${chat.title || "New chat"}</b></p>
      <p><${FactLine} line=${deletedWords(chat, new Date())} /></p>
      ${trouble.value && html`<p role="alert">It could not be restored. ${trouble.value}</p>`}
    </div>
    <button type="button" class="button button--go" disabled=${busy.value} onClick=${restore}>Restore</button>`;
}
