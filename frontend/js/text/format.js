const whole = new Intl.NumberFormat("en");
const tenths = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** @param {number} value */
export const count = (value) => whole.format(Math.round(value));

/** From a hundred on, a tenth is no news. @param {number} value */
const figure = (value) => (Math.round(value * 10) < 1000 ? tenths.format(value) : count(value));

/**
 * @param {number} done
 * @param {number} total
 * @returns {string} such as "120 of 270 MB", in decimal units
 */
export function bytesOf(done, total) {
  const power = Math.min(Math.floor(Math.log10(Math.max(total, 1)) / 3), UNITS.length - 1);
  const scaled = (/** @type {number} */ bytes) => {
    const value = bytes / 1000 ** power;
    return power < 3 ? count(value) : figure(value);
  };
  return `${scaled(Math.min(done, total))} of ${scaled(total)} ${UNITS[power]}`;
}

/** @param {number} value  in seconds */
export function seconds(value) {
  if (value < 60) return `${count(value)} s`;
  return `${count(Math.floor(value / 60))} min ${count(value % 60)} s`;
}

/** @param {number} value  in milliseconds */
export function milliseconds(value) {
  return value < 1000 ? `${count(value)} ms` : `${tenths.format(value / 1000)} s`;
}

/** @param {number} value  tokens a second */
export const speed = (value) => `${figure(value)} tok/s`;

/** @param {number} size */
export function bytes(size) {
  const power = Math.min(Math.floor(Math.log10(Math.max(size, 1)) / 3), UNITS.length - 1);
  const value = size / 1000 ** power;
  return `${power < 2 ? count(value) : figure(value)} ${UNITS[power]}`;
}
