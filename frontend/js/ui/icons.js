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
  file: "M7 3.5h7l4.5 4.5V20.5H7ZM13.5 3.5V8.5H18.5",
  folder: "M3.5 6h6l2 2.5h9V19h-17Z",
  terminal: "M4 5h16v14H4ZM7.5 9.5l3 2.5-3 2.5M12.5 15h4",
  globe: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17ZM3.5 12h17M12 3.5c5 5 5 12 0 17M12 3.5c-5 5-5 12 0 17",
  book: "M5 4.5h11a3 3 0 0 1 3 3V20H8a3 3 0 0 1-3-3ZM5 17a3 3 0 0 1 3-3h11",
  plug: "M9 3.5v5M15 3.5v5M6.5 8.5h11V12a5.5 5.5 0 0 1-11 0ZM12 17.5V21",
  tool: "M14 6.5a4 4 0 0 1 5.5-2.5l-2.5 2.5 1 1.5h2.5A4 4 0 0 1 15 11.5L8 19.5a2 2 0 0 1-3.200-3.200L12.5 9.5A4 4 0 0 1 14 6.5Z",
  pin: "M9 3.5h6l-.7 6.5 3.200 3.5H6.5L9.700 10ZM12 13.5V21",
  archive: "M4 4.5h16V9H4ZM5.5 9v10.5h13V9M10 12.5h4",
  more: "M5.5 12v.1M12 12v.1M18.5 12v.1",
  right: "M9.5 6l6 6-6 6",
  left: "M14.5 6l-6 6 6 6",
  branch: "M7 8.5v7M7 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM7 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM17 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM17 10.5c0 3.5-5 3-9 5",
  undo: "M8.5 5 4.5 9l4 4M4.5 9H14a5.5 5.5 0 0 1 0 11h-4",
  clip: "M19 11.5l-7.300 7.300a4.600 4.600 0 0 1-6.5-6.5l7.700-7.700a3 3 0 0 1 4.300 4.300l-7.5 7.5a1.5 1.5 0 0 1-2.100-2.100l6.700-6.700",
  hidden: "M4 12s3-6 8-6 8 6 8 6-3 6-8 6-8-6-8-6ZM4.5 19.5l15-15",
  chat: "M4 5h16v11.5h-9L6.500 20v-3.500H4ZM8 9h8M8 12.5h5",
  download: "M12 4v11M7 10.5l5 5 5-5M4.5 19.5h15",
  upload: "M12 15.5v-11M7 9l5-5 5 5M4.5 19.5h15",
  gauge: "M4.5 18a8.5 8.5 0 1 1 15 0M12 14.5l4-5M12 16a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3Z",
  sliders: "M4 7h9M17 7h3M15 5v4M4 12h3M11 12h9M9 10v4M4 17h9M17 17h3M15 15v4",
  warning: "M12 4 2.8 20h18.4ZM12 10v4.5M12 17.3v.2",
};

/** @typedef {keyof typeof PATHS} IconName */

/** @param {{name: IconName}} props */
export function Icon({ name }) {
  return html`<svg class=${`icon icon--${name}`} viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

export function StopIcon() {
  return html`<svg class="icon icon--solid" viewBox="0 0 24 24" aria-hidden="true">
    <rect x="5" y="5" width="14" height="14" rx="3" />
  </svg>`;
}
