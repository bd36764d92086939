// SPDX-License-Identifier: MIT
// Elements, and text only: nothing here takes markup. Units and Python's words are coloured by ranges over the text
// (CSS custom highlights), which costs no element; without that feature they are plain.

/** @typedef {import("./format.js").Shown} Shown */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @param {string} tag
 * @param {Record<string, any>} [props] class, title, on* listeners; the rest are attributes
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => /** @type {Node | string} */ (child)));
  return node;
}

const highlights = typeof CSS !== "undefined" && "highlights" in CSS && typeof Highlight === "function" ? CSS.highlights : null;

/**
 * The set of ranges of a kind.
 * @param {string} kind
 */
function highlightOf(kind) {
  let set = highlights?.get(kind);
  if (!set && highlights) highlights.set(kind, (set = new Highlight()));
  return set;
}

/** Ranges that go when what they lie in goes. */
export class Marks {
  constructor() {
    /** @type {[string, AbstractRange][]} */
    this.all = [];
  }

  /** @param {string} kind @param {Node | null} node @param {number} start @param {number} end */
  add(kind, node, start, end) {
    if (!highlights || !node || end <= start) return;
    const range = new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });
    highlightOf(kind)?.add(range);
    this.all.push([kind, range]);
  }

  clear() {
    for (const [kind, range] of this.all) highlightOf(kind)?.delete(range);
    this.all = [];
  }
}

/**
 * A figure into an element: the unit is muted, the exact value is its title.
 * @param {HTMLElement} node
 * @param {Shown} shown
 * @param {Marks} marks
 * @returns {HTMLElement}
 */
export function figure(node, shown, marks) {
  const text = shown.unit ? `${shown.text}\u00a0${shown.unit}` : shown.text;
  node.textContent = text;
  if (shown.exact !== text) node.title = shown.exact;
  if (shown.unit) marks.add("unit", node.firstChild, shown.text.length, text.length);
  return node;
}

/**
 * @param {string} className
 * @param {number} width 0 to 1
 */
export function bar(className, width) {
  const inner = el("span", { class: className });
  inner.style.width = `${Math.max(0, Math.min(1, width)) * 100}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}

/**
 * Focus for a field that a key has named, without scrolling the page under it.
 * @param {HTMLElement | null} node
 */
export function focusOn(node) {
  node?.focus({ preventScroll: true });
}
