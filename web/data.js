// SPDX-License-Identifier: MIT
// From the columns of the page's data block to what the views read. Pure: the block's text comes from elsewhere.

import { visible } from "./text.js";

/**
 * @typedef {{title: string, made_by: string, directory: string | null, started_s: number | null, span_ns: number | null,
 *   processes: number, verdicts: [string, number][], commands: string[], folders: string[], hosts: string[],
 *   pythons: string[], versions: string[], revisions: string[], cpus: string[], missing_ranks: number,
 *   unreadable: string[]}} Run
 * @typedef {{profiled_ns: number, corrected_ns: number, damaged: number, events: number, event_cost_ns: number | null, threads: number, processes: number,
 *   unobserved_threads: number, no_space: number, lost: number, mechanism: string | null}} Totals
 * @typedef {{path: string, source: number, self: number, hits: number, text: string[] | null, functions: number[]}} SourceFile
 * @typedef {{file: number, name: string, first: number, last: number, flags: number, calls: number, self: number,
 *   total: number, active: number, suspended: number, rows: [number, number], missed: [number, number], callers: number[],
 *   callees: number[]}} Fn
 * @typedef {{fn: Uint32Array, line: Uint32Array, mark: Uint8Array, hits: Float64Array, events: Float64Array,
 *   self: Float64Array, inclusive: Float64Array, suspended: Float64Array}} Rows
 * @typedef {{caller: number, line: number, callee: number, calls: number, inclusive: number}} Call
 * @typedef {{name: string, path: string, parent: number, depth: number, entries: number, wall: number | null,
 *   self: number, rows: [number, number]}} Region
 * @typedef {{corrected: boolean, run: Run, totals: Totals, notes: string[], outside: [string, number][], files: SourceFile[], functions: Fn[], rows: Rows,
 *   missed: {fn: Uint32Array, line: Uint32Array}, calls: Call[], regions: Region[], regionRows: Rows}} Model
 */

export const SOURCE_OK = 0;
export const MARK_EVENTS = 1;
export const MARK_PART = 2;

/**
 * @param {any} raw the parsed block
 * @param {boolean} wanted times less what their line events cost, where that is known, or as they were measured
 */
export function decodeLines(raw, wanted) {
  const corrected = wanted && raw.totals.event_cost_ns !== null;
  const text = raw.strings.map(visible);
  const files = decodeFiles(raw.files, text);
  const functions = decodeFunctions(raw.functions, text, corrected);
  functions.forEach((fn, index) => files[fn.file].functions.push(index));
  for (const file of files) {
    file.functions.sort((a, b) => functions[a].first - functions[b].first || a - b);
    file.self = file.functions.reduce((sum, fn) => sum + functions[fn].self, 0);
  }
  const calls = decodeCalls(raw.calls, raw.functions, corrected);
  calls.forEach((call, index) => {
    functions[call.caller].callees.push(index);
    functions[call.callee].callers.push(index);
  });
  for (const fn of functions) fn.callers.sort((a, b) => calls[b].inclusive - calls[a].inclusive || a - b);
  /** @type {Model} */
  const model = {
    corrected,
    run: cleanRun(raw.run),
    totals: corrected ? { ...raw.totals, profiled_ns: raw.totals.corrected_ns } : raw.totals,
    notes: raw.notes.map((/** @type {string} */ note) => note.trim().split("\n").map(visible).join("\n")),
    outside: raw.outside.map((/** @type {[string, number]} */ [path, calls]) => [visible(path), calls]),
    files,
    functions,
    rows: decodeRows(raw.rows, functions, corrected),
    missed: decodeMissed(raw.missed, functions),
    calls,
    regions: decodeRegions(raw.regions, text, corrected),
    regionRows: decodeRegionRows(raw.region_rows, corrected),
  };
  return model;
}

/** @param {any} run @returns {Run} */
function cleanRun(run) {
  /** @type {(value: any) => any} */
  const clean = (value) =>
    typeof value === "string" ? visible(value) : Array.isArray(value) ? value.map(clean) : value;
  return /** @type {Run} */ (Object.fromEntries(Object.entries(run).map(([key, value]) => [key, clean(value)])));
}

/** @param {any} raw @param {string[]} text @returns {SourceFile[]} */
function decodeFiles(raw, text) {
  return raw.path.map((/** @type {number} */ path, /** @type {number} */ i) => ({
    path: text[path],
    source: raw.source[i],
    self: 0,
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

/** @param {any} raw @param {string[]} text @param {boolean} corrected @returns {Fn[]} */
function decodeFunctions(raw, text, corrected) {
  const self = corrected ? raw.corrected_self : raw.self;
  const total = corrected ? raw.corrected_total : raw.total;
  const rows = rangesOf(raw.rows);
  const missed = rangesOf(raw.missed);
  return raw.name.map((/** @type {number} */ name, /** @type {number} */ i) => ({
    file: raw.file[i],
    name: text[name],
    first: raw.first[i],
    last: raw.last[i],
    flags: raw.flags[i],
    calls: raw.calls[i],
    active: raw.active[i],
    self: self[i] ?? 0,
    total: total[i] ?? 0,
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

/** @param {any} raw @param {Fn[]} functions @param {boolean} corrected @returns {Rows} */
function decodeRows(raw, functions, corrected) {
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
      rows.self[at] = (raw.self[at] ?? 0) - (corrected ? raw.cost[at] : 0);
      rows.inclusive[at] = rows.self[at] + (raw.below[at] ?? 0) - (corrected ? raw.cost_below[at] : 0);
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

/**
 * A call loses the same share of its time as all calls of what it called.
 * @param {any} raw @param {any} functions columns @param {boolean} corrected @returns {Call[]}
 */
function decodeCalls(raw, functions, corrected) {
  const kept = (/** @type {number} */ callee) => (corrected && functions.total[callee] > 0 ? (functions.corrected_total[callee] ?? 0) / functions.total[callee] : 1);
  return raw.caller.map((/** @type {number} */ caller, /** @type {number} */ i) => ({
    caller,
    line: raw.line[i],
    callee: raw.callee[i],
    calls: raw.calls[i],
    inclusive: Math.round((raw.inclusive[i] ?? 0) * kept(raw.callee[i])),
  }));
}

/** @param {any} raw @param {string[]} text @param {boolean} corrected @returns {Region[]} */
function decodeRegions(raw, text, corrected) {
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
      self: (corrected ? raw.corrected_self : raw.self)[i] ?? 0,
      rows: rows[i],
    });
  });
  return regions;
}

/** @param {any} raw @param {boolean} corrected @returns {Rows} */
function decodeRegionRows(raw, corrected) {
  const rows = emptyRows(raw.line.length);
  rows.fn.set(raw.function);
  rows.line.set(raw.line);
  rows.mark.set(raw.mark);
  rows.hits.set(raw.hits);
  rows.events.set(raw.events);
  rows.self.set(corrected ? raw.corrected_self : raw.self);
  rows.inclusive.set(corrected ? raw.corrected_inclusive : raw.inclusive);
  return rows;
}
