/**
 * Keys of a field that moves in a list below it. A composing or combined key is the field's own.
 *
 * @param {Record<string, () => unknown>} acts  by the name of the key
 * @param {boolean} any  whether the list has anything to move in
 * @returns {(event: KeyboardEvent) => void}
 */
export function listKeys(acts, any) {
  return (event) => {
    const act = event.isComposing || event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key];
    if (!act) return;
    event.preventDefault();
    if (any) act();
  };
}
