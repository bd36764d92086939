// SPDX-License-Identifier: MIT
// A long table of which only the rows in sight exist. Rows are made once when they come into sight, keep their place
// by index, and go when they leave it; a selected row stays reachable through aria-activedescendant.

import { el, Marks } from "./dom.js";
import { ROW_HEIGHT, rowsInSight, scrollFor } from "./window.js";

/** @typedef {import("./format.js").Shown} Shown */
/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {string} hint
 * @property {string} width of the grid's track
 * @property {boolean} [words] left-aligned text instead of a figure
 * @property {boolean} [sorts]
 * @property {boolean} [wide] left out where there is little room
 */
/**
 * @typedef {object} TableOptions
 * @property {string} label
 * @property {string} name unique in the page, for ids
 * @property {(cells: HTMLElement[], row: HTMLElement, index: number, marks: Marks) => void} fill
 * @property {(index: number) => void} onselect
 * @property {(index: number) => void} onopen
 * @property {(key: string) => void} [onsort]
 * @property {(top: number, height: number) => void} [onscroll]
 */

// Printed, a table is shown whole, up to what a reader would still leaf through.
const MOST_PRINTED = 3000;

export class Table {
  /** @param {TableOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {Column[]} */
    this.columns = [];
    this.count = 0;
    this.selected = -1;
    /** @type {Map<number, {row: HTMLElement, marks: Marks}>} */
    this.live = new Map();
    this.printing = false;
    this.waiting = false;
    this.head = el("div", { class: "thead", role: "row" });
    this.body = el("div", { class: "tbody", role: "rowgroup" });
    this.scroller = el(
      "div",
      { class: "table", role: "grid", tabindex: "0", "aria-label": options.label, onscroll: () => this.soon(), onclick: (/** @type {MouseEvent} */ e) => this.clicked(e), ondblclick: (/** @type {MouseEvent} */ e) => this.clicked(e) },
      el("div", { role: "rowgroup", class: "thead-group" }, this.head),
      this.body,
    );
    new ResizeObserver(() => this.soon()).observe(this.scroller);
  }

  /**
   * New contents; the scroll position is kept.
   * @param {Column[]} columns
   * @param {number} count
   * @param {{sort?: string, up?: boolean, minWidth?: string}} [looks]
   */
  show(columns, count, looks = {}) {
    this.columns = columns;
    this.count = count;
    this.scroller.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    this.scroller.style.setProperty("--min-width", looks.minWidth ?? "0px");
    this.scroller.setAttribute("aria-rowcount", String(count + 1));
    this.scroller.setAttribute("aria-colcount", String(columns.length));
    this.head.replaceChildren(...columns.map((column) => this.headCell(column, looks)));
    this.body.style.height = `${count * ROW_HEIGHT}px`;
    this.forget();
    this.draw();
  }

  /** @param {Column} column @param {{sort?: string, up?: boolean}} looks */
  headCell(column, looks) {
    const sorted = looks.sort === column.key;
    const cell = el("div", { class: `th c-${column.key}${column.words ? " words" : ""}`, role: "columnheader", title: column.hint });
    if (sorted) cell.setAttribute("aria-sort", looks.up ? "ascending" : "descending");
    if (column.sorts && this.options.onsort) {
      cell.append(el("button", { type: "button", class: "sort", onclick: () => this.options.onsort?.(column.key) }, `${column.title}${sorted ? (looks.up ? " ↑" : " ↓") : ""}`));
    } else cell.append(column.title);
    return cell;
  }

  forget() {
    for (const { row, marks } of this.live.values()) {
      marks.clear();
      row.remove();
    }
    this.live.clear();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const { from, to } = this.printing ? { from: 0, to: Math.min(this.count, MOST_PRINTED) } : rowsInSight(scrollTop, clientHeight - ROW_HEIGHT, this.count);
    for (const [index, { row, marks }] of this.live) {
      if (index >= from && index < to) continue;
      marks.clear();
      row.remove();
      this.live.delete(index);
    }
    // From the end, so that each row finds the one that it stands before.
    for (let index = to - 1; index >= from; index--) if (!this.live.has(index)) this.addRow(index);
    this.options.onscroll?.(scrollTop, clientHeight - ROW_HEIGHT);
  }

  /** @param {number} index */
  addRow(index) {
    const cells = this.columns.map((column) => el("div", { class: `td c-${column.key}${column.words ? " words" : ""}`, role: "gridcell" }));
    const row = el("div", { class: "tr", role: "row", id: `${this.options.name}-${index}`, "aria-rowindex": index + 2, "aria-selected": index === this.selected ? "true" : "false" }, ...cells);
    row.style.top = `${index * ROW_HEIGHT}px`;
    const marks = new Marks();
    this.options.fill(cells, row, index, marks);
    this.live.set(index, { row, marks });
    // In the order of their numbers, so that printing and reading aloud go from top to bottom.
    const after = this.live.get(index + 1);
    this.body.insertBefore(row, after ? after.row : null);
  }

  /**
   * @param {number} index -1: none
   * @param {boolean} [reveal] scroll it into sight
   */
  select(index, reveal = true) {
    this.live.get(this.selected)?.row.setAttribute("aria-selected", "false");
    this.selected = index;
    if (index >= 0 && reveal) this.scroller.scrollTop = scrollFor(index, this.scroller.scrollTop, this.scroller.clientHeight - ROW_HEIGHT);
    this.draw();
    const live = this.live.get(index);
    live?.row.setAttribute("aria-selected", "true");
    if (live) this.scroller.setAttribute("aria-activedescendant", live.row.id);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const row = event.target instanceof Element ? event.target.closest(".tr") : null;
    if (!row || !this.body.contains(row)) return;
    const index = Number(row.getAttribute("aria-rowindex")) - 2;
    // The second click of a double one meets a row that the first has selected.
    if (event.type === "dblclick") this.options.onopen(index);
    else if (!String(getSelection() ?? "")) this.options.onselect(index);
  }

  /** @param {boolean} on */
  print(on) {
    this.printing = on;
    this.draw();
  }
}
