/** Text kept by the browser. Where it keeps nothing (private mode, full, forbidden), the page works without. */
export class Shelf {
  #area;
  #prefix;

  /**
   * @param {"localStorage" | "sessionStorage"} area
   * @param {string} prefix
   */
  constructor(area, prefix) {
    this.#area = area;
    this.#prefix = `fireside.${prefix}`;
  }

  /**
   * @param {string} [key]
   * @returns {string}
   */
  get(key = "") {
    return this.#try((area, name) => area.getItem(name), key) ?? "";
  }

  /**
   * @param {string} value  an empty one is removed
   * @param {string} [key]
   */
  set(value, key = "") {
    this.#try((area, name) => (value ? area.setItem(name, value) : area.removeItem(name)), key);
  }

  /**
   * @template T
   * @param {(area: Storage, name: string) => T} use
   * @param {string} key
   * @returns {T | undefined}
   */
  #try(use, key) {
    try {
      return use(window[this.#area], key ? `${this.#prefix}.${key}` : this.#prefix);
    } catch (error) {
      if (error instanceof DOMException) return undefined;
      throw error;
    }
  }
}
