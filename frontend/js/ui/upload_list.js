import { html } from "../lib.js";
import { readingWords, sizeOf } from "../text/file_words.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** The files that go with the message that is being written. */
export function UploadList() {
  const { attaching, session } = useApp();
  const uploads = attaching.of(session.id.value);
  if (uploads.length === 0) return null;
  return html`<ul class="files files--going" aria-label="Files to be sent">
    ${uploads.map(
      ({ key, name, attachment, reading, error }) => html`<li
        key=${key}
        class=${`file ${error ? "file--bad" : ""}`}
        data-testid="upload"
      >
        <${Icon} name=${error ? "warning" : "file"} />
        <span class="file__name" dir="auto">${name}</span>
        <span class="file__size" role="status"
          >${error || (attachment ? sizeOf(attachment) : reading ? readingWords(reading) : "Uploading…")}</span
        >
        <button type="button" class="tool" aria-label=${`Remove file: ${name}`} onClick=${() => attaching.remove(key)}>
          <${Icon} name="close" />
        </button>
      </li>`,
    )}
  </ul>`;
}
