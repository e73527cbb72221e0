import { html } from "../lib.js";
import { EXAMPLES, aboutWords, greeting } from "../text/welcome_words.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** An empty chat: who will answer, what it can do, and a way to begin. Before the first chat also what Fireside is. */
export function Welcome() {
  const { chats, client, engine } = useApp();
  const first = chats.known.value && chats.rows.value.length === 0;
  const upstream = engine.current.value?.mode === "upstream";
  return html`<div class="welcome">
    <${Icon} name="flame" />
    <h2>${first ? "Welcome to Fireside" : greeting(new Date().getHours())}</h2>
    ${first &&
    html`<ul class="welcome__about" data-testid="about-fireside">
      ${aboutWords(upstream).map(({ icon, words }) => html`<li key=${icon}><${Icon} name=${icon} /><span>${words}</span></li>`)}
    </ul>`}
    <${ModelNote} />
    <ul class="examples" aria-label="Examples">
      ${EXAMPLES.map(
        (text) => html`<li key=${text}>
          <button type="button" class="example" onClick=${() => client.ask(text)}>${text}</button>
        </li>`,
      )}
    </ul>
  </div>`;
}

function ModelNote() {
  const { engine } = useApp();
  const present = engine.current.value?.engine;
  const model = present?.model;
  const away = engine.reachable.value === false;
  const coming = away || (present?.phase !== "ready" && present?.phase !== "failed");
  return html`<div class="welcome__note">
    ${model && html`<p><b>${model.name}</b> answers here.${model.note ? ` ${model.note}` : ""}</p>`}
    ${coming && html`<p>You can write already. The answer starts as soon as the model is ready.</p>`}
  </div>`;
}
