// SPDX-License-Identifier: MIT
// What a file's lines show: the rows of all functions that have code on a line, put together, and the three states.

import { MARK_EVENTS } from "./data.js";

/** @typedef {import("./data.js").Model} Model */
/**
 * @typedef {{state: Uint8Array, hits: Float64Array, self: Float64Array, inclusive: Float64Array, suspended: Float64Array,
 *   mark: Uint8Array, rows: Uint16Array}} Lines one entry per line, the first is line 1
 */

export const NO_CODE = 0;
export const MISSED = 1;
export const EXECUTED = 2;

/**
 * The hits that a row stands for: line events where executions could not be told.
 * @param {import("./data.js").Rows} rows
 * @param {number} at
 */
export function hitsOf(rows, at) {
  return rows.mark[at] === MARK_EVENTS ? rows.events[at] : rows.hits[at];
}

/**
 * @param {Model} model
 * @param {number} file
 * @returns {number} lines to show: of the text, or up to the last one that was seen when there is none
 */
export function lineCount(model, file) {
  const { text, functions } = model.files[file];
  if (text) return text.length;
  return functions.reduce((last, fn) => {
    const [from, to] = model.functions[fn].rows;
    return Math.max(last, model.functions[fn].last, to > from ? model.rows.line[to - 1] : 0);
  }, 0);
}

/**
 * The rows of one file: of the whole run, or of a region.
 * @param {Model} model
 * @param {number} file
 * @param {number} region -1: the whole run
 * @returns {number[]} indexes into rowsOf(model, region)
 */
export function rowIndexes(model, file, region) {
  /** @type {number[]} */
  const indexes = [];
  if (region < 0) {
    for (const fn of model.files[file].functions) for (let at = model.functions[fn].rows[0]; at < model.functions[fn].rows[1]; at++) indexes.push(at);
  } else {
    const [from, to] = model.regions[region].rows;
    for (let at = from; at < to; at++) if (model.functions[model.regionRows.fn[at]].file === file) indexes.push(at);
  }
  return indexes;
}

/** @param {Model} model @param {number} region */
export function rowsOf(model, region) {
  return region < 0 ? model.rows : model.regionRows;
}

/**
 * @param {Model} model
 * @param {number} file
 * @param {number} region
 * @returns {Lines}
 */
export function linesOf(model, file, region) {
  const count = lineCount(model, file);
  /** @type {Lines} */
  const lines = {
    state: new Uint8Array(count),
    hits: new Float64Array(count),
    self: new Float64Array(count),
    inclusive: new Float64Array(count),
    suspended: new Float64Array(count),
    mark: new Uint8Array(count),
    rows: new Uint16Array(count),
  };
  for (const fn of model.files[file].functions) {
    const { missed, first, calls } = model.functions[fn];
    for (let at = missed[0]; at < missed[1]; at++) {
      const line = model.missed.line[at];
      // The head of a function that ran has code of its own that no statement stands for.
      if (line >= 1 && line <= count && !(line === first && calls > 0)) lines.state[line - 1] = MISSED;
    }
  }
  for (const at of rowIndexes(model, file, -1)) {
    const line = model.rows.line[at];
    if (line >= 1 && line <= count) lines.state[line - 1] = EXECUTED;
  }
  addRows(model, lines, rowIndexes(model, file, region), region);
  return lines;
}

/** @param {Model} model @param {Lines} lines @param {number[]} indexes @param {number} region */
function addRows(model, lines, indexes, region) {
  const rows = rowsOf(model, region);
  const firstOf = new Int32Array(lines.state.length).fill(-1);
  /** @type {Map<number, number[]>} */
  const shared = new Map();
  for (const at of indexes) {
    const i = rows.line[at] - 1;
    if (i < 0 || i >= lines.state.length) continue;
    lines.hits[i] += hitsOf(rows, at);
    lines.self[i] += rows.self[at];
    lines.inclusive[i] += rows.inclusive[at];
    lines.suspended[i] += rows.suspended[at];
    lines.mark[i] = Math.max(lines.mark[i], rows.mark[at] === MARK_EVENTS ? 3 : rows.mark[at]);
    lines.rows[i]++;
    if (firstOf[i] < 0) firstOf[i] = at;
    else if (shared.has(i)) shared.get(i)?.push(at);
    else shared.set(i, [firstOf[i], at]);
  }
  for (const [i, here] of shared) lines.inclusive[i] = inclusiveOfShared(model, rows, here);
}

/**
 * The rows of one line.
 * @param {Model} model @param {number} file @param {number} line @param {number} region
 * @returns {number[]} indexes into rowsOf(model, region)
 */
export function rowsAt(model, file, line, region) {
  const rows = rowsOf(model, region);
  /** @type {number[]} */
  const found = [];
  const take = (/** @type {[number, number]} */ [from, to]) => {
    for (let at = from; at < to; at++) if (rows.line[at] === line && model.functions[rows.fn[at]].file === file) found.push(at);
  };
  if (region >= 0) take(model.regions[region].rows);
  else
    for (const fn of model.files[file].functions) {
      const [from, to] = model.functions[fn].rows;
      if (to > from && rows.line[from] <= line && rows.line[to - 1] >= line) take([from, to]);
    }
  return found;
}

/**
 * A comprehension is called from the line it stands on: the caller's inclusive time holds it already.
 * @param {Model} model
 * @param {import("./data.js").Rows} rows
 * @param {number[]} here indexes of the rows of one line
 */
function inclusiveOfShared(model, rows, here) {
  const own = new Map(here.map((at) => [rows.fn[at], rows.inclusive[at]]));
  let sum = 0;
  let most = 0;
  for (const at of here) {
    sum += rows.inclusive[at];
    most = Math.max(most, rows.inclusive[at]);
    for (const index of model.functions[rows.fn[at]].callees) {
      const call = model.calls[index];
      if (call.line === rows.line[at] && call.callee !== call.caller) sum -= Math.min(call.inclusive, own.get(call.callee) ?? 0);
    }
  }
  return Math.max(sum, most);
}

/**
 * All lines with time, most self time first.
 * @param {Model} model
 * @param {number} region
 * @returns {{file: number, line: number, self: number, fn: number}[]}
 */
export function hottestLines(model, region) {
  const rows = rowsOf(model, region);
  const [from, to] = region < 0 ? [0, rows.line.length] : model.regions[region].rows;
  /** @type {Map<number, {file: number, line: number, self: number, fn: number, most: number}>} */
  const byPlace = new Map();
  for (let at = from; at < to; at++) {
    if (!(rows.self[at] > 0)) continue;
    const { file } = model.functions[rows.fn[at]];
    const key = file * 2 ** 32 + rows.line[at];
    const place = byPlace.get(key);
    if (!place) byPlace.set(key, { file, line: rows.line[at], self: rows.self[at], fn: rows.fn[at], most: rows.self[at] });
    else {
      place.self += rows.self[at];
      if (rows.self[at] > place.most) [place.most, place.fn] = [rows.self[at], rows.fn[at]];
    }
  }
  return [...byPlace.values()].sort((a, b) => b.self - a.self || a.file - b.file || a.line - b.line);
}

/**
 * The function whose code a line is part of: the innermost one.
 * @param {Model} model
 * @param {number} file
 * @param {number} line
 * @returns {number} -1: none
 */
export function functionAt(model, file, line) {
  let best = -1;
  for (const fn of model.files[file].functions) {
    const { first, last } = model.functions[fn];
    if (first > line) break;
    if (line <= last && (best < 0 || first >= model.functions[best].first)) best = fn;
  }
  return best;
}
