/** @import { Choice } from "../../state/theme.js" */
/** @import { TextSize } from "../../state/settings_text_size.js" */

import { html, useEffect, useMemo } from "../../lib.js";
import { TextSizeChoice } from "../../state/settings_text_size.js";
import { useApp } from "../context.js";
import { Choices } from "./fields.js";

/** @type {readonly (readonly [Choice, string])[]} */
const THEMES = [
  ["auto", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** @type {readonly (readonly [TextSize, string])[]} */
const SIZES = [
  ["small", "Small"],
  ["normal", "Normal"],
  ["large", "Large"],
  ["larger", "Larger"],
];

export function Appearance() {
  const { theme } = useApp();
  const size = useMemo(() => new TextSizeChoice(), []);
  useEffect(() => size.close, []);
  return html`<p class="set__lead">For this browser alone; it takes effect at once.</p>
    <div class="form">
      <${Choices} legend="Theme" value=${theme.choice} options=${THEMES} />
      <${Choices} legend="Size of the text" value=${size.choice} options=${SIZES} />
    </div>
    <p class="sample" aria-hidden="true">
      <b>High water is at 06:12.</b> It comes about fifty minutes later each day, because the moon goes on around the earth
      while the earth turns.
    </p>`;
}
