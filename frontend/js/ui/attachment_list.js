/** @import { Attachment } from "../protocol.d.ts" */

import { html } from "../lib.js";
import { isPdf, sizeOf } from "../text/file_words.js";
import { FileName } from "./file_name.js";
import { Icon } from "./icons.js";

/** The files that came with a message. @param {{attachments: readonly Attachment[]}} props */
export function AttachmentList({ attachments }) {
  if (attachments.length === 0) return null;
  return html`<ul class="files" aria-label="Attached files">
    ${attachments.map(
      (file) => html`<li key=${file.sha256}>
        <a
          class="file"
          href=${isPdf(file) ? textOf(file) : hrefOf(file)}
          target="_blank"
          rel="noopener"
          aria-label=${`${file.name} ${sizeOf(file)}`}
        >
          ${file.media_type.startsWith("image/")
            ? html`<img src=${hrefOf(file)} alt="" loading="lazy" />`
            : html`<${Icon} name="file" />`}
          <span class="file__words">
            <${FileName} name=${file.name} />${" "}<span class="file__size">${sizeOf(file)}</span>
          </span>
        </a>
        ${isPdf(file) &&
        html`<a class="action action--icon" href=${hrefOf(file)} aria-label=${`Download ${file.name}`} title="Download the PDF">
          <${Icon} name="download" />
        </a>`}
      </li>`,
    )}
  </ul>`;
}

/** @param {Attachment} file */
const hrefOf = ({ sha256, name }) => `/api/attachments/${sha256}?name=${encodeURIComponent(name)}`;

/** What the model reads of it. @param {Attachment} file */
const textOf = ({ sha256 }) => `/api/attachments/${sha256}/text`;
