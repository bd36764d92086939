// SPDX-License-Identifier: MIT
// Which rows of a long table exist: those in sight and a few beyond, whatever its length.

export const ROW_HEIGHT = 24;
const BEYOND = 6;

/**
 * @param {number} top scroll position in pixels
 * @param {number} height of the part in sight
 * @param {number} rows of the whole table
 * @returns {{from: number, to: number}} half open
 */
export function rowsInSight(top, height, rows) {
  const from = Math.max(0, Math.floor(top / ROW_HEIGHT) - BEYOND);
  const to = Math.min(rows, Math.ceil((Math.max(0, top) + height) / ROW_HEIGHT) + BEYOND);
  return { from: Math.min(from, to), to };
}

/**
 * The scroll position that brings a row into sight: none when it is, otherwise as little as is needed, or its middle
 * when the jump is far.
 * @param {number} row
 * @param {number} top
 * @param {number} height
 * @returns {number}
 */
export function scrollFor(row, top, height) {
  const start = row * ROW_HEIGHT;
  const end = start + ROW_HEIGHT;
  if (start >= top && end <= top + height) return top;
  if (start < top - 4 * ROW_HEIGHT || end > top + height + 4 * ROW_HEIGHT) return Math.max(0, start - Math.floor(height / 2 - ROW_HEIGHT / 2));
  return start < top ? start : end - height;
}

/**
 * The hottest level of each pixel of the strip beside the scrollbar.
 * @param {ArrayLike<number>} levels one per row
 * @param {number} pixels
 * @returns {Uint8Array}
 */
export function stripLevels(levels, pixels) {
  const strip = new Uint8Array(Math.max(0, pixels));
  if (!pixels) return strip;
  const scale = levels.length * ROW_HEIGHT > pixels ? pixels / levels.length : ROW_HEIGHT;
  for (let row = 0; row < levels.length; row++) {
    const from = Math.floor(row * scale);
    const to = Math.max(from + 1, Math.floor((row + 1) * scale));
    for (let y = from; y < to && y < pixels; y++) strip[y] = Math.max(strip[y], levels[row]);
  }
  return strip;
}
