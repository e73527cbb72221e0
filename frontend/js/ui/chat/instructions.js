import { html, useEffect, useId, useRef, useSignal } from "../../lib.js";
import { placeHref } from "../../state/router.js";
import { count } from "../../text/format.js";
import { useApp } from "../context.js";
import { Icon } from "../icons.js";
import { LONGEST } from "../settings/instructions.js";

const PAUSE_MS = 800;

/** What the model is told in this chat, after what it is told in all. Kept as it is typed. */
export function ChatInstructions() {
  const { chatSettings } = useApp();
  const id = useId();
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const length = useSignal(0);
  const timer = useRef(0);
  const kept = chatSettings.current.value.instructions ?? "";
  useEffect(() => {
    // Another window, or a preset, has changed them; what is being typed here is not taken away.
    if (area.current && document.activeElement !== area.current) area.current.value = kept;
    length.value = area.current?.value.length ?? 0;
  }, [kept]);
  const keep = () => {
    clearTimeout(timer.current);
    const text = area.current?.value ?? "";
    if (text.length <= LONGEST && text !== (chatSettings.current.peek().instructions ?? "")) {
      chatSettings.change({ instructions: text });
    }
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const onInput = () => {
    length.value = area.current?.value.length ?? 0;
    clearTimeout(timer.current);
    timer.current = setTimeout(keep, PAUSE_MS);
  };
  const over = length.value - LONGEST;
  return html`<section class="panel__part">
    <label class="field__label" for=${id}>Instructions of this chat</label>
    <textarea
      id=${id}
      ref=${area}
      class="input"
      rows="4"
      dir="auto"
      placeholder="Such as: You are a patient editor. Answer with the corrected text alone."
      aria-describedby=${`${id}-hint`}
      aria-invalid=${over > 0 ? "true" : undefined}
      onInput=${onInput}
      onChange=${keep}
      onBlur=${keep}
    ></textarea>
    ${over > 0
      ? html`<p class="field__error" id=${`${id}-hint`} role="alert">
          <${Icon} name="warning" />Too long by ${count(over)} characters, so the change is not kept yet.
        </p>`
      : html`<p class="field__hint" id=${`${id}-hint`}>
          They come after the <a href=${placeHref("settings", "instructions")}>instructions for all chats</a>.
        </p>`}
  </section>`;
}
