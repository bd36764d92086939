// SPDX-License-Identifier: MIT
// A file as its author knows it, with its times beside it: gutter columns, heat, and the strip that shows where in the
// file the heat is. Numbers are those of the whole run or of a region; heat is always the share of the whole run.

import { el, figure } from "./dom.js";
import { count, duration, inWords } from "./format.js";
import { HEAT_LEVELS, heatLevel, scaleEnds } from "./heat.js";
import { EXECUTED, MISSED, functionAt } from "./lines.js";
import { openQuotes, tokensOf } from "./python.js";
import { Table } from "./table.js";
import { splitPath, visible } from "./text.js";
import { ROW_HEIGHT, stripLevels } from "./window.js";
import { BASE, costInWords, sourceState } from "./words.js";

/** @typedef {import("./app.js").Page} Page */

/** @type {import("./table.js").Column[]} */
const SOURCE_COLUMNS = [
  { key: "line", title: "line", hint: "line number", width: "52px" },
  { key: "self", title: "self", hint: "time in the line itself, and in code outside the project that it called", width: "76px" },
  { key: "inclusive", title: "inclusive", hint: "self time and the functions called from here; recursion is counted once", width: "76px", wide: true },
  { key: "hits", title: "hits", hint: "executions of the statement; ~ line events where executions could not be told", width: "84px" },
  { key: "each", title: "per hit", hint: "inclusive time of one hit", width: "72px", wide: true },
  { key: "suspended", title: "suspended", hint: "time its frame stood still here: await, yield", width: "88px", wide: true },
  { key: "code", title: "source", hint: "source text", width: "minmax(0, 1fr)", words: true },
];
const LONGEST_SHOWN = 400;
const STRIP_WIDTH = 12;

/** @type {import("./app.js").View} */
export const sourceView = {
  name: "source",
  title: "Source",
  has: (model) => model.files.length > 0,
  badge: (model) => String(model.files.length),
  make: (page) => new Source(page),
};

class Source {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.file = -1;
    this.key = "";
    /** @type {string[]} */
    this.quotes = [];
    this.lines = page.lines(0, -1);
    this.levels = new Uint8Array(0);
    this.title = el("h1", { class: "path" });
    this.tools = el("div", { class: "tools" });
    this.none = el("p", { class: "empty", hidden: true });
    this.strip = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "strip", "aria-hidden": "true", title: "where the heat is", onclick: (/** @type {MouseEvent} */ e) => this.jump(e) }));
    this.sight = el("div", { class: "sight", "aria-hidden": "true" });
    /** @type {unknown[]} what the strip was painted from */
    this.drawn = [];
    this.table = new Table({
      label: "Source",
      name: "src",
      fill: (cells, row, index, marks) => this.fill(cells, row, index, marks),
      onselect: (index) => page.go({ line: index + 1, fn: functionAt(page.model, this.file, index + 1) }),
      onopen: (index) => this.follow(index + 1),
      onscroll: () => this.drawStrip(),
    });
    this.root = el("div", { class: "view source" }, el("div", { class: "bar-top" }, this.title, this.tools), this.none, el("div", { class: "code-pane" }, this.table.scroller, this.strip, this.sight));
  }

  /** @param {import("./state.js").State} state */
  update(state) {
    const file = Math.max(0, state.file);
    const key = `${file} ${state.region} ${state.scale} ${this.page.narrow()}`; // a change of state.raw makes a new view
    if (key !== this.key) this.load(file, state);
    this.key = key;
    const row = state.file === file && state.line > 0 && state.line <= this.lines.state.length ? state.line - 1 : -1;
    if (row !== this.table.selected) this.table.select(row);
    this.drawStrip();
  }

  /** @param {number} file @param {import("./state.js").State} state */
  load(file, state) {
    const { model } = this.page;
    const { path, text, source } = model.files[file];
    this.lines = this.page.lines(file, state.region);
    const whole = this.page.lines(file, -1);
    if (file !== this.file) this.quotes = text ? openQuotes(text) : [];
    const top = file === this.file ? this.table.scroller.scrollTop : 0;
    this.file = file;
    this.levels = Uint8Array.from(this.lines.self, (self) => heatLevel(self, model.totals.profiled_ns, state.scale));
    const { folder, name } = splitPath(path);
    this.title.replaceChildren(el("span", { class: "folder" }, folder), el("span", { class: "name" }, name));
    this.title.title = path;
    this.tools.replaceChildren(...this.toolbar(state));
    this.none.hidden = Boolean(text);
    this.none.textContent = text ? "" : `The source text is not shown: ${sourceState(source)}. The numbers are those of its lines.`;
    const suspended = whole.suspended.some((ns) => ns > 0);
    const columns = SOURCE_COLUMNS.filter((column) => (column.key !== "suspended" || suspended) && !(column.wide && this.page.narrow()));
    const longest = Math.min(LONGEST_SHOWN, (text ?? []).reduce((most, line) => Math.max(most, line.length), 0));
    this.table.selected = -1;
    this.table.show(columns, this.lines.state.length, { minWidth: `calc(${columns.reduce((sum, column) => sum + (Number.parseInt(column.width, 10) || 0), 24)}px + ${longest}ch)` });
    this.table.scroller.setAttribute("aria-label", `Source of ${path}`);
    this.table.scroller.scrollTop = top;
  }

  /** @param {import("./state.js").State} state */
  toolbar(state) {
    const { page } = this;
    const { model } = page;
    const parts = [];
    if (model.regions.length) {
      const picker = /** @type {HTMLSelectElement} */ (
        el(
          "select",
          { "aria-label": "region", onchange: () => page.go({ region: Number(picker.value) }) },
          el("option", { value: "-1" }, "whole run"),
          ...model.regions.slice(0, 200).map((region, index) => el("option", { value: index }, region.path.slice(0, 60))),
        )
      );
      picker.value = String(state.region);
      parts.push(picker);
    }
    const levels = Array.from({ length: HEAT_LEVELS }, (_, i) => el("i", { "data-heat": i + 1 }));
    if (model.totals.event_cost_ns !== null)
      parts.push(el("button", { type: "button", class: "quiet", title: `${costInWords(model)} (r)`, onclick: () => page.go({ raw: !state.raw }) }, model.corrected ? "corrected" : "as measured"));
    parts.push(
      el("button", { type: "button", class: "quiet", title: "linear or logarithmic scale (l)", onclick: () => page.go({ scale: state.scale === "log" ? "linear" : "log" }) }, `${state.scale} scale`),
      el("span", { class: "legend", title: `self time as a share of ${inWords(duration(model.totals.profiled_ns))}, the ${BASE}` }, el("span", { class: "ramp", "aria-hidden": "true" }, ...levels), `${scaleEnds(state.scale)} of ${inWords(duration(model.totals.profiled_ns))}`),
      el("button", { type: "button", class: "quiet", title: "next hottest line (n), p goes back", onclick: () => page.nextHottest(1) }, "next hottest"),
    );
    return parts;
  }

  /** @param {HTMLElement[]} cells @param {HTMLElement} row @param {number} i @param {import("./dom.js").Marks} marks */
  fill(cells, row, i, marks) {
    const { lines } = this;
    const state = lines.state[i];
    row.classList.add(state === EXECUTED ? "ran" : state === MISSED ? "missed" : "no-code");
    if (this.levels[i]) row.dataset.heat = String(this.levels[i]);
    const ran = state === EXECUTED && (lines.hits[i] > 0 || lines.self[i] > 0 || lines.rows[i] > 0);
    for (const cell of cells) {
      const key = cell.className.replace(/^td c-(\w+).*$/, "$1");
      if (key === "line") cell.textContent = String(i + 1);
      else if (key === "code") this.fillCode(cell, i, marks);
      else if (ran) this.fillNumber(cell, key, i, marks);
      else if (state === MISSED && key === "hits") [cell.textContent, cell.title] = ["not run", "has code that was not executed"];
    }
  }

  /** @param {HTMLElement} cell @param {string} key @param {number} i @param {import("./dom.js").Marks} marks */
  fillNumber(cell, key, i, marks) {
    const { lines } = this;
    if (key === "self") figure(cell, duration(lines.self[i]), marks);
    else if (key === "inclusive") figure(cell, duration(lines.inclusive[i]), marks);
    else if (key === "suspended") lines.suspended[i] > 0 && figure(cell, duration(lines.suspended[i]), marks);
    else if (key === "each") lines.hits[i] > 0 && figure(cell, duration(lines.inclusive[i] / lines.hits[i]), marks);
    else if (key === "hits") {
      const hits = count(lines.hits[i]);
      const events = lines.mark[i] === 3;
      figure(cell, { ...hits, text: events ? `~${hits.text}` : hits.text, exact: events ? `${hits.exact} line events` : hits.exact }, marks);
      if (lines.mark[i] === 2) cell.title = "part of a statement that begins on an earlier line";
    }
  }

  /** @param {HTMLElement} cell @param {number} i @param {import("./dom.js").Marks} marks */
  fillCode(cell, i, marks) {
    const text = this.page.model.files[this.file].text?.[i] ?? "";
    const shown = visible(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);
    cell.textContent = shown;
    if (!shown) return;
    for (const { start, end, kind } of tokensOf(shown, this.quotes[i] ?? "").tokens) marks.add(kind, cell.firstChild, start, Math.min(end, shown.length));
    for (const name of this.page.calledNames(this.file, i + 1)) {
      const at = shown.search(new RegExp(`\\b${name}\\b`));
      if (at >= 0) marks.add("call", cell.firstChild, at, at + name.length);
    }
  }

  /** The strip shows the hottest level of each pixel; over it moves a frame around the part in sight. */
  drawStrip() {
    const { table, levels } = this;
    const height = Math.max(0, table.scroller.clientHeight - ROW_HEIGHT);
    if (!height) return;
    const ratio = Math.min(devicePixelRatio || 1, 3);
    const colors = this.page.heatColors();
    const drawn = [levels, height, ratio, colors];
    if (drawn.some((value, index) => value !== this.drawn[index])) this.paintStrip(height, ratio, colors);
    this.drawn = drawn;
    const all = levels.length * ROW_HEIGHT;
    this.sight.hidden = all <= height;
    this.sight.style.top = `${ROW_HEIGHT + Math.floor((table.scroller.scrollTop / all) * height)}px`;
    this.sight.style.height = `${Math.max(6, Math.floor((height / all) * height))}px`;
  }

  /** @param {number} height @param {number} ratio @param {string[]} colors */
  paintStrip(height, ratio, colors) {
    const { strip } = this;
    strip.width = STRIP_WIDTH * ratio;
    strip.height = height * ratio;
    strip.style.height = `${height}px`;
    const pen = strip.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    stripLevels(this.levels, height).forEach((level, y) => {
      if (!level) return;
      pen.fillStyle = colors[level];
      pen.fillRect(0, y, STRIP_WIDTH, 1);
    });
  }

  /** @param {MouseEvent} event */
  jump(event) {
    const all = this.levels.length * ROW_HEIGHT;
    const { clientHeight } = this.table.scroller;
    this.table.scroller.scrollTop = (event.offsetY / this.strip.clientHeight) * all - clientHeight / 2;
  }

  /** From a line into the function that it calls, the one with the most time first. @param {number} line */
  follow(line) {
    const call = this.page.callsAt(this.file, line)[0];
    if (call) this.page.go({ view: "source", ...this.page.atFunction(call.callee) });
  }

  /** @param {number} step */
  move(step) {
    const row = Math.max(0, Math.min(this.lines.state.length - 1, this.table.selected + step));
    this.page.go({ file: this.file, line: row + 1, fn: functionAt(this.page.model, this.file, row + 1) });
  }

  open() {
    if (this.table.selected >= 0) this.follow(this.table.selected + 1);
  }

  /** @param {boolean} on */
  print(on) {
    this.table.print(on);
  }
}
