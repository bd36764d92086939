// SPDX-License-Identifier: MIT
// What the address holds: view, selection, sort, filter, scale, theme. A link or a reload brings all of it back.

/**
 * @typedef {object} State
 * @property {string} view
 * @property {number} file index, -1: none
 * @property {number} line 0: none
 * @property {number} fn index of a function, -1: none
 * @property {number} region -1: the whole run
 * @property {string} sort column of the table in view; "": its own order
 * @property {boolean} up ascending
 * @property {string} q filter of the table in view
 * @property {"log" | "linear"} scale
 * @property {boolean} raw times as measured, without taking off what measuring cost
 * @property {"" | "light" | "dark"} theme "": as the system
 */

/** @type {State} */
export const FIRST_STATE = { view: "summary", file: -1, line: 0, fn: -1, region: -1, sort: "", up: false, q: "", scale: "log", raw: false, theme: "" };

/**
 * @param {string | null} text
 * @param {number} least
 * @param {number} otherwise
 */
function whole(text, least, otherwise) {
  const value = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
  return value >= least ? value : otherwise;
}

/**
 * @param {string} hash with or without its "#"
 * @returns {State} anything that makes no sense is as at first
 */
export function readState(hash) {
  const [view, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const asked = new URLSearchParams(query);
  const theme = asked.get("theme");
  return {
    view: /^[a-z]+$/.test(view) ? view : FIRST_STATE.view,
    file: whole(asked.get("file"), 0, -1),
    line: whole(asked.get("line"), 1, 0),
    fn: whole(asked.get("fn"), 0, -1),
    region: whole(asked.get("region"), 0, -1),
    sort: /^[a-z_]*$/.test(asked.get("sort") ?? "") ? asked.get("sort") ?? "" : "",
    up: asked.get("up") === "1",
    q: asked.get("q") ?? "",
    scale: asked.get("scale") === "linear" ? "linear" : "log",
    raw: asked.get("raw") === "1",
    theme: theme === "light" || theme === "dark" ? theme : "",
  };
}

/**
 * @param {State} state
 * @returns {string} "#view?…", only what differs from the first state
 */
export function writeState(state) {
  const query = new URLSearchParams();
  for (const key of /** @type {(keyof State)[]} */ (Object.keys(FIRST_STATE))) {
    if (key === "view" || state[key] === FIRST_STATE[key]) continue;
    query.set(key, state[key] === true ? "1" : String(state[key]));
  }
  const text = query.toString();
  return `#${state.view}${text ? `?${text}` : ""}`;
}
