import { signal } from "../lib.js";

/** On a narrow window the list of chats is a drawer over the page. The width is also in layout.css. */
const NARROW = window.matchMedia("(max-width: 760px)");

export class Drawer {
  narrow = signal(NARROW.matches);
  open = signal(false);

  constructor() {
    NARROW.addEventListener("change", () => {
      this.narrow.value = NARROW.matches;
      this.open.value = false;
    });
  }

  close() {
    this.open.value = false;
  }
}
