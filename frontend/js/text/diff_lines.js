/**
 * @typedef {object} DiffLine
 * @property {"added" | "removed" | "same" | "place" | "note"} kind  place: where in the file what follows is
 * @property {string} text  with its sign
 */

/**
 * @param {string} diff  unified, of one file
 * @returns {DiffLine[]} without the names of the file
 */
export function diffLines(diff) {
  const lines = diff.replace(/\n$/, "").split("\n");
  const hunks = lines.findIndex((line) => line.startsWith("@@"));
  return lines.slice(Math.max(hunks, 0)).map((text) => ({ kind: kindOf(text), text }));
}

/**
 * @param {string} text
 * @returns {DiffLine["kind"]}
 */
function kindOf(text) {
  if (text.startsWith("@@")) return "place";
  if (text.startsWith("+")) return "added";
  if (text.startsWith("-")) return "removed";
  return text.startsWith("\\") ? "note" : "same";
}
