import { html, useLayoutEffect, useRef } from "../../lib.js";
import { Icon } from "../icons.js";

/** Why something was not done, told where the person looks. @param {{words: string}} props */
export function Trouble({ words }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [words]);
  return html`<div class="set__error" role="alert" tabindex="-1" ref=${box}><${Icon} name="warning" /><p>${words}</p></div>`;
}
