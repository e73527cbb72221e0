const FIRST_MS = 300;
const LAST_MS = 5000;

/** Growing, slightly random pauses between tries; `wake` ends the present one at once. */
export class Backoff {
  #tries = 0;
  #wake = () => {};

  reset() {
    this.#tries = 0;
  }

  wake() {
    this.reset();
    this.#wake();
  }

  /** Resolves after the pause that is due now. */
  async pause() {
    const limit = Math.min(FIRST_MS * 2 ** this.#tries, LAST_MS);
    this.#tries += 1;
    // Tabs that lost the same server must not come back in step.
    await this.sleep(limit * (0.75 + Math.random() / 4));
  }

  /**
   * @param {number} ms
   * @returns {Promise<void>}
   */
  sleep(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
