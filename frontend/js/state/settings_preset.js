/** @import { Preset, PresetSettings, Sampling } from "../net/settings_api.js" */

import { signal } from "../lib.js";
import { deletePreset, putPreset } from "../net/settings_api.js";
import { FieldError, FormState } from "./settings_form.js";

/** The numbers of a preset, as Fireside bounds them. */
export const NUMBERS = /** @type {const} */ ([
  { name: "temperature", label: "Temperature", low: 0, high: 2, whole: false },
  { name: "top_p", label: "Top p", low: 0, high: 1, whole: false },
  { name: "min_p", label: "Min p", low: 0, high: 1, whole: false },
  { name: "top_k", label: "Top k", low: 0, high: 2 ** 31, whole: true },
  { name: "repetition_penalty", label: "Repetition penalty", low: 0, high: 10, whole: false },
  { name: "max_tokens", label: "Most tokens", low: 1, high: 2 ** 31, whole: true },
  // Larger ones than this cannot be told apart in a browser.
  { name: "seed", label: "Seed", low: 0, high: Number.MAX_SAFE_INTEGER, whole: true },
]);

const LONGEST_NAME = 60;

/** What is filled in for a preset. */
export class PresetDraft {
  form = new FormState(["name", "instructions", ...NUMBERS.map(({ name }) => name)]);
  name;
  instructions;
  /** "usual": those that suit the model; "chosen": those in `tools`. */
  which;
  /** @type {import("../lib.js").Signal<readonly string[]>} */
  tools;
  read_only;
  /** "auto", "on" or "off" */
  thinking;
  numbers;

  #before;

  /** @param {Preset | null} preset */
  constructor(preset) {
    const { instructions = "", tools = null, read_only = false, thinking = null, sampling = {} } = preset?.settings ?? {};
    this.#before = preset;
    this.name = signal(preset?.name ?? "");
    this.instructions = signal(instructions);
    this.which = signal(tools ? "chosen" : "usual");
    this.tools = signal(tools ?? []);
    this.read_only = signal(read_only);
    this.thinking = signal(thinking === null ? "auto" : thinking ? "on" : "off");
    this.numbers = NUMBERS.map((number) => ({ ...number, text: signal(String(sampling[number.name] ?? "")) }));
  }

  /** @param {string} name @param {boolean} on */
  choose(name, on) {
    const others = this.tools.peek().filter((other) => other !== name);
    this.tools.value = on ? [...others, name] : others;
  }

  /** Keep it; under another name than before, the old one goes. */
  async save() {
    const name = this.#checkedName();
    await putPreset(name, this.#settings());
    if (this.#before && this.#before.name !== name) await deletePreset(this.#before.name);
  }

  #checkedName() {
    const name = this.name.value.trim();
    if (!name) throw new FieldError("name", "Give the preset a name.");
    if (name.length > LONGEST_NAME) throw new FieldError("name", `A name has at most ${LONGEST_NAME} characters.`);
    return name;
  }

  /** @returns {PresetSettings} */
  #settings() {
    /** @type {Sampling} */
    const sampling = {};
    for (const { name, label, low, high, whole, text } of this.numbers) {
      const typed = text.value.trim();
      if (!typed) continue;
      const value = Number(typed.replace(",", "."));
      if (!(value >= low && value <= high && (!whole || Number.isInteger(value)))) {
        throw new FieldError(name, `${label} is a ${whole ? "whole number" : "number"} from ${low} to ${high}, or empty.`);
      }
      sampling[name] = value;
    }
    return {
      // What this form does not know, it leaves as it was.
      ...this.#before?.settings,
      instructions: this.instructions.value,
      tools: this.which.value === "chosen" ? [...this.tools.value] : null,
      read_only: this.read_only.value,
      thinking: this.thinking.value === "auto" ? null : this.thinking.value === "on",
      sampling,
    };
  }
}
