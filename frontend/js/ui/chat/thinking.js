import { html } from "../../lib.js";
import { useApp } from "../context.js";
import { Radios } from "./radios.js";

/** Whether the model thinks before it answers, where it can. */
export function Thinking() {
  const { chatSettings, session } = useApp();
  const model = session.model.value;
  if (!model?.thinking) return null;
  const { thinking = null } = chatSettings.current.value;
  return html`<section class="panel__part">
    <${Radios}
      legend="Thinking"
      value=${thinking === null ? "auto" : thinking ? "on" : "off"}
      options=${[["auto", `Auto (${model.thinks ? "on" : "off"})`], ["on", "On"], ["off", "Off"]]}
      onChoose=${(/** @type {string} */ choice) =>
        chatSettings.change({ thinking: choice === "auto" ? null : choice === "on" })}
    />
  </section>`;
}
