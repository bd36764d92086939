// SPDX-License-Identifier: MIT
// What is selected, explained: exact numbers, the base of each share, caveats, where it is defined, what it calls and
// who calls it.

import { el, figure, Marks } from "./dom.js";
import { count, duration, inWords, plural, share } from "./format.js";
import { EXECUTED, hitsOf, MISSED, rowsAt } from "./lines.js";
import { splitPath } from "./text.js";
import { BASE } from "./words.js";

/** @typedef {import("./app.js").Page} Page */

const MOST_LINKS = 12;

export class Inspector {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.marks = new Marks();
    this.root = el("aside", { class: "inspector", "aria-label": "Inspector", tabindex: "0" });
  }

  /** @param {import("./state.js").State} state */
  update(state) {
    this.marks.clear();
    const parts = [];
    if (state.view === "regions" && state.region >= 0) parts.push(...this.region(state.region));
    else if (state.view === "functions" && state.fn >= 0) parts.push(...this.fn(state.fn));
    else {
      if (state.file >= 0 && state.line > 0) parts.push(...this.line(state.file, state.line, state.region));
      if (state.fn >= 0) parts.push(...this.fn(state.fn));
    }
    if (!parts.length) parts.push(el("p", { class: "hint" }, "Select a line, a function or a region: its exact numbers, and what each share is of, stand here."));
    this.root.replaceChildren(...parts);
  }

  /**
   * Figures, some with their share of the whole run.
   * @param {[string, import("./format.js").Shown, number?][]} facts name, figure, what of it is a share
   */
  facts(facts) {
    const whole = this.page.model.totals.profiled_ns;
    const cell = (/** @type {import("./format.js").Shown} */ shown) => el("dd", {}, figure(el("span", { class: "value" }), shown, this.marks));
    return el("dl", { class: "facts" }, ...facts.map(([name, shown, part]) => el("div", {}, el("dt", {}, name), cell(shown), part === undefined ? null : cell(share(part, whole)))));
  }

  base() {
    return el("p", { class: "base" }, `% of ${inWords(duration(this.page.model.totals.profiled_ns))}, the ${BASE}${this.page.model.corrected ? ", less what measuring cost" : ""}`);
  }

  /** @param {number} file @param {number} line @param {number} region */
  line(file, line, region) {
    const { model } = this.page;
    const lines = this.page.lines(file, region);
    const i = line - 1;
    const { path, text } = model.files[file];
    const parts = [
      el("h2", { title: path }, `${splitPath(path).name}:${line}`),
      region >= 0 ? el("p", { class: "hint" }, `in region ${model.regions[region].path}`) : null,
      text?.[i]?.trim() ? el("code", { class: "quoted" }, this.page.visible(text[i].trim().slice(0, 300))) : null,
    ];
    if (lines.state[i] === MISSED) parts.push(el("p", {}, "Has code that was not executed."));
    else if (lines.state[i] !== EXECUTED) parts.push(el("p", {}, "No code, or none that was watched."));
    else if (!lines.rows[i]) parts.push(el("p", {}, "Not executed in this region."));
    else {
      parts.push(
        this.facts([
          ["self", duration(lines.self[i]), lines.self[i]],
          ["inclusive", duration(lines.inclusive[i]), lines.inclusive[i]],
          ["hits", count(lines.hits[i])],
          ["per hit", duration(lines.hits[i] ? lines.inclusive[i] / lines.hits[i] : null)],
          ["self per hit", duration(lines.hits[i] ? lines.self[i] / lines.hits[i] : null)],
          ["suspended", duration(lines.suspended[i])],
        ]),
        this.base(),
        this.exactly(file, line, region),
      );
    }
    parts.push(this.callsFrom(file, line), region < 0 ? this.regionsOf(file, line) : null);
    return parts.filter((part) => part !== null);
  }

  /** The exact figures of each function that has code on the line. @param {number} file @param {number} line @param {number} region */
  exactly(file, line, region) {
    const { model } = this.page;
    const rows = region < 0 ? model.rows : model.regionRows;
    const here = rowsAt(model, file, line, region);
    const entries = here.map((at) => {
      const words = rows.mark[at] === 1 ? "line events (executions could not be told)" : rows.mark[at] === 2 ? "hits, part of a statement that begins earlier" : "hits";
      return el("li", {}, el("a", { href: this.page.address({ view: "functions", ...this.page.atFunction(rows.fn[at]) }) }, model.functions[rows.fn[at]].name), `: ${count(hitsOf(rows, at)).exact} ${words}, self ${duration(rows.self[at]).exact}, inclusive ${duration(rows.inclusive[at]).exact}${rows.suspended[at] ? `, suspended ${duration(rows.suspended[at]).exact}` : ""}, ${count(rows.events[at]).exact} line events`);
    });
    return el("details", { open: here.length > 1 }, el("summary", {}, here.length > 1 ? `${here.length} functions share this line` : "exactly"), el("ul", { class: "exact" }, ...entries));
  }

  /**
   * A list of links with times, cut where it grows long.
   * @param {string} title
   * @param {{href: string, text: string, ns: number, note: string}[]} links
   */
  links(title, links) {
    if (!links.length) return null;
    return el(
      "section",
      {},
      el("h3", {}, title),
      el("ul", { class: "links" }, ...links.slice(0, MOST_LINKS).map((link) => el("li", { title: link.note }, el("a", { href: link.href }, link.text), figure(el("span", { class: "value" }), duration(link.ns), this.marks)))),
      links.length > MOST_LINKS ? el("p", { class: "hint" }, `${links.length - MOST_LINKS} more with less time`) : null,
    );
  }

  /** @param {number} file @param {number} line */
  callsFrom(file, line) {
    const { model } = this.page;
    return this.links(
      "calls from here",
      this.page.callsAt(file, line).map((call) => ({ href: this.page.address({ view: "source", ...this.page.atFunction(call.callee) }), text: model.functions[call.callee].name, ns: call.inclusive, note: plural(call.calls, "call") })),
    );
  }

  /** @param {number} file @param {number} line */
  regionsOf(file, line) {
    const { model } = this.page;
    const links = model.regions.map((region, index) => {
      let ns = 0;
      for (let at = region.rows[0]; at < region.rows[1]; at++) if (model.regionRows.line[at] === line && model.functions[model.regionRows.fn[at]].file === file) ns += model.regionRows.self[at];
      return { href: this.page.address({ view: "source", file, line, region: index }), text: region.path, ns, note: "self time of the line in this region" };
    });
    return this.links("self time by region", links.filter((link) => link.ns > 0).sort((a, b) => b.ns - a.ns));
  }

  /** @param {number} index */
  fn(index) {
    const { model } = this.page;
    const fn = model.functions[index];
    const { path } = model.files[fn.file];
    return [
      el("h2", { class: "fn" }, fn.name),
      el("p", { class: "where" }, el("a", { href: this.page.address({ view: "source", ...this.page.atFunction(index) }), title: `${path}:${fn.first}` }, `${splitPath(path).name}:${fn.first}–${fn.last}`), kindOf(fn.flags)),
      this.facts([
        ["total", duration(fn.total), fn.total],
        ["self", duration(fn.self), fn.self],
        ["calls", count(fn.calls)],
        ["total per call", duration(fn.calls ? fn.total / fn.calls : null)],
        ["suspended", duration(fn.suspended)],
        ["rows run", count(fn.rows[1] - fn.rows[0])],
        ["rows not run", count(fn.missed[1] - fn.missed[0])],
      ]),
      this.base(),
      this.edges("called by", fn.callers, "caller"),
      this.edges("calls", fn.callees, "callee"),
    ].filter((part) => part !== null);
  }

  /** @param {string} title @param {number[]} calls @param {"caller" | "callee"} end */
  edges(title, calls, end) {
    const { model } = this.page;
    return this.links(
      title,
      calls.map((at) => {
        const call = model.calls[at];
        const caller = model.functions[call.caller];
        const place = `${splitPath(model.files[caller.file].path).name}:${call.line}`;
        const target = end === "caller" ? { file: caller.file, line: call.line, fn: call.caller } : this.page.atFunction(call.callee);
        return { href: this.page.address({ view: this.page.state.view === "functions" ? "functions" : "source", ...target }), text: `${model.functions[call[end]].name}${end === "caller" ? ` at ${place}` : `, from line ${call.line}`}`, ns: call.inclusive, note: plural(call.calls, "call") };
      }),
    );
  }

  /** @param {number} index */
  region(index) {
    const { model } = this.page;
    const region = model.regions[index];
    const hot = this.page.hot(index).slice(0, MOST_LINKS);
    return [
      el("h2", { class: "fn" }, region.path),
      this.facts([
        ["self", duration(region.self), region.self],
        ["wall", duration(region.wall)],
        ["entries", count(region.entries)],
        ["wall per entry", duration(region.entries && region.wall !== null ? region.wall / region.entries : null)],
      ]),
      this.base(),
      el("p", { class: "where" }, el("a", { href: this.page.address({ view: "source", region: index, ...this.page.hottestIn(index) }) }, "source with the numbers of this region")),
      this.links(
        "slowest lines inside",
        hot.map(({ file, line, self, fn }) => ({ href: this.page.address({ view: "source", region: index, file, line, fn }), text: `${splitPath(model.files[file].path).name}:${line}`, ns: self, note: this.page.visible(model.files[file].text?.[line - 1]?.trim() ?? "") })),
      ),
    ].filter((part) => part !== null);
  }
}

const CO_GENERATOR = 0x20;
const CO_COROUTINE = 0x80;
const CO_ASYNC_GENERATOR = 0x200;

/** @param {number} flags co_flags */
export function kindOf(flags) {
  if (flags & CO_ASYNC_GENERATOR) return " async generator";
  if (flags & CO_COROUTINE) return " coroutine";
  return flags & CO_GENERATOR ? " generator" : "";
}
