/** @import { DeletedChat, DeletedChats } from "../../net/deleted_api.js" */

import { html, useEffect, useRef, useSignal } from "../../lib.js";
import { reasonOf } from "../../net/answers.js";
import { purgeChats, readDeleted, restoreChat } from "../../net/deleted_api.js";
import { chatsWords } from "../../text/deleted_words.js";
import { useApp } from "../context.js";
import { DELETED } from "../focus.js";
import { Confirm, Empty, Loaded, focusIfLost, useListing } from "../settings/parts.js";
import { DeletedRow, titleOf } from "./row.js";
import { Trouble } from "./trouble.js";

/** What failed, where that is not a single chat. */
const ALL = "all";
const NO_TROUBLE = { at: "", words: "" };

/** Deleted chats: back into the list, or out of the world. */
export function DeletedView() {
  const { announcer, chats, notices } = useApp();
  const listing = useListing(readDeleted);
  const trouble = useSignal(NO_TROUBLE);
  const view = useRef(/** @type {HTMLElement | null} */ (null));
  const { value: rows } = chats.rows;
  // The list of chats comes anew with every change, in whatever page it was made.
  useEffect(() => {
    if (listing.value.peek()) void follow();
  }, [rows]);
  /** @returns {HTMLElement[]} */
  const items = () => [...(view.current?.querySelectorAll("li") ?? [])];

  /** The row that has the focus may be gone by what was done in another page. */
  const follow = async () => {
    const focused = document.activeElement;
    const inside = view.current?.contains(focused);
    const place = items().findIndex((item) => item.contains(focused));
    await listing.load();
    if (inside) settle(Math.max(place, 0));
  };

  const forget = () => void (trouble.value = NO_TROUBLE);
  /** What failed is about a chat that is no longer in the list. */
  const homeless = () => {
    const { at } = trouble.value;
    const there = listing.value.peek()?.sessions ?? [];
    return at !== "" && (at === ALL ? there.length === 0 : there.every(({ id }) => id !== at));
  };

  /** Where the focus is lost, the row that is in this place now has it. @param {number} place */
  const settle = (place) =>
    focusIfLost(() => {
      if (homeless()) return view.current?.querySelector("[role=alert]");
      const left = items();
      return (left[Math.min(place, left.length - 1)] ?? view.current)?.querySelector("button, h2");
    });

  /**
   * @param {DeletedChat[]} concerned
   * @param {() => Promise<unknown>} work
   * @param {string} done  what is said when it was done
   * @param {number} [place]  of the row that goes, whose place the focus keeps; none: it is about all of them
   */
  const act = async (concerned, work, done, place) => {
    forget();
    try {
      await work();
      for (const { id } of concerned) notices.forget(id);
      announcer.say(done);
    } catch (error) {
      trouble.value = { at: place === undefined ? ALL : (concerned[0]?.id ?? ALL), words: reasonOf(error) };
    }
    await listing.load();
    if (listing.error.peek()) forget();
    settle(place ?? 0);
  };
  /** @param {DeletedChat} chat @param {number} place */
  const restore = async (chat, place) => {
    const done = `Restored: ${titleOf(chat)}`;
    await act([chat], () => restoreChat(chat.id), done, place);
    if (!trouble.peek().words) notices.offerChat(done, chat.id);
  };
  return html`<section class="view" aria-label="Recently deleted" ref=${view}>
    <div class="set set--alone">
      <${Loaded} listing=${listing} what="The deleted chats">
        ${(/** @type {DeletedChats} */ { sessions, kept_days }) => html`
          <h2 id=${DELETED} tabindex="-1">${sessions.length ? `${chatsWords(sessions.length)} can be restored` : "Nothing to restore"}</h2>
          ${homeless() && html`<${Trouble} words=${trouble.value.words} />`}
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
                        trouble=${trouble.value.at === chat.id ? trouble.value.words : ""}
                        onAsk=${forget}
                        onRestore=${() => restore(chat, place)}
                        onPurge=${() => act([chat], () => purgeChats([chat.id]), `Deleted for good: ${titleOf(chat)}`, place)}
                      />`,
                  )}
                </ul>
                <div class="save">
                  <${Confirm}
                    label="Delete all for good"
                    about=${chatsWords(sessions.length)}
                    question=${sessions.length === 1 ? "It cannot be brought back." : `These ${chatsWords(sessions.length)} cannot be brought back.`}
                    yes="Delete all"
                    no="Keep them"
                    onAsk=${forget}
                    onYes=${() => act(sessions, () => purgeChats(sessions.map(({ id }) => id)), `Deleted for good: ${chatsWords(sessions.length)}`)}
                  />
                </div>
                ${trouble.value.at === ALL && html`<${Trouble} words=${trouble.value.words} />`}`}
        `}
      <//>
    </div>
  </section>`;
}
