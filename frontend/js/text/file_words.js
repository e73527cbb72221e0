/** @import { Attachment } from "../protocol.d.ts" */
/** @import { Reading } from "../state/attaching.js" */

import { bytes, count } from "./format.js";

/** @param {{media_type: string}} file */
export const isPdf = ({ media_type }) => media_type === "application/pdf";

/** What a file is, as its chip says it: a PDF by its pages. @param {Attachment} file */
export function sizeOf(file) {
  if (!isPdf(file)) return bytes(file.size);
  return `PDF, ${file.pages ? `${count(file.pages)} ${file.pages === 1 ? "page" : "pages"}` : bytes(file.size)}`;
}

/** @param {Reading} reading */
export function readingWords({ read, pages }) {
  return pages ? `PDF, reading page ${count(Math.min(read + 1, pages))} of ${count(pages)}…` : "PDF, reading…";
}
