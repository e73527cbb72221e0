/** The usual indent has room for so many. */
const USUAL_DIGITS = 3;

/** Lists with long numbers say how long, so that they get the room for them. @param {DocumentFragment} fragment */
export function measureLists(fragment) {
  for (const list of fragment.querySelectorAll("ol")) {
    const digits = String(list.start + Math.max(list.childElementCount - 1, 0)).length;
    if (digits > USUAL_DIGITS) list.dataset.digits = String(digits);
  }
}
