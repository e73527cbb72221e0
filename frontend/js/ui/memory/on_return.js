/**
 * Call `back` whenever the reader comes back to the page: others may have written meanwhile.
 *
 * @param {() => unknown} back
 * @returns {() => void} what ends that
 */
export function onReturn(back) {
  const look = () => void (document.hidden || back());
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    window.removeEventListener("focus", look);
  };
}
