import { html } from "../lib.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** Stands over the conversation until it is there. */
export function Opening() {
  const { client, connected, engine, session } = useApp();
  if (session.view.value !== "opening") return null;
  if (session.trouble.value) {
    return html`<div class="opening" role="alert">
      <div class="opening__words">
        <${Icon} name="warning" />
        <h2>This chat cannot be read just now</h2>
        <p>${session.trouble.value}</p>
        <button type="button" class="button" onClick=${() => client.open()}>Try again</button>
      </div>
    </div>`;
  }
  if (!connected.value && engine.reachable.value === false) {
    return html`<div class="opening" role="status">
      <p class="opening__words">This chat is shown as soon as Fireside is back.</p>
    </div>`;
  }
  return html`<div class="opening" role="status" data-testid="opening">
    <span class="visually-hidden">Opening the chat…</span>
    <div class="opening__bones">
      <span class="bone bone--asked"></span><span class="bone"></span><span class="bone"></span><span class="bone bone--short"></span>
    </div>
  </div>`;
}
