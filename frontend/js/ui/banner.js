/** @import { Engine, Switch } from "../net/status_source.js" */

import { html, useEffect, useSignal } from "../lib.js";
import { isHere } from "../net/here.js";
import { placeHref } from "../state/router.js";
import { unreachableWords } from "../text/connection_words.js";
import { switchWords } from "../text/models_words.js";
import { codePieces } from "../text/settings_words.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** What stands between the reader and an answer, and what to do about it. */
export function Banner() {
  const { connected, engine, modelSwitch, notices, session } = useApp();
  if (engine.reachable.value === false) return html`<${Unreachable} />`;
  const present = engine.current.value?.engine;
  if (present?.phase === "failed") return html`<${Failed} engine=${present} />`;
  if (notices.unkept.value && !session.temporary.value) return html`<${Unkept} why=${notices.unkept.value} />`;
  const change = modelSwitch.shown.value;
  if (present && change?.state === "failed") return html`<${NotSwitched} engine=${present} change=${change} />`;
  return engine.reachable.value && !connected.value ? html`<${Reconnecting} />` : null;
}

function Unreachable() {
  const online = useOnline();
  const { title, text } = unreachableWords({ here: isHere, online: online.value, host: location.hostname });
  const words = codePieces(text).map(({ text: piece, code }) => (code ? html`<code>${piece}</code>` : piece));
  return html`<div class="banner banner--bad" role="alert">
    <${Icon} name="warning" />
    <div>
      <p><b>${title}</b></p>
      <p>${words}</p>
    </div>
  </div>`;
}

/** Whether this device has a network at all. */
function useOnline() {
  const online = useSignal(navigator.onLine);
  useEffect(() => {
    const look = () => (online.value = navigator.onLine);
    window.addEventListener("online", look);
    window.addEventListener("offline", look);
    return () => {
      window.removeEventListener("online", look);
      window.removeEventListener("offline", look);
    };
  }, []);
  return online;
}

/** @param {{engine: Engine}} props */
function Failed({ engine }) {
  const { current } = useApp().engine;
  return html`<div class="banner banner--bad" role="alert">
    <${Icon} name="warning" />
    <div>
      <p><b>The engine failed.</b> ${engine.error ?? engine.detail}</p>
      <p>Put that right, then stop Fireside with Ctrl‑C in its terminal and start it again with <code>fireside serve</code>.</p>
      ${current.value?.mode === "core" && html`<p>Or <a href=${placeHref("models")}>serve another model</a>.</p>`}
    </div>
  </div>`;
}

/** The disk is full, or cannot be written for another reason. @param {{why: string}} props */
function Unkept({ why }) {
  const { engine, notices } = useApp();
  return html`<div class="banner banner--bad" role="alert" data-testid="unkept">
    <${Icon} name="warning" />
    <div>
      <p><b>Chats cannot be kept just now.</b> ${why}</p>
      <p>
        What is not kept is gone with a restart.
        ${engine.current.value?.mode === "core" &&
        html`${" "}<a href=${placeHref("models", "clean-up")}>See what can be removed from the disk</a>`}
      </p>
    </div>
    <button type="button" class="tool banner__close" aria-label="Dismiss" onClick=${() => (notices.unkept.value = "")}>
      <${Icon} name="close" />
    </button>
  </div>`;
}

/** @param {{engine: Engine, change: Switch}} props */
function NotSwitched({ engine, change }) {
  const { modelSwitch } = useApp();
  return html`<div class="banner banner--bad" role="alert" data-testid="not-switched">
    <${Icon} name="warning" />
    <div>
      <p><b>${switchWords(change, engine)}.</b> ${change.error}</p>
    </div>
    <button type="button" class="tool banner__close" aria-label="Dismiss" onClick=${() => modelSwitch.dismiss()}>
      <${Icon} name="close" />
    </button>
  </div>`;
}

function Reconnecting() {
  return html`<div class="banner banner--late" role="status"><p>Connecting to Fireside…</p></div>`;
}
