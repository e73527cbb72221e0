/** @import { Preset } from "../net/settings_api.js" */
/** @import { ClientFrame, SamplingChoice, SessionSettings } from "../protocol.d.ts" */
/** @import { Notices } from "./notices.js" */
/** @import { Session } from "./session.js" */

import { computed } from "../lib.js";

const LOST = "Fireside is not connected just now, so this chat stays as it was. Try again in a moment.";

/**
 * @typedef {object} Parts
 * @property {Session} session
 * @property {Notices} notices
 * @property {(frame: ClientFrame) => boolean} send
 */

/** How the chat that is shown is answered. A new chat takes it along with its first message. */
export class ChatSettings {
  #parts;
  current;
  sampling;
  /** Something is not as a chat has it by itself. */
  changed;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.current = computed(() => parts.session.settings.value);
    this.sampling = computed(() => this.current.value.sampling ?? {});
    this.changed = computed(() => canonical(this.current.value) !== canonical({}));
  }

  /** @param {Partial<SessionSettings>} part  the rest stays */
  change(part) {
    return this.#put({ ...this.current.peek(), ...part });
  }

  /** @param {keyof SamplingChoice} name @param {number | null} value  null for the model's own */
  draw(name, value) {
    const { [name]: _, ...rest } = this.sampling.peek();
    return this.change({ sampling: value === null ? rest : { ...rest, [name]: value } });
  }

  /** Let a preset, or with null what a chat has by itself, take the place of all that was set. @param {Preset | null} preset */
  apply(preset) {
    const before = this.current.peek();
    if (!this.#put(preset ? { ...preset.settings, preset: preset.name } : {})) return;
    const words = preset ? `This chat takes its settings from “${preset.name}”.` : "This chat has the usual settings.";
    const id = this.#parts.session.id.peek();
    if (before.preset || canonical(before) === canonical({})) return;
    this.#parts.notices.offerUndo(`${words} What was set here before is replaced.`, () => {
      if (this.#parts.session.id.peek() === id) this.#put(before);
    });
  }

  /** Whether the settings are other ones than the preset's. @param {Preset} preset */
  differsFrom(preset) {
    return canonical(this.current.value) !== canonical(preset.settings);
  }

  /** @param {SessionSettings} settings */
  #put(settings) {
    const { notices, send, session } = this.#parts;
    const session_id = session.id.peek();
    if (session_id && !send({ type: "change_settings", session_id, settings })) {
      notices.add(LOST);
      return false;
    }
    // The history that answers says the same; until it comes the page does not fall back to the old one.
    session.settings.value = settings;
    return true;
  }
}

/** The same text for what is answered alike. @param {SessionSettings} settings */
function canonical({ instructions = "", tools = null, read_only = false, thinking = null, sampling = {} }) {
  const drawn = Object.entries(sampling).filter(([, value]) => value != null).sort();
  return JSON.stringify([instructions.trim(), tools && [...tools].sort(), read_only, thinking, drawn]);
}
