import { html } from "../lib.js";

/** Drawn on a 24 × 24 grid with a round pen. */
const PATHS = {
  flame: "M12 21c-3.6 0-6-2.4-6-5.7 0-2.6 1.5-4.2 2.7-5.9.5 1.2 1.1 1.9 1.9 2.3C10.3 8.3 11 5.3 13.4 3c.2 3.3 4.6 5.9 4.6 11.7 0 3.8-2.4 6.3-6 6.3Z",
  plus: "M12 5v14M5 12h14",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.3 15.3 20 20",
  send: "M12 19V5M6 11l6-6 6 6",
  copy: "M9 9h9a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2ZM4 15V5a2 2 0 0 1 2-2h9",
  check: "M5 12.5 10 17 19 7",
  trash: "M4 7h16M9.5 7V4.5h5V7M6.5 7l.8 12.5h9.4L17.5 7M10 11v5M14 11v5",
  menu: "M4 7h16M4 12h16M4 17h10",
  close: "M6 6l12 12M18 6 6 18",
  receipt: "M6 3.5h12V21l-3-2-3 2-3-2-3 2ZM9 8h6M9 12h6",
  down: "M12 5v14M6 13l6 6 6-6",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  moon: "M20 14.5A8.2 8.2 0 0 1 9.5 4 8.2 8.2 0 1 0 20 14.5Z",
  auto: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17ZM12 3.5v17M12 8h3.5M12 12h6M12 16h3.5",
  retry: "M19.5 12a7.5 7.5 0 1 1-2.4-5.5M19.5 4v4.5H15",
  edit: "M5 19l1-4.5L16 4.5l3.5 3.5L9.5 18ZM14 6.5l3.5 3.5",
  warning: "M12 4 2.8 20h18.4ZM12 10v4.5M12 17.3v.2",
};

/** @param {{name: keyof typeof PATHS}} props */
export function Icon({ name }) {
  return html`<svg class=${`icon icon--${name}`} viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

export function StopIcon() {
  return html`<svg class="icon icon--solid" viewBox="0 0 24 24" aria-hidden="true">
    <rect x="5" y="5" width="14" height="14" rx="3" />
  </svg>`;
}
