// SPDX-License-Identifier: MIT
// The regions that the program named, inner ones below outer ones.

import { bar, el, figure } from "./dom.js";
import { count, duration, share } from "./format.js";
import { orderBy } from "./sort.js";
import { Table } from "./table.js";

/** @typedef {import("./app.js").Page} Page */
/** @typedef {import("./data.js").Region} Region */

/** @type {import("./table.js").Column[]} */
const REGION_COLUMNS = [
  { key: "share", title: "self %", hint: "self time of all lines inside, as a share of the self time of all lines", width: "108px", sorts: true },
  { key: "self", title: "self", hint: "self time of all lines inside it and the regions inside it", width: "84px", sorts: true },
  { key: "wall", title: "wall", hint: "elapsed time of all entries", width: "84px", sorts: true },
  { key: "entries", title: "entries", hint: "entries, finished and open", width: "92px", sorts: true, wide: true },
  { key: "each", title: "per entry", hint: "elapsed time of one entry", width: "84px", sorts: true, wide: true },
  { key: "name", title: "region", hint: "name", width: "minmax(120px, 1fr)", sorts: true, words: true },
];

/** @type {Record<string, (region: Region) => number | string>} */
const REGION_KEYS = {
  share: (region) => region.self,
  self: (region) => region.self,
  wall: (region) => region.wall ?? Number.NaN,
  entries: (region) => region.entries,
  each: (region) => (region.entries && region.wall !== null ? region.wall / region.entries : Number.NaN),
  name: (region) => region.path,
};

/** @type {import("./app.js").View} */
export const regionsView = {
  name: "regions",
  title: "Regions",
  has: (model) => model.regions.length > 0,
  badge: (model) => String(model.regions.length),
  make: (page) => new Regions(page),
};

class Regions {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.key = "";
    /** @type {number[]} */
    this.order = [];
    this.table = new Table({
      label: "Regions",
      name: "region",
      fill: (cells, row, index, marks) => this.fill(cells, this.order[index], marks),
      onselect: (index) => page.go({ region: this.order[index] }),
      onopen: (index) => page.go({ view: "source", region: this.order[index], ...page.hottestIn(this.order[index]) }),
      onsort: (key) => page.sortBy(key, key === "name"),
    });
    this.root = el("div", { class: "view regions" }, el("div", { class: "bar-top" }, el("h1", {}, "Regions"), el("div", { class: "tools" }, el("span", { class: "hint" }, "time in an inner region is part of the outer one"))), this.table.scroller);
  }

  /** @param {import("./state.js").State} state */
  update(state) {
    const { model } = this.page;
    const sort = Object.hasOwn(REGION_KEYS, state.sort) ? state.sort : "";
    const key = JSON.stringify([sort, state.up, this.page.narrow()]);
    if (key !== this.key) {
      this.key = key;
      this.order = sort ? orderBy(model.regions.length, (index) => REGION_KEYS[sort](model.regions[index]), state.up) : inTreeOrder(model.regions);
      this.table.selected = -1;
      this.table.show(REGION_COLUMNS.filter((column) => !(column.wide && this.page.narrow())), this.order.length, { sort, up: state.up });
    }
    const row = this.order.indexOf(state.region);
    if (row !== this.table.selected) this.table.select(row);
  }

  /** @param {HTMLElement[]} cells @param {number} index @param {import("./dom.js").Marks} marks */
  fill(cells, index, marks) {
    const { model, state } = this.page;
    const region = model.regions[index];
    for (const cell of cells) {
      const key = cell.className.replace(/^td c-(\w+).*$/, "$1");
      if (key === "share") {
        const whole = model.totals.profiled_ns;
        cell.append(bar("fill", whole > 0 ? region.self / whole : 0), figure(el("span", {}), share(region.self, whole), marks));
      } else if (key === "name") {
        const inTree = !(Object.hasOwn(REGION_KEYS, state.sort));
        [cell.textContent, cell.title] = [inTree ? region.name : region.path, region.path];
        if (inTree) cell.style.paddingInlineStart = `${8 + region.depth * 16}px`;
      } else if (key === "entries") figure(cell, count(region.entries), marks);
      else figure(cell, duration(Number(REGION_KEYS[key](region))), marks);
    }
  }

  /** @param {number} step */
  move(step) {
    const row = Math.max(0, Math.min(this.order.length - 1, this.table.selected + step));
    if (this.order.length) this.page.go({ region: this.order[row] });
  }

  open() {
    if (this.table.selected >= 0) this.table.options.onopen(this.table.selected);
  }

  /** @param {boolean} on */
  print(on) {
    this.table.print(on);
  }
}

/**
 * Outer before inner, among equals most self time first.
 * @param {Region[]} regions
 * @returns {number[]}
 */
export function inTreeOrder(regions) {
  /** @type {Map<number, number[]>} */
  const below = new Map();
  regions.forEach((region, index) => below.set(region.parent, [...(below.get(region.parent) ?? []), index]));
  /** @type {number[]} */
  const order = [];
  const visit = (/** @type {number} */ parent) => {
    for (const index of (below.get(parent) ?? []).sort((a, b) => regions[b].self - regions[a].self || a - b)) {
      order.push(index);
      visit(index);
    }
  };
  visit(-1);
  return order;
}
