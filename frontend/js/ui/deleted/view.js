/** @import { DeletedChat, DeletedChats } from "../../net/deleted_api.js" */

import { html, useEffect, useRef, useSignal } from "../../lib.js";
import { reasonOf } from "../../net/answers.js";
import { purgeChats, readDeleted, restoreChat } from "../../net/deleted_api.js";
import { chatsWords } from "../../text/deleted_words.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { Confirm, Empty, Loaded, focusIfLost, useListing } from "../settings/parts.js";
import { DeletedRow, titleOf } from "./row.js";

/** Deleted chats: back into the list, or out of the world. */
export function DeletedView() {
  const { announcer, chats, notices } = useApp();
  const listing = useListing(readDeleted);
  const trouble = useSignal("");
  const view = useRef(/** @type {HTMLElement | null} */ (null));
  const { value: rows } = chats.rows;
  // The list of chats comes anew with every change, in whatever page it was made.
  useEffect(() => {
    if (listing.value.peek()) void listing.load();
  }, [rows]);

  /**
   * @param {DeletedChat[]} concerned
   * @param {() => Promise<unknown>} work
   * @param {string} done  what is said when it was done
   * @param {number} [place]  of the row that goes, whose place the focus keeps
   */
  const act = async (concerned, work, done, place = 0) => {
    trouble.value = "";
    try {
      await work();
      for (const { id } of concerned) notices.forget(id);
      announcer.say(done);
    } catch (error) {
      trouble.value = reasonOf(error);
    }
    await listing.load();
    if (listing.error.peek()) trouble.value = "";
    focusIfLost(() => {
      const left = view.current?.querySelectorAll("li") ?? [];
      return (left[Math.min(place, left.length - 1)] ?? view.current)?.querySelector("button, h2");
    });
  };
  return html`<section class="view" aria-label="Recently deleted" ref=${view}>
    <div class="set set--alone">
      <${Loaded} listing=${listing} what="The deleted chats">
        ${(/** @type {DeletedChats} */ { sessions, kept_days }) => html`
          <h2>${sessions.length ? `${chatsWords(sessions.length)} can be restored` : "Nothing to restore"}</h2>
          ${trouble.value && html`<div class="set__error" role="alert"><${Icon} name="warning" /><p>${trouble.value}</p></div>`}
          ${sessions.length === 0
            ? html`<${Empty} icon="trash">Deleted chats wait here for ${kept_days} days. There are none now.<//>`
            : html`<p class="set__lead">
                  A deleted chat waits here for ${kept_days} days. Then it is deleted for good, with its files and all traces
                  in the search.
                </p>
                <ul class="rows" aria-label="Deleted chats">
                  ${sessions.map(
                    (chat, place) =>
                      html`<${DeletedRow}
                        key=${chat.id}
                        chat=${chat}
                        onRestore=${() => act([chat], () => restoreChat(chat.id), `Restored: ${titleOf(chat)}`, place)}
                        onPurge=${() => act([chat], () => purgeChats([chat.id]), `Deleted for good: ${titleOf(chat)}`, place)}
                      />`,
                  )}
                </ul>
                <div class="save">
                  <${Confirm}
                    label="Delete all for good"
                    about=${chatsWords(sessions.length)}
                    question=${`Nothing of ${sessions.length === 1 ? "it" : `these ${chatsWords(sessions.length)}`} can be had back.`}
                    yes="Delete all"
                    no="Keep them"
                    onYes=${() => act(sessions, () => purgeChats(sessions.map(({ id }) => id)), `Deleted for good: ${chatsWords(sessions.length)}`)}
                  />
                </div>`}
        `}
      <//>
    </div>
  </section>`;
}
