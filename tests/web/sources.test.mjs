// SPDX-License-Identifier: MIT
// What the pages' sources may not hold: ways for text to become markup or code, and the network.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const FORBIDDEN = /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function\(|setAttribute\(["']on|createContextualFragment|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|importScripts|localStorage|cookie|https?:\/\/)/;

test("text stays text, and nothing is asked for", () => {
  const web = new URL("../../web/", import.meta.url);
  const files = readdirSync(web);
  assert.ok(files.length > 10);
  for (const name of files) assert.doesNotMatch(readFileSync(new URL(name, web), "utf8"), FORBIDDEN, name);
});
