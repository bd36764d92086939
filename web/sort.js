// SPDX-License-Identifier: MIT
// Orders of rows: always of indexes, never of copies; ties keep the order in which the report ranks them.

/**
 * @param {number} count
 * @param {(index: number) => number | string} key
 * @param {boolean} up
 * @returns {number[]} indexes; numbers that were not measured (NaN) come last either way
 */
export function orderBy(count, key, up) {
  const keys = Array.from({ length: count }, (_, index) => key(index));
  const order = keys.map((_, index) => index);
  const sign = up ? 1 : -1;
  return order.sort((a, b) => comparedKeys(keys[a], keys[b], sign) || a - b);
}

/**
 * @param {number | string} a
 * @param {number | string} b
 * @param {number} sign
 */
function comparedKeys(a, b, sign) {
  if (typeof a === "string" || typeof b === "string") return sign * (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0);
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}
