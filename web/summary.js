// SPDX-License-Identifier: MIT
// The first thing seen: which line took the time and how much of what, then the same for functions and regions, what
// the reader must know, and what is not in the report.

import { bar, el, figure, Marks } from "./dom.js";
import { count, duration, inWords, share } from "./format.js";
import { heatLevel } from "./heat.js";
import { hitsOf } from "./lines.js";
import { splitPath } from "./text.js";
import { BASE, costInWords, missingOf, shareInWords } from "./words.js";

/** @typedef {import("./app.js").Page} Page */

const TOP_LINES = 12;
const TOP_FUNCTIONS = 8;

/** @type {import("./app.js").View} */
export const summaryView = {
  name: "summary",
  title: "Summary",
  has: () => true,
  badge: () => "",
  make(page) {
    const marks = new Marks();
    const root = el(
      "div",
      { class: "view summary", tabindex: "-1" },
      finding(page),
      numbers(page, marks),
      page.model.rows.line.length ? topLines(page, marks) : null,
      page.model.rows.line.length ? el("div", { class: "pair" }, topFunctions(page, marks), topRegions(page, marks)) : null,
      notes("Notes", page.model.notes),
      notes("What is not in this report", missingOf(page.model)),
    );
    const rows = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("tr.open")]);
    return {
      root,
      update() {},
      move(step) {
        const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
        rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
      },
      open() {
        if (document.activeElement instanceof HTMLElement && rows.includes(document.activeElement)) document.activeElement.click();
      },
      print() {},
    };
  },
};

/** @param {Page} page */
function finding(page) {
  const { model } = page;
  const hottest = page.hot(-1)[0];
  if (!hottest) return el("h1", { class: "finding" }, model.totals.events ? "No line took measurable time." : "Nothing was recorded.");
  const { name } = splitPath(model.files[hottest.file].path);
  const text = model.files[hottest.file].text?.[hottest.line - 1]?.trim() ?? "";
  return el(
    "h1",
    { class: "finding" },
    el("a", { href: page.address({ view: "source", file: hottest.file, line: hottest.line, fn: hottest.fn }), class: "place" }, `${name}:${hottest.line}`),
    ` is the slowest line: `,
    el("strong", {}, shareInWords(model, hottest.self)),
    ` of ${inWords(duration(model.totals.profiled_ns))}, the ${BASE}.`,
    text ? el("code", { class: "quoted" }, page.visible(text.slice(0, 160))) : null,
  );
}

/** @param {Page} page @param {Marks} marks */
function numbers(page, marks) {
  const { totals, functions, files } = page.model;
  const executed = page.executedLines();
  /** @param {string} label @param {import("./format.js").Shown} shown @param {string} hint */
  const number = (label, shown, hint) => el("div", { class: "number", title: hint }, el("span", { class: "label" }, label), figure(el("span", { class: "value" }), shown, marks));
  return el(
    "div",
    { class: "numbers" },
    number("profiled", duration(totals.profiled_ns), `${BASE}: the base of every share`),
    number("lines executed", count(executed), "in all files"),
    number("functions", count(functions.length), `in ${files.length} files`),
    number("line events", count(totals.events), costInWords(page.model)),
    number(page.model.corrected ? "measuring, taken off" : "measuring", duration(totals.event_cost_ns === null ? null : totals.events * totals.event_cost_ns), costInWords(page.model)),
    number("threads", count(totals.threads), `in ${totals.processes} processes`),
    totals.event_cost_ns === null ? null : el("button", { type: "button", class: "quiet", title: `${costInWords(page.model)} (r)`, onclick: () => page.go({ raw: !page.state.raw }) }, page.model.corrected ? "show as measured" : "take it off"),
  );
}

/** @param {string[]} heads @param {HTMLElement[]} rows @param {string} caption @param {string} hint */
function plainTable(heads, rows, caption, hint) {
  const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col", class: text.startsWith("*") ? "words" : "" }, text.replace("*", ""))));
  return el("section", { class: "block" }, el("h2", {}, caption, el("span", { class: "hint" }, hint)), el("div", { class: "scroll-x" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))));
}

/**
 * A row that opens something; by keyboard too.
 * @param {Page} page @param {Partial<import("./state.js").State>} target @param {HTMLElement[]} cells
 */
function openRow(page, target, ...cells) {
  return el("tr", { class: "open", tabindex: "0", onclick: () => page.go(target), onkeydown: (/** @type {KeyboardEvent} */ e) => e.key === "Enter" && page.go(target) }, ...cells);
}

/** @param {Page} page @param {Marks} marks @param {number} self */
function shareCell(page, marks, self) {
  const whole = page.model.totals.profiled_ns;
  return el("td", { class: "share" }, bar("fill", whole > 0 ? self / whole : 0), figure(el("span", {}), share(self, whole), marks));
}

/** @param {Page} page @param {Marks} marks */
function topLines(page, marks) {
  const { model } = page;
  const rows = page
    .hot(-1)
    .slice(0, TOP_LINES)
    .map(({ file, line, self, fn }) => {
      const lines = page.lines(file, -1);
      const text = model.files[file].text?.[line - 1]?.trim() ?? "";
      const { name } = splitPath(model.files[file].path);
      return openRow(
        page,
        { view: "source", file, line, fn },
        shareCell(page, marks, self),
        heated(figure(el("td", {}), duration(self), marks), self, page),
        figure(el("td", {}), duration(lines.inclusive[line - 1]), marks),
        figure(el("td", {}), count(lines.hits[line - 1]), marks),
        el("td", { class: "words place", title: model.files[file].path }, el("a", { href: page.address({ view: "source", file, line, fn }), tabindex: "-1" }, `${name}:${line}`)),
        el("td", { class: "words dim name", title: model.functions[fn].name }, model.functions[fn].name),
        el("td", { class: "words code" }, page.visible(text.slice(0, 160))),
      );
    });
  return plainTable(["self %", "self", "inclusive", "hits", "*line", "*function", "*source"], rows, "Slowest lines", `by self time, share of ${inWords(duration(model.totals.profiled_ns))}`);
}

/** @param {HTMLElement} cell @param {number} part @param {Page} page */
function heated(cell, part, page) {
  const level = heatLevel(part, page.model.totals.profiled_ns, page.state.scale);
  if (level) cell.dataset.heat = String(level);
  return cell;
}

/** @param {Page} page @param {Marks} marks */
function topFunctions(page, marks) {
  const { model } = page;
  const order = model.functions.map((_, index) => index).sort((a, b) => model.functions[b].self - model.functions[a].self || a - b);
  const rows = order.slice(0, TOP_FUNCTIONS).map((index) => {
    const fn = model.functions[index];
    return openRow(
      page,
      { view: "functions", ...page.atFunction(index) },
      shareCell(page, marks, fn.self),
      figure(el("td", {}), duration(fn.self), marks),
      figure(el("td", {}), duration(fn.total), marks),
      figure(el("td", {}), count(fn.calls), marks),
      el("td", { class: "words name", title: `${fn.name}, ${model.files[fn.file].path}:${fn.first}` }, fn.name),
    );
  });
  return plainTable(["self %", "self", "total", "calls", "*function"], rows, "Slowest functions", "by self time");
}

/** @param {Page} page @param {Marks} marks */
function topRegions(page, marks) {
  const { model } = page;
  if (!model.regions.length) return null;
  const order = model.regions.map((_, index) => index).sort((a, b) => model.regions[b].self - model.regions[a].self || a - b);
  const rows = order.slice(0, TOP_FUNCTIONS).map((index) => {
    const region = model.regions[index];
    return openRow(
      page,
      { view: "regions", region: index },
      shareCell(page, marks, region.self),
      figure(el("td", {}), duration(region.self), marks),
      figure(el("td", {}), duration(region.wall), marks),
      figure(el("td", {}), count(region.entries), marks),
      el("td", { class: "words name" }, region.path),
    );
  });
  return plainTable(["self %", "self", "wall", "entries", "*region"], rows, "Regions", "inner ones are part of outer ones");
}

/** @param {string} title @param {string[]} sentences */
function notes(title, sentences) {
  if (!sentences.length) return null;
  return el("section", { class: "block" }, el("h2", {}, title), el("ul", { class: "notes" }, ...sentences.map((text) => el("li", {}, text))));
}

/** @param {import("./data.js").Model} model */
export function executedIn(model) {
  const places = new Set();
  for (let at = 0; at < model.rows.line.length; at++) if (hitsOf(model.rows, at) > 0) places.add(model.functions[model.rows.fn[at]].file * 2 ** 32 + model.rows.line[at]);
  return places.size;
}
