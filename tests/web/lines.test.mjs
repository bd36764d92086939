// SPDX-License-Identifier: MIT
// Decoding, lines of a file, search, the window of a long table, Python's words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeLines, rangesOf } from "../../web/data.js";
import { EXECUTED, functionAt, hottestLines, linesOf, MISSED, NO_CODE } from "../../web/lines.js";
import { openQuotes, tokensOf } from "../../web/python.js";
import { lineAt, searchAll, searchIndex } from "../../web/search.js";
import { ROW_HEIGHT, rowsInSight, scrollFor, stripLevels } from "../../web/window.js";

const COLUMNS = { mark: [0, 0, 1], hits: [1, 10, 0], more_events: [0, 1, 5], self: [100, 2000, 30], below: [2000, 0, 0], suspended: [0, 7, 0], cost: [10, 110, 30], cost_below: [110, 0, 0] };

// f (lines 1–4) has rows on 2 and 3, the comprehension in it one on 3; line 4 never ran.
const RAW = {
  strings: ["/p/a.py", "f", "f.<locals>.<listcomp>", "outer", "in\u202ener"],
  run: { title: "t", commands: ["x\u0007"], verdicts: [["clean", 1]], unreadable: [] },
  totals: { profiled_ns: 2130, corrected_ns: 1980, events: 17, event_cost_ns: 10 },
  notes: [],
  outside: [],
  files: { path: [0], source: [0], self: [2130], hits: [11], lines: [5], text: [["def f():", "  a", "  b", "  c", ""]] },
  functions: { file: [0, 0], name: [1, 2], first: [1, 3], last: [4, 3], flags: [0, 0], calls: [1, 1], active: [0, 0], self: [2100, 30], total: [2100, 30], corrected_self: [1980, 0], corrected_total: [1980, 0], suspended: [0, 0], rows: [2, 1], missed: [2, 0] },
  rows: { step: [1, 1, 0], ...COLUMNS },
  missed: [0, 3],
  calls: { caller: [0], line: [3], callee: [1], calls: [1], inclusive: [30] },
  regions: { name: [3, 4], parent: [-1, 0], entries: [1, 2], wall: [null, 5], self: [50, 20], corrected_self: [40, 0], rows: [1, 1] },
  region_rows: { function: [0, 0], line: [2, 3], events: [1, 2], hits: [1, 2], mark: [0, 0], self: [50, 20], inclusive: [60, 20], corrected_self: [40, 0], corrected_inclusive: [50, 0] },
};

test("columns become rows: steps are added up, differences put back", () => {
  const model = decodeLines(RAW, false);
  assert.deepEqual([...model.rows.line], [2, 3, 3]);
  assert.deepEqual([...model.rows.events], [1, 11, 5]);
  assert.deepEqual([...model.rows.inclusive], [2100, 2000, 30]);
  assert.deepEqual([...model.missed.line], [1, 4]);
  assert.deepEqual(model.functions[0].callees, [0]);
  assert.deepEqual(model.functions[1].callers, [0]);
  assert.deepEqual(rangesOf([2, 0, 3]), [[0, 2], [2, 2], [2, 5]]);
  assert.equal(model.regions[1].path, "outer › in\ufffdner");
  assert.equal(model.regions[1].depth, 1);
  assert.equal(model.run.commands[0], "x\ufffd");
});

test("what measuring cost is taken off rows, functions, calls, regions and the base of shares", () => {
  const model = decodeLines(RAW, true);
  assert.deepEqual([...model.rows.self], [90, 1890, 0]);
  assert.deepEqual([...model.rows.inclusive], [1980, 1890, 0]);
  assert.equal(model.totals.profiled_ns, 1980);
  assert.equal(model.files[0].self, 1980);
  assert.equal(model.calls[0].inclusive, 0);
  assert.deepEqual(model.regions.map(({ self }) => self), [40, 0]);
  const unknown = structuredClone(RAW);
  unknown.totals.event_cost_ns = null;
  assert.equal(decodeLines(unknown, true).corrected, false);
});

test("a line has one of three states; the head of a function that ran is none of 'not run'", () => {
  const lines = linesOf(decodeLines(RAW, false), 0, -1);
  assert.deepEqual([...lines.state], [NO_CODE, EXECUTED, EXECUTED, MISSED, NO_CODE]);
});

test("functions that share a line are put together, what one calls of the other once", () => {
  const lines = linesOf(decodeLines(RAW, false), 0, -1);
  assert.equal(lines.self[2], 2030);
  assert.equal(lines.inclusive[2], 2000);
  assert.equal(lines.hits[2], 15); // 10 executions and 5 line events, marked
  assert.equal(lines.mark[2], 3);
  assert.equal(lines.rows[2], 2);
});

test("two functions on a line that do not call each other add up", () => {
  const raw = structuredClone(RAW);
  raw.calls = { caller: [], line: [], callee: [], calls: [], inclusive: [] };
  assert.equal(linesOf(decodeLines(raw, false), 0, -1).inclusive[2], 2030);
});

test("a region's lines keep the states of the whole run", () => {
  const lines = linesOf(decodeLines(RAW, false), 0, 1);
  assert.deepEqual([...lines.self], [0, 0, 20, 0, 0]);
  assert.deepEqual([...lines.state], [NO_CODE, EXECUTED, EXECUTED, MISSED, NO_CODE]);
});

test("hottest lines, of the run and of a region", () => {
  const model = decodeLines(RAW, false);
  assert.deepEqual(hottestLines(model, -1).map(({ line, self, fn }) => [line, self, fn]), [[3, 2030, 0], [2, 100, 0]]);
  assert.deepEqual(hottestLines(model, 0).map(({ line }) => line), [2]);
  assert.equal(functionAt(model, 0, 3), 1);
  assert.equal(functionAt(model, 0, 4), 0);
  assert.equal(functionAt(model, 0, 5), -1);
});

test("search wants every word, ignores case, and says where it stopped", () => {
  const lines = ["Alpha beta", "", "beta İ gamma", "ALPHA"];
  const index = searchIndex(["Alpha.run", "beta"], ["/x/alpha.py"], [lines, null]);
  assert.deepEqual(searchAll(index, "ALPHA").found.map((f) => [f.kind, f.index, f.line]), [["function", 0, 0], ["file", 0, 0], ["line", 0, 1], ["line", 0, 4]]);
  assert.deepEqual(searchAll(index, "beta gamma").found.map((f) => f.line), [3]);
  assert.deepEqual(searchAll(index, "  ").found, []);
  const many = searchAll(searchIndex([], [], [Array.from({ length: 100 }, () => "x x x")]), "x");
  assert.equal(many.found.length, 30);
  assert.ok(many.more);
});

test("the line of an offset", () => {
  const starts = Uint32Array.from([0, 5, 6, 10]);
  assert.deepEqual([0, 4, 5, 6, 9, 10, 99].map((at) => lineAt(starts, at)), [0, 0, 1, 2, 2, 3, 3]);
});

test("only rows in sight exist, at the ends too", () => {
  for (const rows of [0, 1, 50, 20000])
    for (let top = -50; top < rows * ROW_HEIGHT + 500; top += 997) {
      const { from, to } = rowsInSight(top, 600, rows);
      assert.ok(from >= 0 && from <= to && to <= rows && to - from <= 25 + 14);
    }
  assert.deepEqual(rowsInSight(0, 240, 1000), { from: 0, to: 16 });
  assert.equal(scrollFor(5, 0, 600), 0);
  assert.equal(scrollFor(26, 0, 600), 48);
  assert.equal(scrollFor(1, 48, 600), 24);
  assert.equal(scrollFor(1000, 0, 600), 24000 - 288);
});

test("the strip shows the hottest of what a pixel stands for", () => {
  assert.deepEqual([...stripLevels([1, 9, 2, 3], 2)], [9, 3]);
  const short = stripLevels([0, 5], 100);
  assert.equal(short[23], 0);
  assert.equal(short[24], 5);
  assert.equal(short[48], 0);
  assert.equal(stripLevels([], 0).length, 0);
});

const kinds = (line, open = "") => tokensOf(line, open).tokens.map(({ start, end, kind }) => [kind, line.slice(start, end)]);

test("Python's words", () => {
  assert.deepEqual(kinds("return f'a#{b}' if x1 else 0xFF  # why"), [["keyword", "return"], ["string", "f'a#{b}'"], ["keyword", "if"], ["keyword", "else"], ["number", "0xFF"], ["comment", "# why"]]);
  assert.deepEqual(kinds("classes = definition['it\\'s']"), [["string", "'it\\'s'"]]);
  assert.deepEqual(kinds("print'x'"), [["string", "'x'"]]);
  assert.equal(tokensOf('x = """open', "").open, '"""');
  assert.deepEqual(kinds('still """ if', '"""'), [["string", 'still """'], ["keyword", "if"]]);
  assert.deepEqual(openQuotes(['"""a', "b", 'c"""', "d"]), ["", '"""', '"""', ""]);
  assert.deepEqual(kinds("'never closed"), [["string", "'never closed"]]);
});

test("a hostile line costs no more than a long one", () => {
  const start = performance.now();
  tokensOf(`${"'\\".repeat(50_000)}`, "");
  tokensOf("a1".repeat(100_000), "");
  openQuotes(Array.from({ length: 200 }, () => '"""'.repeat(5_000)));
  assert.ok(performance.now() - start < 5_000);
});
