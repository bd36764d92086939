// SPDX-License-Identifier: MIT
// Figures, the heat scale, text of others, sorting, the address: all that needs no document.

import assert from "node:assert/strict";
import { test } from "node:test";

import { count, duration, grouped, inWords, moment, plural, share } from "../../web/format.js";
import { HEAT_LEVELS, heatLevel } from "../../web/heat.js";
import { orderBy } from "../../web/sort.js";
import { FIRST_STATE, readState, writeState } from "../../web/state.js";
import { commonFolder, splitPath, visible } from "../../web/text.js";

const words = (shown) => inWords(shown).replace("\u00a0", " ");

test("durations have three digits and the unit that is left after rounding", () => {
  const cases = [
    [0, "0"], [1, "1 ns"], [999, "999 ns"], [1000, "1.00 µs"], [1234, "1.23 µs"], [9994, "9.99 µs"], [9996, "10.0 µs"],
    [99_960, "100 µs"], [999_499, "999 µs"], [999_500, "1.00 ms"], [999_960, "1.00 ms"], [12_340_000, "12.3 ms"],
    [1e9, "1.00 s"], [59.9e9, "59.9 s"], [59.96e9, "1.00 min"], [3599.9e9, "1.00 h"], [4e15, "1,111 h"], [0.5, "0.50 ns"],
  ];
  for (const [ns, text] of cases) assert.equal(words(duration(ns)), text, String(ns));
});

test("what was not measured is never zero", () => {
  for (const nothing of [null, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.equal(words(duration(nothing)), "–");
    assert.equal(duration(nothing).exact, "not measured");
    assert.equal(words(count(nothing)), "–");
  }
  assert.equal(words(share(1, 0)), "–");
  assert.equal(words(share(Number.NaN, 5)), "–");
});

test("exact values keep every digit", () => {
  assert.equal(duration(1_234_567_890).exact, "1,234,567,890 ns");
  assert.equal(duration(2.675).exact, "2.67 ns");
  assert.equal(count(40_200).text, "40,200");
  assert.equal(words(count(12_345_678)), "12.3 M");
  assert.equal(count(12_345_678).exact, "12,345,678");
  assert.equal(words(count(9.2e18)), "9.20 E");
});

test("a share that is there is not shown as nothing, and none is above its whole by rounding", () => {
  assert.equal(words(share(1, 1e6)), "<0.1 %");
  assert.equal(words(share(0, 1e6)), "0.0 %");
  assert.equal(words(share(481, 1000)), "48.1 %");
  assert.equal(words(share(1000, 1000)), "100.0 %");
  assert.equal(words(share(1001, 1000)), "100.0 %");
});

test("words around numbers", () => {
  assert.equal(grouped(1234567), "1,234,567");
  assert.equal(plural(1, "process", "processes"), "1 process");
  assert.equal(plural(2, "thread"), "2 threads");
  assert.equal(moment(null), "time not known");
  assert.match(moment(1.7e9), /^2023-11-1[45] \d\d:\d\d:20$/);
});

test("heat rises with the share, from nothing to the whole", () => {
  for (const scale of ["log", "linear"]) {
    let last = 0;
    for (let part = 1e-6; part <= 1; part *= 1.1) {
      const level = heatLevel(part, 1, scale);
      assert.ok(level >= last && level <= HEAT_LEVELS);
      last = level;
    }
    assert.equal(heatLevel(1, 1, scale), HEAT_LEVELS);
    assert.equal(heatLevel(5, 1, scale), HEAT_LEVELS);
    for (const [part, whole] of [[0, 1], [1, 0], [Number.NaN, 1], [-1, 1]]) assert.equal(heatLevel(part, whole, scale), 0);
  }
  assert.equal(heatLevel(0.0001, 1, "log"), 0);
  assert.equal(heatLevel(0.01, 1, "log"), 5);
  assert.equal(heatLevel(0.01, 1, "linear"), 1);
});

test("what misleads the eye is shown as U+FFFD, the rest as it is", () => {
  assert.equal(visible("a\u202egnp\u2066\u200b\u2028\u0007\u007f\u0085\ufeff"), "a\ufffdgnp\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd");
  assert.equal(visible("\ud800x\udc00"), "\ufffdx\ufffd");
  assert.equal(visible("naïve 日本 🎉\t</script>"), "naïve 日本 🎉\t</script>");
});

test("paths", () => {
  assert.deepEqual(splitPath("/a/b/c.py"), { folder: "/a/b/", name: "c.py" });
  assert.deepEqual(splitPath("<stdin>"), { folder: "", name: "<stdin>" });
  assert.equal(commonFolder(["/a/b/c.py", "/a/b/d/e.py", "<string>"]), "/a/b/");
  assert.equal(commonFolder(["/a/x.py", "/b/y.py"]), "/");
  assert.equal(commonFolder([]), "");
});

test("sorting keeps ties in their order and puts the unmeasured last", () => {
  const values = [3, Number.NaN, 1, 3, 2];
  assert.deepEqual(orderBy(5, (i) => values[i], false), [0, 3, 4, 2, 1]);
  assert.deepEqual(orderBy(5, (i) => values[i], true), [2, 4, 0, 3, 1]);
  assert.deepEqual(orderBy(3, (i) => ["b", "a", "b"][i], true), [1, 0, 2]);
});

test("the address holds the state, and nothing it cannot mean", () => {
  const state = { view: "functions", file: 3, line: 17, fn: 0, region: 2, sort: "calls", up: true, q: "a&b=c #?", scale: "linear", raw: true, theme: "dark" };
  assert.deepEqual(readState(writeState(state)), state);
  assert.equal(writeState(FIRST_STATE), "#summary");
  assert.deepEqual(readState(""), FIRST_STATE);
  for (const odd of ["#?file=-1", "#summary?file=1e9&line=0&theme=pink&scale=no&up=yes&sort=A", "#SOURCE", "#%E0%A4%A?fn=1.5", "#?a=%zz"])
    assert.deepEqual(readState(odd), FIRST_STATE, odd);
});
