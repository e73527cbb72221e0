/**
 * The pieces of a search's snippet. It is parsed, never inserted: whatever it holds, only text and marks come out.
 *
 * @param {string} snippet  escaped text with `<mark>`
 * @returns {{text: string, marked: boolean}[]}
 */
export function pieces(snippet) {
  const { body } = new DOMParser().parseFromString(snippet, "text/html");
  return [...body.childNodes].map((node) => ({ text: node.textContent ?? "", marked: node.nodeName === "MARK" }));
}
