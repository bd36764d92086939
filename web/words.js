// SPDX-License-Identifier: MIT
// Sentences about a model: what was slowest, what is not in the report. Pure.

import { SOURCE_OK, MARK_EVENTS } from "./data.js";
import { count, duration, inWords, plural, share } from "./format.js";

/** @typedef {import("./data.js").Model} Model */

export const BASE = "self time of all lines";

/**
 * @param {Model} model
 * @returns {string[]} what a reader might look for and not find
 */
export function missingOf(model) {
  const { totals, run } = model;
  /** @type {string[]} */
  const missing = [];
  if (totals.no_space) missing.push(`${plural(totals.no_space, "call is", "calls are")} in no table: there was no space for one.`);
  if (totals.lost) missing.push(`${plural(totals.lost, "line event", "line events")} had no place and ${totals.lost === 1 ? "is" : "are"} not counted.`);
  if (totals.damaged) missing.push(`${plural(totals.damaged, "damaged record was", "damaged records were")} left out.`);
  if (totals.unobserved_threads) missing.push(`${plural(totals.unobserved_threads, "thread was", "threads were")} not observed.`);
  if (run.missing_ranks) missing.push(`${plural(run.missing_ranks, "rank")} left no file.`);
  if (run.unreadable.length) missing.push(`${plural(run.unreadable.length, "file")} could not be read: ${run.unreadable.slice(0, 3).join(", ")}${run.unreadable.length > 3 ? " …" : ""}.`);
  const gone = model.files.filter((file) => file.source !== SOURCE_OK);
  if (gone.length) missing.push(`No source text of ${plural(gone.length, "file")}: ${gone.slice(0, 3).map((file) => `${file.path} (${sourceState(file.source)})`).join(", ")}${gone.length > 3 ? " …" : ""}.`);
  const unproved = model.rows.mark.reduce((n, mark) => n + Number(mark === MARK_EVENTS), 0);
  if (unproved) missing.push(`${plural(unproved, "row shows", "rows show")} line events, because executions could not be told for sure; they are marked with ~.`);
  const active = model.functions.reduce((sum, fn) => sum + fn.active, 0);
  if (active) missing.push(`${plural(active, "call was", "calls were")} still running: their times are those up to then.`);
  missing.push("Code outside the project is not watched: its time is in the line that called it.");
  if (model.outside.length) missing.push(`Out of scope, with the most calls: ${model.outside.slice(0, 5).map(([path, calls]) => `${path} (${inWords(count(calls))})`).join(", ")}.`);
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
  const sum = `${inWords(count(events))} line events × ${inWords(duration(event_cost_ns))} = ${inWords(duration(events * event_cost_ns))} of measuring`;
  return `${sum}, ${model.corrected ? "taken off the times here" : "in the times here"}`;
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
