import { html } from "../lib.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

const EXAMPLES = [
  "What is the capital of France?",
  "Write a short poem about a campfire in the rain",
  "Explain what a cache is, as if I were ten",
  "Write a Python function that reverses a string",
];

/** An empty chat: who will answer, what it can do, and a way to begin. */
export function Welcome() {
  const { client } = useApp();
  return html`<div class="welcome">
    <${Icon} name="flame" />
    <h2>${greeting(new Date().getHours())}</h2>
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

/** @param {number} hour */
function greeting(hour) {
  if (hour >= 5 && hour < 12) return "Good morning";
  return hour >= 12 && hour < 18 ? "Good afternoon" : "Good evening";
}

function ModelNote() {
  const { engine } = useApp();
  const present = engine.current.value?.engine;
  const model = present?.model;
  const ready = present?.phase === "ready" && engine.reachable.value !== false;
  return html`<div class="welcome__note">
    ${model && html`<p><b>${model.name}</b> answers here.${model.note ? ` ${model.note}` : ""}</p>`}
    ${!ready && html`<p>You can write already. The answer starts as soon as the model is ready.</p>`}
  </div>`;
}
