/** @import { DeletedChat } from "../../net/deleted_api.js" */

import { html } from "../../lib.js";
import { deletedWords } from "../../text/deleted_words.js";
import { FactLine } from "../fact_line.js";
import { Confirm } from "../settings/parts.js";
import { Trouble } from "./trouble.js";

/** @param {DeletedChat} chat */
export const titleOf = (chat) => chat.title || "New chat";

/**
 * @param {{chat: DeletedChat, trouble: string, onAsk: () => void, onRestore: () => unknown, onPurge: () => unknown}} props
 *   trouble: why the last wish about it failed
 */
export function DeletedRow({ chat, trouble, onAsk, onRestore, onPurge }) {
  const title = titleOf(chat);
  return html`<li class="row" data-testid="deleted-chat">
    <div class="row__text">
      <p><b class="row__title" dir="auto" title=${title}>${title}</b></p>
      <p class="row__note"><${FactLine} line=${deletedWords(chat, new Date())} /></p>
    </div>
    <div class="row__acts">
      <button type="button" class="button" aria-label=${`Restore: ${title}`} onClick=${onRestore}>Restore</button>
      <${Confirm}
        label="Delete for good"
        about=${title}
        question="It cannot be brought back."
        yes="Delete for good"
        onAsk=${onAsk}
        onYes=${onPurge}
      />
    </div>
    ${trouble && html`<${Trouble} words=${trouble} />`}
  </li>`;
}
