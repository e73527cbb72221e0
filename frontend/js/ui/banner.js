/** @import { Engine } from "../net/status_source.js" */

import { html } from "../lib.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** What stands between the reader and an answer, and what to do about it. */
export function Banner() {
  const { connected, engine } = useApp();
  if (engine.reachable.value === false) return html`<${NotRunning} />`;
  const present = engine.current.value?.engine;
  if (present?.phase === "failed") return html`<${Failed} engine=${present} />`;
  return engine.reachable.value && !connected.value ? html`<${Reconnecting} />` : null;
}

function NotRunning() {
  return html`<div class="banner banner--bad" role="alert">
    <${Icon} name="warning" />
    <div>
      <p><b>Fireside is not running.</b></p>
      <p>
        Start it in a terminal with <code>fireside serve</code>, or with <code>make run</code> in its folder. This page
        connects by itself; what you write is kept until then.
      </p>
    </div>
  </div>`;
}

/** @param {{engine: Engine}} props */
function Failed({ engine }) {
  return html`<div class="banner banner--bad" role="alert">
    <${Icon} name="warning" />
    <div>
      <p><b>The engine failed.</b> ${engine.error ?? engine.detail}</p>
      <p>Put that right, then stop Fireside with Ctrl-C in its terminal and start it again with <code>fireside serve</code>.</p>
    </div>
  </div>`;
}

function Reconnecting() {
  return html`<div class="banner banner--late" role="status"><p>Connecting to Fireside…</p></div>`;
}
