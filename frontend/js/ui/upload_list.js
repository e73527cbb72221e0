/** @import { Upload } from "../state/attaching.js" */

import { html } from "../lib.js";
import { readingWords, sizeOf } from "../text/file_words.js";
import { useApp } from "./context.js";
import { FileName } from "./file_name.js";
import { Icon } from "./icons.js";

/** The files that go with the message that is being written. @param {{uploads: readonly Upload[]}} props */
export function UploadList({ uploads }) {
  const { attaching } = useApp();
  if (uploads.length === 0) return null;
  return html`<ul class="files files--going" aria-label="Files to be sent">
    ${uploads.map(
      (upload) => html`<li key=${upload.key} class=${`file ${upload.error ? "file--bad" : ""}`} data-testid="upload">
        <${Icon} name=${upload.error ? "warning" : "file"} />
        <span class="file__words">
          <${FileName} name=${upload.name} />
          <span class="file__size" role="status">${stateOf(upload)}</span>
        </span>
        <button
          type="button"
          class="tool"
          aria-label=${`Remove file: ${upload.name}`}
          onClick=${() => attaching.remove([upload])}
        >
          <${Icon} name="close" />
        </button>
      </li>`,
    )}
  </ul>`;
}

/** @param {Upload} upload */
function stateOf({ attachment, ready, reading, error }) {
  if (error) return error;
  if (ready && attachment) return sizeOf(attachment);
  if (reading) return readingWords(reading);
  return attachment ? "Looking whether it is still there…" : "Uploading…";
}
