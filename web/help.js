// SPDX-License-Identifier: MIT
// The keys, and what the words on the page mean.

import { el } from "./dom.js";
import { BASE } from "./words.js";

/** @type {[string, string][]} */
const KEYS = [
  ["/", "search functions, files, source"],
  ["j  k", "next and previous row"],
  ["n  p", "next and previous hottest line"],
  ["Enter", "open: the source of a function, the function that a line calls"],
  ["1 … 4", "views"],
  ["[  ]", "previous and next file"],
  ["l", "linear or logarithmic heat"],
  ["r", "times as measured, or less what measuring cost"],
  ["t", "light, dark, as the system"],
  ["?", "this list"],
  ["Esc", "close, or select nothing"],
];

/** @type {[string, string][]} */
const WORDS = [
  ["self", "time in the line itself and in code outside the project that it called"],
  ["inclusive", "self and the functions called from there; a recursive call is counted once"],
  ["hits", "executions of the statement; ~ stands before line events, shown where executions could not be told"],
  ["suspended", "time in which the frame stood still at await or yield; no part of self or inclusive"],
  ["share", `of the ${BASE} of the whole run, unless it says otherwise`],
  ["not run", "the line has code that was not executed; lines without a number have no code that was watched"],
];

/** @returns {HTMLDialogElement} */
export function helpDialog() {
  const list = (/** @type {[string, string][]} */ pairs, /** @type {string} */ tag) => el("dl", {}, ...pairs.flatMap(([name, text]) => [el("dt", {}, el(tag, {}, name)), el("dd", {}, text)]));
  const dialog = /** @type {HTMLDialogElement} */ (el("dialog", { class: "help", "aria-label": "Keys and words" }, el("h2", {}, "Keys"), list(KEYS, "kbd"), el("h2", {}, "Words"), list(WORDS, "b"), el("form", { method: "dialog" }, el("button", {}, "Close"))));
  return dialog;
}
