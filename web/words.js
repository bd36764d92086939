// SPDX-License-Identifier: MIT
// Sentences about a model: what was slowest, what is not in the report. Pure.

import { SOURCE_OK, MARK_EVENTS } from "./data.js";
import { count, duration, inWords, plural, share } from "./format.js";

/** @typedef {import("./data.js").Model} Model */

export const BASE = "self time of all lines";

/** @param {Model} model */
export function baseInWords(model) {
  return `${inWords(duration(model.totals.profiled_ns))}, the ${BASE}`;
}

/**
 * @param {Model} model
 * @returns {string[]} what a reader might look for and not find
 */
export function missingOf(model) {
  const { totals, run } = model;
  /** @type {string[]} */
  const missing = [];
  if (totals.no_space) missing.push(`${plural(totals.no_space, "line event was", "line events were")} not kept: the store had no room.`);
  if (totals.lost) missing.push(`${plural(totals.lost, "line event was", "line events were")} lost.`);
  if (totals.unobserved_threads) missing.push(`${plural(totals.unobserved_threads, "thread was", "threads were")} not observed: ${totals.mechanism === "settrace" ? "they were made outside Python before profiling began" : "the interpreter gave no access to them"}.`);
  if (run.missing_ranks) missing.push(`${plural(run.missing_ranks, "rank")} left no file.`);
  if (run.unreadable.length) missing.push(`${plural(run.unreadable.length, "file")} could not be read: ${run.unreadable.slice(0, 3).join(", ")}${run.unreadable.length > 3 ? " …" : ""}.`);
  const gone = model.files.filter((file) => file.source !== SOURCE_OK);
  if (gone.length) missing.push(`No source text of ${plural(gone.length, "file")}: ${gone.slice(0, 3).map((file) => `${file.path} (${sourceState(file.source)})`).join(", ")}${gone.length > 3 ? " …" : ""}.`);
  const unproved = model.rows.mark.reduce((n, mark) => n + Number(mark === MARK_EVENTS), 0);
  if (unproved) missing.push(`${plural(unproved, "row shows", "rows show")} line events, because executions could not be told for sure; they are marked with ~.`);
  missing.push("Code outside the project is not watched: its time is in the line that called it.");
  return missing;
}

/** @param {number} state */
export function sourceState(state) {
  return ["", "not found", "changed since it ran", "there never was any"][state] ?? "not known";
}

/**
 * What measuring itself took, as far as it is known.
 * @param {Model} model
 */
export function costInWords(model) {
  const { events, event_cost_ns } = model.totals;
  if (event_cost_ns === null) return `${inWords(count(events))} line events; the cost of one was not measured`;
  return `${inWords(count(events))} line events × ${inWords(duration(event_cost_ns))} = about ${inWords(duration(events * event_cost_ns))}`;
}

/** @param {Model} model @param {number} part */
export function shareInWords(model, part) {
  return inWords(share(part, model.totals.profiled_ns));
}

/** @param {import("./data.js").Run} run */
export function commandOf(run) {
  return run.commands[0] ?? run.title;
}

/** @param {import("./data.js").Run} run */
export function processesInWords(run) {
  const all = plural(run.processes, "process", "processes");
  const odd = run.verdicts.filter(([word]) => word !== "clean").map(([word, n]) => `${n} ${word}`);
  return odd.length ? `${all} (${odd.join(", ")})` : all;
}
