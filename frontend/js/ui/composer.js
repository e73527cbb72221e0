import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../lib.js";
import { useApp } from "./context.js";
import { COMPOSER, focusComposer } from "./focus.js";
import { Icon, StopIcon } from "./icons.js";

const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");
/** Safari ends a composition before the Enter that ended it; this key code still marks that Enter. */
const COMPOSING = 229;

export function Composer() {
  const { client, drafts, session } = useApp();
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const empty = useDraft(area);
  useEffect(focusComposer, [session.id.value]);

  const send = () => {
    const text = area.current?.value ?? "";
    if (!area.current || !text.trim()) return;
    client.ask(text);
    drafts.set(session.id.peek(), "");
    area.current.focus();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === COMPOSING) return;
    event.preventDefault();
    send();
  };
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    send();
  };
  const onInput = () => {
    drafts.keep(session.id.peek(), area.current?.value ?? "");
    empty.value = !area.current?.value.trim();
    fit(area.current);
  };
  return html`<form class="composer" aria-label="Message" onSubmit=${onSubmit}>
    <div class="composer__box">
      <textarea
        id=${COMPOSER}
        ref=${area}
        rows="1"
        dir="auto"
        aria-label="Message Fireside"
        placeholder=${session.messages.value.length ? "Reply…" : "Ask anything…"}
        enterkeyhint="send"
        onKeyDown=${onKeyDown}
        onInput=${onInput}
      ></textarea>
      <${Buttons} empty=${empty.value} />
    </div>
    <${Hint} />
  </form>`;
}

/**
 * Fills the composer with the chat's draft.
 *
 * @param {{current: HTMLTextAreaElement | null}} area
 */
function useDraft(area) {
  const { drafts, session } = useApp();
  const empty = useSignal(true);
  useLayoutEffect(() => {
    if (!area.current) return;
    area.current.value = drafts.get(session.id.peek());
    empty.value = !area.current.value.trim();
    fit(area.current);
  }, [session.id.value, drafts.version.value]);
  return empty;
}

/** @param {HTMLTextAreaElement | null} area */
function fit(area) {
  if (GROWS_BY_ITSELF || !area) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

/** @param {{empty: boolean}} props */
function Buttons({ empty }) {
  const { client, connected, session } = useApp();
  const running = session.running.value !== null;
  return html`<div class="composer__buttons">
    ${running &&
    html`<button
      type="button"
      class="round round--stop"
      aria-label="Stop"
      title="Stop (Esc)"
      disabled=${!connected.value || session.stopping.value}
      onClick=${() => client.stop()}
    >
      <${StopIcon} />
    </button>`}
    ${(!running || !empty) &&
    html`<button type="submit" class="round" aria-label="Send" title="Send (Enter)" disabled=${empty}>
      <${Icon} name="send" />
    </button>`}
  </div>`;
}

function Hint() {
  const { engine } = useApp();
  const upstream = engine.current.value?.mode === "upstream";
  return html`<p class="composer__hint">
    ${upstream ? "Another server answers; what you write is sent there." : "Nothing leaves this machine."}
    ${" "}A model can be wrong.
  </p>`;
}
