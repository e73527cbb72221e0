import { html } from "../lib.js";
import { placeHref } from "../state/router.js";
import { useApp } from "./context.js";
import { Icon } from "./icons.js";
import { lazy } from "./lazy.js";

const DeletedView = lazy(async () => (await import("./deleted/view.js")).DeletedView);
const MemoryView = lazy(async () => (await import("./memory/view.js")).MemoryView);
const ModelsView = lazy(async () => (await import("./models/view.js")).ModelsView);
const StatusView = lazy(async () => (await import("./status/view.js")).StatusView);
const SettingsView = lazy(async () => (await import("./settings/view.js")).SettingsView);

/** What there is beside the chats, in the order of the sidebar. */
export const VIEWS = /** @type {const} */ ([
  { view: "memory", label: "Memory", icon: "book", Component: MemoryView },
  { view: "models", label: "Models", icon: "chip", Component: ModelsView },
  { view: "status", label: "Status", icon: "gauge", Component: StatusView },
  { view: "settings", label: "Settings", icon: "sliders", Component: SettingsView },
]);

/** Reached from the end of the list of chats. */
const DELETED = { view: "deleted", label: "Recently deleted", Component: DeletedView };

const ALL = [...VIEWS, DELETED];

/** Links to the views; the one that is open is marked. */
export function ViewLinks() {
  const { drawer, router } = useApp();
  return html`<ul class="views">
    ${VIEWS.map(
      ({ view, label, icon, Component }) =>
        html`<li key=${view}>
          <a
            class="views__link"
            href=${placeHref(view)}
            aria-current=${router.view.value === view ? "page" : undefined}
            onPointerEnter=${Component.load}
            onFocus=${Component.load}
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
  const found = ALL.find(({ view }) => view === router.view.value);
  return found ? html`<${found.Component} key=${found.view} />` : null;
}

/** The open view's name, "" for the chat. @param {string} view */
export function viewTitle(view) {
  return ALL.find((other) => other.view === view)?.label ?? "";
}
