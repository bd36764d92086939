// SPDX-License-Identifier: MIT
// Text of others, made safe for the eye: what is invisible, or would turn the reading order, is shown as U+FFFD.

// Controls, line separators, zero-width and bidirectional marks, lone surrogates, noncharacters. A tab stays: it is
// source code.
const MISLEADING =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  return text.replace(MISLEADING, "\ufffd");
}

/**
 * The last part of a path, and what stands before it.
 * @param {string} path
 * @returns {{folder: string, name: string}}
 */
export function splitPath(path) {
  const cut = path.lastIndexOf("/") + 1;
  return { folder: path.slice(0, cut), name: path.slice(cut) || path };
}

/**
 * What all paths start with, up to a slash: not worth repeating in every row.
 * @param {string[]} paths
 * @returns {string}
 */
export function commonFolder(paths) {
  const real = paths.filter((path) => path.startsWith("/"));
  if (!real.length) return "";
  let common = splitPath(real[0]).folder;
  for (const path of real) while (!path.startsWith(common)) common = common.slice(0, common.lastIndexOf("/", common.length - 2) + 1);
  return common;
}
