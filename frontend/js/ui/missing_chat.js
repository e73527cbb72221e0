import { html } from "../lib.js";
import { href } from "../state/router.js";

export function MissingChat() {
  return html`<div class="welcome">
    <h2>This chat is not here</h2>
    <div class="welcome__note"><p>It was deleted, or its address is not quite right. Nothing else was changed.</p></div>
    <a class="button" href=${href(null)}>Start a new chat</a>
  </div>`;
}
