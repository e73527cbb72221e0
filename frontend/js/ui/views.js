import { html } from "../lib.js";
import { placeHref } from "../state/router.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";
import { MemoryView } from "./memory/view.js";
import { SettingsView } from "./settings/view.js";
import { StatusView } from "./status/view.js";

/** What there is beside the chats, in the order of the sidebar. */
export const VIEWS = /** @type {const} */ ([
  { view: "memory", label: "Memory", icon: "book", Component: MemoryView },
  { view: "status", label: "Status", icon: "gauge", Component: StatusView },
  { view: "settings", label: "Settings", icon: "sliders", Component: SettingsView },
]);

/** Links to the views; the one that is open is marked. */
export function ViewLinks() {
  const { drawer, router } = useApp();
  return html`<ul class="views">
    ${VIEWS.map(
      ({ view, label, icon }) =>
        html`<li key=${view}>
          <a
            class="views__link"
            href=${placeHref(view)}
            aria-current=${router.view.value === view ? "page" : undefined}
            onClick=${() => drawer.close()}
          >
            <${Icon} name=${icon} />${label}
          </a>
        </li>`,
    )}
  </ul>`;
}

/** The view that the address names; null for the chat. */
export function OtherView() {
  const { router } = useApp();
  const found = VIEWS.find(({ view }) => view === router.view.value);
  return found ? html`<${found.Component} key=${found.view} />` : null;
}

/** The open view's name, "" for the chat. @param {string} view */
export function viewTitle(view) {
  return VIEWS.find((other) => other.view === view)?.label ?? "";
}
