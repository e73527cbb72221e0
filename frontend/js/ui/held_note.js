/** @import { Upload } from "../state/attaching.js" */

import { html } from "../lib.js";

/** Why a message is not sent yet. @param {{files: readonly Upload[]}} props  those that it waits for */
export function HeldNote({ files }) {
  const failed = files.filter((file) => file.error);
  return html`<div role="status" class="composer__held">
      ${files.length > 0 && failed.length === 0 && "Your message is sent as soon as its files have been read."}
    </div>
    ${failed.length > 0 &&
    html`<p role="alert" class="composer__held composer__held--bad">
      ${failed.length === 1 ? html`<bdi>${failed[0]?.name}</bdi>` : `${failed.length} files`} cannot be sent, so nothing was.
      Remove ${failed.length === 1 ? "it" : "them"}, then send again.
    </p>`}`;
}

/** Tells a choice of files from any other. @param {readonly Upload[]} files */
export const keysOf = (files) => files.map((file) => file.key).join();
