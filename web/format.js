// SPDX-License-Identifier: MIT
// Numbers as the page shows them: three significant digits, the unit apart, the exact value kept for hover and copy.

/** @typedef {{text: string, unit: string, exact: string}} Shown */

/** @type {[number, string][]} */
const TIME_UNITS = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
  [1e9, "s"],
  [60e9, "min"],
  [3600e9, "h"],
];
const NOT_MEASURED = "–";

/**
 * Three significant digits, never in powers of ten; whole digits are all kept.
 * @param {number} value at least 0
 * @returns {string}
 */
export function threeDigits(value) {
  if (value >= 99.95) return grouped(Math.round(value));
  if (value >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

/**
 * A whole number with thin groups: 1,234,567.
 * @param {number} value
 * @returns {string}
 */
export function grouped(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/**
 * The unit is chosen after rounding, so that 999.96 µs is 1.00 ms.
 * @param {number | null} ns
 * @returns {Shown}
 */
export function duration(ns) {
  if (ns === null || !Number.isFinite(ns)) return { text: NOT_MEASURED, unit: "", exact: "not measured" };
  if (ns <= 0) return { text: "0", unit: "", exact: "0 ns" };
  let at = 0;
  while (at + 1 < TIME_UNITS.length && Number(threeDigits(ns / TIME_UNITS[at][0]).replaceAll(",", "")) >= TIME_UNITS[at + 1][0] / TIME_UNITS[at][0]) at++;
  const value = ns / TIME_UNITS[at][0];
  // A nanosecond is the last digit there is, unless the figure is a mean.
  const text = at === 0 && Number.isInteger(ns) ? String(ns) : threeDigits(value);
  return { text, unit: TIME_UNITS[at][1], exact: exactly(ns) };
}

/** @param {number} ns */
function exactly(ns) {
  return Number.isInteger(ns) ? `${grouped(ns)} ns` : `${grouped(Math.floor(ns))}${(ns % 1).toFixed(2).slice(1)} ns`;
}

/**
 * Counts keep all digits up to ten million.
 * @param {number | null} value
 * @returns {Shown}
 */
export function count(value) {
  if (value === null || !Number.isFinite(value)) return { text: NOT_MEASURED, unit: "", exact: "not measured" };
  const exact = grouped(value);
  if (value < 1e7) return { text: exact, unit: "", exact };
  for (const [size, unit] of /** @type {[number, string][]} */ ([[1e6, "M"], [1e9, "G"], [1e12, "T"], [1e15, "P"], [1e18, "E"]])) {
    if (value < size * 999.5 || unit === "E") return { text: threeDigits(value / size), unit, exact };
  }
  return { text: exact, unit: "", exact };
}

/**
 * A share as per cent; what is there but small is never shown as nothing.
 * @param {number} part
 * @param {number} whole
 * @returns {Shown}
 */
export function share(part, whole) {
  if (!(whole > 0) || !Number.isFinite(part)) return { text: NOT_MEASURED, unit: "", exact: "not measured" };
  const percent = Math.min(part / whole, 1) * 100; // sums that were rounded apart may differ by a nanosecond
  const exact = `${percent.toFixed(4)} %`;
  if (percent > 0 && percent < 0.05) return { text: "<0.1", unit: "%", exact };
  return { text: percent.toFixed(1), unit: "%", exact };
}

/**
 * The figure and its unit in one string.
 * @param {Shown} shown
 * @returns {string}
 */
export function inWords(shown) {
  return shown.unit ? `${shown.text}\u00a0${shown.unit}` : shown.text;
}

/**
 * "1 line", "2 lines".
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 * @returns {string}
 */
export function plural(n, one, many = `${one}s`) {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

/**
 * Local date and time to the second, from seconds since 1970.
 * @param {number | null} seconds
 * @returns {string}
 */
export function moment(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "time not known";
  const date = new Date(seconds * 1000);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
