/** @import { Choice } from "../state/theme.js" */

import { html } from "../lib.js";
import { Theme } from "../state/theme.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";

/** @type {Record<Choice, {label: string, icon: "auto" | "sun" | "moon"}>} */
const FACES = {
  auto: { label: "Auto", icon: "auto" },
  light: { label: "Light", icon: "sun" },
  dark: { label: "Dark", icon: "moon" },
};

export function ThemeSwitch() {
  const { theme } = useApp();
  return html`<fieldset class="theme">
    <legend class="visually-hidden">Theme</legend>
    ${Theme.choices.map(
      (choice) => html`<label key=${choice} class="theme__choice">
        <input
          type="radio"
          name="theme"
          class="visually-hidden"
          checked=${theme.choice.value === choice}
          onChange=${() => (theme.choice.value = choice)}
        />
        <span><${Icon} name=${FACES[choice].icon} />${FACES[choice].label}</span>
      </label>`,
    )}
  </fieldset>`;
}
