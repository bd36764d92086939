// SPDX-License-Identifier: MIT
// Search over functions, files and source text: every word must be found, case does not matter. Source text is looked
// at as one lower-case string per file, made once, so that a key press costs a scan and no more.

const MOST_FOUND = 30;

/**
 * @typedef {{kind: "function" | "file" | "line", index: number, line: number}} Found
 * @typedef {{found: Found[], more: boolean}} Results
 * @typedef {{names: string[], paths: string[], texts: (string | null)[], starts: (Uint32Array | null)[]}} SearchIndex
 */

/**
 * @param {string[]} names of functions
 * @param {string[]} paths of files
 * @param {(string[] | null)[]} texts lines of each file
 * @returns {SearchIndex}
 */
export function searchIndex(names, paths, texts) {
  const starts = texts.map((lines) => {
    if (!lines) return null;
    const offsets = new Uint32Array(lines.length);
    for (let at = 0, line = 0; line < lines.length; line++) {
      offsets[line] = at;
      at += lines[line].length + 1;
    }
    return offsets;
  });
  // toLowerCase may lengthen a string ("İ"): then offsets would be those of another text.
  const lower = (/** @type {string} */ text) => (text.toLowerCase().length === text.length ? text.toLowerCase() : text.replace(/[A-Z]/g, (c) => c.toLowerCase()));
  return { names: names.map(lower), paths: paths.map(lower), texts: texts.map((lines) => lines && lower(lines.join("\n"))), starts };
}

/**
 * @param {SearchIndex} index
 * @param {string} query
 * @returns {Results} functions first, then files, then lines
 */
export function searchAll(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return { found: [], more: false };
  const functions = inList(index.names, words, "function");
  const files = inList(index.paths, words, "file");
  const lines = inTexts(index, words);
  const found = [...functions.found, ...files.found, ...lines.found];
  return { found, more: functions.more || files.more || lines.more };
}

/**
 * @param {string[]} list
 * @param {string[]} words
 * @param {"function" | "file"} kind
 * @returns {Results}
 */
function inList(list, words, kind) {
  /** @type {Found[]} */
  const found = [];
  for (let index = 0; index < list.length; index++) {
    if (!words.every((word) => list[index].includes(word))) continue;
    if (found.length === MOST_FOUND) return { found, more: true };
    found.push({ kind, index, line: 0 });
  }
  return { found, more: false };
}

/**
 * @param {SearchIndex} index
 * @param {string[]} words
 * @returns {Results}
 */
function inTexts(index, words) {
  /** @type {Found[]} */
  const found = [];
  const longest = words.reduce((a, b) => (b.length > a.length ? b : a));
  for (let file = 0; file < index.texts.length; file++) {
    const text = index.texts[file];
    const starts = index.starts[file];
    if (!text || !starts) continue;
    for (let at = text.indexOf(longest); at >= 0; ) {
      const line = lineAt(starts, at);
      const end = line + 1 < starts.length ? starts[line + 1] : text.length;
      const content = text.slice(starts[line], end);
      if (words.every((word) => content.includes(word))) {
        if (found.length === MOST_FOUND) return { found, more: true };
        found.push({ kind: "line", index: file, line: line + 1 });
      }
      at = end < text.length ? text.indexOf(longest, end) : -1;
    }
  }
  return { found, more: false };
}

/**
 * @param {Uint32Array} starts
 * @param {number} offset
 * @returns {number} the last line that starts at or before it
 */
export function lineAt(starts, offset) {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
