import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { Icon } from "../icons.js";
import { Words } from "../settings/parts.js";

/** What went wrong with the hub, and the ways on. @param {{words: string, busy: boolean, onRetry: () => void}} props */
export function Trouble({ words, busy, onRetry }) {
  return html`<div class="set__error" role="alert" data-testid="hub-trouble">
    <${Icon} name="warning" />
    <div class="trouble__words">
      <p><${Words} words=${words} /></p>
      <p><a href=${placeHref("models", "here")}>Models on this machine</a></p>
    </div>
    <button type="button" class="button" disabled=${busy} onClick=${onRetry}>Try again</button>
  </div>`;
}
