// SPDX-License-Identifier: MIT
// One sequential scale: ten levels of the share of the whole run, linear, or logarithmic over four decades.

export const HEAT_LEVELS = 10;
const DECADES = 4;

/** @typedef {"log" | "linear"} Scale */

/**
 * @param {number} part
 * @param {number} whole the base that is written beside the scale
 * @param {Scale} scale
 * @returns {number} 0 (nothing to see) to HEAT_LEVELS
 */
export function heatLevel(part, whole, scale) {
  if (!(part > 0) || !(whole > 0)) return 0;
  const share = Math.min(part / whole, 1);
  const position = scale === "linear" ? share : 1 + Math.log10(share) / DECADES;
  return Math.max(0, Math.min(HEAT_LEVELS, Math.ceil(position * HEAT_LEVELS - 1e-9)));
}

/**
 * What the ends of the scale stand for.
 * @param {Scale} scale
 * @returns {string}
 */
export function scaleEnds(scale) {
  return scale === "linear" ? "0 to 100 %" : "0.01 to 100 %";
}
