import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { Icon } from "../icons.js";
import { Words } from "../settings/parts.js";

/** Why a download cannot be, and what to do. @param {{words: string, full: boolean}} props  full: the disk is */
export function WhyNot({ words, full }) {
  return html`<div class="set__error" role="alert">
    <${Icon} name="warning" />
    <p><${Words} words=${words} />${full && html`${" "}<a href=${placeHref("models", "clean-up")}>See what can be removed</a>`}</p>
  </div>`;
}
