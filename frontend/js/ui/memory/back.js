import { html } from "../../lib.js";
import { Icon } from "../icons.js";

/** The way back to the list, where the window has no room for both. @param {{href: string}} props */
export function Back({ href }) {
  return html`<a class="memory__back" href=${href}><${Icon} name="left" />All articles</a>`;
}
