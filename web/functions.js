// SPDX-License-Identifier: MIT
// All functions in one sortable, filtered table.

import { bar, el, figure } from "./dom.js";
import { count, duration, share } from "./format.js";
import { orderBy } from "./sort.js";
import { Table } from "./table.js";
import { splitPath } from "./text.js";

/** @typedef {import("./app.js").Page} Page */
/** @typedef {import("./data.js").Fn} Fn */

/** @type {import("./table.js").Column[]} */
const FUNCTION_COLUMNS = [
  { key: "share", title: "self %", hint: "self time as a share of the self time of all lines", width: "108px", sorts: true },
  { key: "self", title: "self", hint: "time in its own lines, and in code outside the project that they called", width: "84px", sorts: true },
  { key: "total", title: "total", hint: "inclusive time of its outermost calls", width: "84px", sorts: true },
  { key: "calls", title: "calls", hint: "calls", width: "92px", sorts: true, wide: true },
  { key: "each", title: "per call", hint: "total time of one call", width: "84px", sorts: true, wide: true },
  { key: "suspended", title: "suspended", hint: "time its frames stood still: await, yield", width: "88px", sorts: true, wide: true },
  { key: "name", title: "function", hint: "qualified name", width: "minmax(120px, 2fr)", sorts: true, words: true },
  { key: "place", title: "defined", hint: "file and first line", width: "minmax(80px, 1fr)", sorts: true, words: true, wide: true },
];

/** @type {Record<string, (fn: Fn, page: Page) => number | string>} */
const FUNCTION_KEYS = {
  share: (fn) => fn.self,
  self: (fn) => fn.self,
  total: (fn) => fn.total,
  calls: (fn) => fn.calls,
  each: (fn) => (fn.calls ? fn.total / fn.calls : Number.NaN),
  suspended: (fn) => fn.suspended,
  name: (fn) => fn.name,
  place: (fn, page) => `${page.model.files[fn.file].path}:${String(fn.first).padStart(8, "0")}`,
};

/** @type {import("./app.js").View} */
export const functionsView = {
  name: "functions",
  title: "Functions",
  has: (model) => model.functions.length > 0,
  badge: (model) => String(model.functions.length),
  make: (page) => new Functions(page),
};

class Functions {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.key = "";
    /** @type {number[]} */
    this.order = [];
    this.filter = /** @type {HTMLInputElement} */ (el("input", { type: "search", placeholder: "filter by name or file", "aria-label": "filter functions", spellcheck: "false", oninput: () => page.go({ q: this.filter.value }, true) }));
    this.shown = el("span", { class: "hint", role: "status" });
    this.table = new Table({
      label: "Functions",
      name: "fn",
      fill: (cells, row, index, marks) => this.fill(cells, this.order[index], marks),
      onselect: (index) => page.go(page.atFunction(this.order[index])),
      onopen: (index) => page.go({ view: "source", ...page.atFunction(this.order[index]) }),
      onsort: (key) => page.sortBy(key, key === "name" || key === "place"),
    });
    this.root = el("div", { class: "view functions" }, el("div", { class: "bar-top" }, el("h1", {}, "Functions"), el("div", { class: "tools" }, this.shown, this.filter)), this.table.scroller);
  }

  /** @param {import("./state.js").State} state */
  update(state) {
    const { model } = this.page;
    const sort = Object.hasOwn(FUNCTION_KEYS, state.sort) ? state.sort : "self";
    const up = Object.hasOwn(FUNCTION_KEYS, state.sort) ? state.up : false;
    const key = JSON.stringify([sort, up, state.q, this.page.narrow()]);
    if (this.filter.value !== state.q) this.filter.value = state.q;
    if (key !== this.key) {
      this.key = key;
      const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
      const matches = (/** @type {Fn} */ fn) => {
        const text = `${fn.name} ${model.files[fn.file].path}`.toLowerCase();
        return words.every((word) => text.includes(word));
      };
      this.order = orderBy(model.functions.length, (index) => FUNCTION_KEYS[sort](model.functions[index], this.page), up).filter((index) => matches(model.functions[index]));
      this.shown.textContent = words.length ? `${this.order.length} of ${model.functions.length}` : "";
      const suspended = model.functions.some((fn) => fn.suspended > 0);
      this.table.selected = -1;
      this.table.show(FUNCTION_COLUMNS.filter((column) => (column.key !== "suspended" || suspended) && !(column.wide && this.page.narrow())), this.order.length, { sort, up });
    }
    const row = this.order.indexOf(state.fn);
    if (row !== this.table.selected) this.table.select(row);
  }

  /** @param {HTMLElement[]} cells @param {number} index @param {import("./dom.js").Marks} marks */
  fill(cells, index, marks) {
    const { model } = this.page;
    const fn = model.functions[index];
    for (const cell of cells) {
      const key = cell.className.replace(/^td c-(\w+).*$/, "$1");
      if (key === "share") {
        const whole = model.totals.profiled_ns;
        cell.append(bar("fill", whole > 0 ? fn.self / whole : 0), figure(el("span", {}), share(fn.self, whole), marks));
      } else if (key === "name") [cell.textContent, cell.title] = [fn.name, fn.name];
      else if (key === "place") {
        const { path } = model.files[fn.file];
        [cell.textContent, cell.title] = [`${splitPath(path).name}:${fn.first}`, `${path}:${fn.first}`];
      } else if (key === "calls") figure(cell, count(fn.calls), marks);
      else if (key !== "suspended" || fn.suspended > 0) figure(cell, duration(Number(FUNCTION_KEYS[key](fn, this.page))), marks);
    }
  }

  /** @param {number} step */
  move(step) {
    const row = Math.max(0, Math.min(this.order.length - 1, this.table.selected + step));
    if (this.order.length) this.page.go(this.page.atFunction(this.order[row]));
  }

  open() {
    if (this.table.selected >= 0) this.table.options.onopen(this.table.selected);
  }

  /** @param {boolean} on */
  print(on) {
    this.table.print(on);
  }
}
