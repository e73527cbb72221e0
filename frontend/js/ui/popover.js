import { signal, useMemo } from "../lib.js";

/**
 * Whether a popover is open, and what its element has to be given for that. What is in it need not be there before.
 *
 * @returns {{open: import("../lib.js").Signal<boolean>, watch: (event: ToggleEvent) => void}}
 */
export function usePopover() {
  return useMemo(() => {
    const open = signal(false);
    return { open, watch: (event) => (open.value = event.newState === "open") };
  }, []);
}

/** @param {string} id */
export function openPopover(id) {
  document.getElementById(id)?.showPopover();
}
