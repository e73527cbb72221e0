import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../lib.js";
import { commandOf } from "./actions.js";
import { useApp } from "./context.js";
import { ComposerButtons, SteerSwitch } from "./composer_buttons.js";
import { COMPOSER, focusComposer } from "./focus.js";
import { HeldNote, keysOf } from "./held_note.js";
import { UploadList } from "./upload_list.js";

const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");
/** Safari ends a composition before the Enter that ended it; this key code still marks that Enter. */
const COMPOSING = 229;

export function Composer() {
  const app = useApp();
  const { attaching, client, drafts, notices, session } = app;
  // What was attached to a new chat waits while that is a temporary one.
  const files = session.temporary.value ? [] : attaching.of(session.id.value);
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const empty = useDraft(area);
  /** What is sent during an answer is seen by it at its next step. */
  const steer = useSignal(false);
  /** The files because of which a message could not be sent at once; another choice of files ends that. */
  const heldBy = useSignal("");
  const held = heldBy.value !== "" && heldBy.value === keysOf(files);
  const ready = files.every((file) => file.ready);
  useEffect(focusComposer, [session.id.value]);
  useEffect(() => attaching.restore(session.id.peek()), [session.id.value]);
  useEffect(() => void (heldBy.value = ""), [session.id.value, session.temporary.value]);
  useEffect(() => void (heldBy.peek() && held && ready && send()), [held, ready]);

  const send = () => {
    const text = area.current?.value ?? "";
    const id = session.id.peek();
    if (!text.trim() && !anyGoes(files)) return;
    const command = commandOf(app, text);
    if (command) {
      drafts.set(id, "");
      return void command();
    }
    heldBy.value = ready ? "" : keysOf(files);
    if (!ready) return;
    const attachments = files.flatMap((file) => file.attachment ?? []);
    const steers = steer.peek() && session.running.peek() !== null;
    client.ask(text, { ...(attachments.length && { attachments }), ...(steers && { steer: true }) });
    attaching.remove(files);
    drafts.set(id, "");
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === COMPOSING) return;
    event.preventDefault();
    send();
  };
  const onSubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    send();
    area.current?.focus();
  };
  const onInput = () => {
    heldBy.value = "";
    drafts.keep(session.id.peek(), area.current?.value ?? "", { shelved: !session.temporary.peek() });
    empty.value = !area.current?.value.trim();
    fit(area.current);
  };
  const onPaste = (/** @type {ClipboardEvent} */ event) => {
    if (attachFrom(event.clipboardData)) event.preventDefault();
  };
  const onDrop = (/** @type {DragEvent} */ event) => {
    if (attachFrom(event.dataTransfer)) event.preventDefault();
  };
  const attachFrom = (/** @type {DataTransfer | null} */ data) => {
    if (!data?.files.length) return false;
    if (session.temporary.peek()) notices.add("A temporary chat takes no files: they would be stored on the disk.");
    else attaching.add(session.id.peek(), data.files);
    return true;
  };
  return html`<form class="composer" aria-label="Message" onSubmit=${onSubmit} onDragOver=${allowDrop} onDrop=${onDrop}>
    <${SteerSwitch} steer=${steer} />
    <div class="composer__box">
      <${UploadList} uploads=${files} />
      <textarea
        id=${COMPOSER}
        ref=${area}
        rows="1"
        dir="auto"
        aria-label="Message Fireside"
        placeholder=${placeholder(session)}
        enterkeyhint="send"
        onKeyDown=${onKeyDown}
        onInput=${onInput}
        onPaste=${onPaste}
      ></textarea>
      <${ComposerButtons} empty=${empty.value && !anyGoes(files)} />
    </div>
    <${HeldNote} files=${held ? files : []} />
    <${Hint} />
  </form>`;
}

/** @param {readonly import("../state/attaching.js").Upload[]} files */
const anyGoes = (files) => files.some((file) => !file.error);

/** @param {DragEvent} event */
function allowDrop(event) {
  if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
}

/** @param {import("../state/session.js").Session} session */
function placeholder({ asking, messages }) {
  if (asking.value.length) return "Fireside waits for your decision above…";
  if (messages.value.length) return "Reply…";
  return "Ask anything…";
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

function Hint() {
  const { engine, session } = useApp();
  const upstream = engine.current.value?.mode === "upstream";
  return html`<p class="composer__hint">
    ${session.temporary.value && "This chat is not kept. "}
    ${upstream ? "Another server answers; what you write is sent there." : "Answers are made on this machine; only searches you see go out."}
    ${" "}A model can be wrong.
  </p>`;
}
