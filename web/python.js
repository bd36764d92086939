// SPDX-License-Identifier: MIT
// Just enough of Python's words to colour a line: keywords, strings, comments, numbers. A string over several lines is
// carried from line to line by the state that each line ends in.

const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "),
);
const TOKEN = /(#.*)|([A-Za-z_]\w*)?('''|"""|'|")|((?:0[xXoObB][\da-fA-F_]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?)j?)|([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)/g;
const PREFIX = /^(?:[rRbBuUfFtT]{1,2})$/;
// Strings can be long and lines hostile: what is past this is left as it is.
const MOST_COLUMNS = 2000;

/** @typedef {{start: number, end: number, kind: "keyword" | "string" | "comment" | "number"}} Token */

/**
 * @param {string} line
 * @param {string} open the quotes of a string that an earlier line left open, or ""
 * @returns {{tokens: Token[], open: string}}
 */
export function tokensOf(line, open) {
  /** @type {Token[]} */
  const tokens = [];
  let at = 0;
  if (open) {
    const end = endOfString(line, 0, open);
    if (end < 0) return { tokens: line ? [{ start: 0, end: line.length, kind: "string" }] : [], open };
    tokens.push({ start: 0, end, kind: "string" });
    at = end;
  }
  const limit = Math.min(line.length, MOST_COLUMNS);
  TOKEN.lastIndex = at;
  for (let match = TOKEN.exec(line); match && match.index < limit; match = TOKEN.exec(line)) {
    const [text, comment, prefix, quotes, number, word] = match;
    const start = match.index;
    if (comment) {
      tokens.push({ start, end: start + text.length, kind: "comment" });
    } else if (quotes) {
      const isPrefix = !prefix || PREFIX.test(prefix);
      if (prefix && !isPrefix && KEYWORDS.has(prefix)) tokens.push({ start, end: start + prefix.length, kind: "keyword" });
      const from = isPrefix ? start : start + (prefix ?? "").length;
      const end = endOfString(line, start + text.length, quotes);
      tokens.push({ start: from, end: end < 0 ? line.length : end, kind: "string" });
      if (end < 0) return { tokens, open: quotes.length === 3 ? quotes : "" };
      TOKEN.lastIndex = end;
    } else if (number) {
      tokens.push({ start, end: start + text.length, kind: "number" });
    } else if (word && KEYWORDS.has(word)) {
      tokens.push({ start, end: start + text.length, kind: "keyword" });
    }
  }
  return { tokens, open: "" };
}

/**
 * @param {string} line
 * @param {number} from
 * @param {string} quotes
 * @returns {number} behind the closing quotes, or -1
 */
function endOfString(line, from, quotes) {
  for (let at = from; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line.startsWith(quotes, at)) return at + quotes.length;
  }
  return -1;
}

/**
 * For every line, the quotes that are open where it begins.
 * @param {string[]} lines
 * @returns {string[]}
 */
export function openQuotes(lines) {
  let open = "";
  return lines.map((line) => {
    const before = open;
    if (open || line.includes('"""') || line.includes("'''")) open = tokensOf(line.slice(0, MOST_COLUMNS), open).open;
    return before;
  });
}
