import { html } from "../../lib.js";
import { placeHref } from "../../state/router.js";

/** The way on from a model that needs more memory than there is. */
export function Smaller() {
  return html`<a href=${placeHref("models", "recommended")}>See what suits this machine</a>`;
}
