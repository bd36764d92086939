// SPDX-License-Identifier: MIT
// From the columns of the page's data block to what the views read. Pure: the block's text comes from elsewhere.

import { visible } from "./text.js";

/**
 * @typedef {{title: string, made_by: string, directory: string | null, started_s: number | null, span_ns: number | null,
 *   processes: number, verdicts: [string, number][], commands: string[], folders: string[], hosts: string[],
 *   pythons: string[], versions: string[], revisions: string[], cpus: string[], missing_ranks: number,
 *   unreadable: string[]}} Run
 * @typedef {{profiled_ns: number, events: number, event_cost_ns: number | null, threads: number, processes: number,
 *   unobserved_threads: number, no_space: number, lost: number, mechanism: string | null}} Totals
 * @typedef {{path: string, source: number, self: number, hits: number, text: string[] | null, functions: number[]}} SourceFile
 * @typedef {{file: number, name: string, first: number, last: number, flags: number, calls: number, self: number,
 *   total: number, suspended: number, rows: [number, number], missed: [number, number], callers: number[],
 *   callees: number[]}} Fn
 * @typedef {{fn: Uint32Array, line: Uint32Array, mark: Uint8Array, hits: Float64Array, events: Float64Array,
 *   self: Float64Array, inclusive: Float64Array, suspended: Float64Array}} Rows
 * @typedef {{caller: number, line: number, callee: number, calls: number, inclusive: number}} Call
 * @typedef {{name: string, path: string, parent: number, depth: number, entries: number, wall: number | null,
 *   self: number, share: number | null, rows: [number, number]}} Region
 * @typedef {{run: Run, totals: Totals, notes: string[], files: SourceFile[], functions: Fn[], rows: Rows,
 *   missed: {fn: Uint32Array, line: Uint32Array}, calls: Call[], regions: Region[], regionRows: Rows}} Model
 */

export const SOURCE_OK = 0;
export const MARK_EVENTS = 1;
export const MARK_PART = 2;

/** @param {any} raw the parsed block */
export function decodeLines(raw) {
  const text = raw.strings.map(visible);
  const files = decodeFiles(raw.files, text);
  const functions = decodeFunctions(raw.functions, text);
  functions.forEach((fn, index) => files[fn.file].functions.push(index));
  for (const file of files) file.functions.sort((a, b) => functions[a].first - functions[b].first || a - b);
  const calls = decodeCalls(raw.calls);
  calls.forEach((call, index) => {
    functions[call.caller].callees.push(index);
    functions[call.callee].callers.push(index);
  });
  for (const fn of functions) fn.callers.sort((a, b) => calls[b].inclusive - calls[a].inclusive || a - b);
  /** @type {Model} */
  const model = {
    run: cleanRun(raw.run),
    totals: raw.totals,
    notes: raw.notes.map(visible),
    files,
    functions,
    rows: decodeRows(raw.rows, functions),
    missed: decodeMissed(raw.missed, functions),
    calls,
    regions: decodeRegions(raw.regions, text),
    regionRows: decodeRegionRows(raw.region_rows),
  };
  return model;
}

/** @param {any} run @returns {Run} */
function cleanRun(run) {
  const clean = (/** @type {any} */ value) =>
    typeof value === "string" ? visible(value) : Array.isArray(value) ? value.map(clean) : value;
  return /** @type {Run} */ (Object.fromEntries(Object.entries(run).map(([key, value]) => [key, clean(value)])));
}

/** @param {any} raw @param {string[]} text @returns {SourceFile[]} */
function decodeFiles(raw, text) {
  return raw.path.map((/** @type {number} */ path, /** @type {number} */ i) => ({
    path: text[path],
    source: raw.source[i],
    self: raw.self[i] ?? 0,
    hits: raw.hits[i],
    text: raw.text[i],
    functions: [],
  }));
}

/**
 * Where each one's part of a joined column begins and ends.
 * @param {number[]} counts
 * @returns {[number, number][]}
 */
export function rangesOf(counts) {
  let at = 0;
  return counts.map((n) => [at, (at += n)]);
}

/** @param {any} raw @param {string[]} text @returns {Fn[]} */
function decodeFunctions(raw, text) {
  const rows = rangesOf(raw.rows);
  const missed = rangesOf(raw.missed);
  return raw.name.map((/** @type {number} */ name, /** @type {number} */ i) => ({
    file: raw.file[i],
    name: text[name],
    first: raw.first[i],
    last: raw.last[i],
    flags: raw.flags[i],
    calls: raw.calls[i],
    self: raw.self[i] ?? 0,
    total: raw.total[i] ?? 0,
    suspended: raw.suspended[i] ?? 0,
    rows: rows[i],
    missed: missed[i],
    callers: [],
    callees: [],
  }));
}

/** @param {number} count @returns {Rows} */
function emptyRows(count) {
  return {
    fn: new Uint32Array(count),
    line: new Uint32Array(count),
    mark: new Uint8Array(count),
    hits: new Float64Array(count),
    events: new Float64Array(count),
    self: new Float64Array(count),
    inclusive: new Float64Array(count),
    suspended: new Float64Array(count),
  };
}

/** @param {any} raw @param {Fn[]} functions @returns {Rows} */
function decodeRows(raw, functions) {
  const rows = emptyRows(raw.step.length);
  functions.forEach((fn, index) => {
    let line = fn.first;
    for (let at = fn.rows[0]; at < fn.rows[1]; at++) {
      line += raw.step[at];
      rows.fn[at] = index;
      rows.line[at] = line;
      rows.mark[at] = raw.mark[at];
      rows.hits[at] = raw.hits[at];
      rows.events[at] = raw.hits[at] + raw.more_events[at];
      rows.self[at] = raw.self[at] ?? 0;
      rows.inclusive[at] = (raw.self[at] ?? 0) + (raw.below[at] ?? 0);
      rows.suspended[at] = raw.suspended[at] ?? 0;
    }
  });
  return rows;
}

/** @param {number[]} steps @param {Fn[]} functions */
function decodeMissed(steps, functions) {
  const missed = { fn: new Uint32Array(steps.length), line: new Uint32Array(steps.length) };
  functions.forEach((fn, index) => {
    let line = fn.first;
    for (let at = fn.missed[0]; at < fn.missed[1]; at++) {
      line += steps[at];
      missed.fn[at] = index;
      missed.line[at] = line;
    }
  });
  return missed;
}

/** @param {any} raw @returns {Call[]} */
function decodeCalls(raw) {
  return raw.caller.map((/** @type {number} */ caller, /** @type {number} */ i) => ({
    caller,
    line: raw.line[i],
    callee: raw.callee[i],
    calls: raw.calls[i],
    inclusive: raw.inclusive[i] ?? 0,
  }));
}

/** @param {any} raw @param {string[]} text @returns {Region[]} */
function decodeRegions(raw, text) {
  const rows = rangesOf(raw.rows);
  /** @type {Region[]} */
  const regions = [];
  raw.name.forEach((/** @type {number} */ name, /** @type {number} */ i) => {
    const outer = raw.parent[i] >= 0 ? regions[raw.parent[i]] : null;
    regions.push({
      name: text[name],
      path: outer ? `${outer.path} › ${text[name]}` : text[name],
      parent: raw.parent[i],
      depth: outer ? outer.depth + 1 : 0,
      entries: raw.entries[i],
      wall: raw.wall[i],
      self: raw.self[i] ?? 0,
      share: raw.share[i],
      rows: rows[i],
    });
  });
  return regions;
}

/** @param {any} raw @returns {Rows} */
function decodeRegionRows(raw) {
  const rows = emptyRows(raw.line.length);
  rows.fn.set(raw.function);
  rows.line.set(raw.line);
  rows.mark.set(raw.mark);
  rows.hits.set(raw.hits);
  rows.events.set(raw.events);
  rows.self.set(raw.self);
  rows.inclusive.set(raw.inclusive);
  return rows;
}
