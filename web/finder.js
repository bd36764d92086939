// SPDX-License-Identifier: MIT
// The search field and its list: results as you type, over functions, files and source text.

import { el } from "./dom.js";
import { searchAll, searchIndex } from "./search.js";
import { splitPath, visible } from "./text.js";

/** @typedef {import("./app.js").Page} Page */

export class Finder {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    /** @type {import("./search.js").SearchIndex | null} */
    this.index = null;
    /** @type {import("./search.js").Found[]} */
    this.found = [];
    this.at = 0;
    this.list = el("ul", { class: "found", id: "found", role: "listbox", "aria-label": "search results", hidden: true, onmousedown: (/** @type {MouseEvent} */ e) => this.clicked(e) });
    this.input = /** @type {HTMLInputElement} */ (
      el("input", {
        type: "search",
        placeholder: "search  /",
        "aria-label": "search functions, files and source",
        role: "combobox",
        "aria-expanded": "false",
        "aria-controls": "found",
        "aria-autocomplete": "list",
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => this.search(),
        onfocus: () => this.search(),
        onblur: () => this.close(),
        onkeydown: (/** @type {KeyboardEvent} */ e) => this.key(e),
      })
    );
    this.root = el("div", { class: "finder", role: "search" }, this.input, this.list);
  }

  search() {
    const { model } = this.page;
    this.index ??= searchIndex(model.functions.map((fn) => fn.name), model.files.map((file) => file.path), model.files.map((file) => file.text));
    const { found, more } = searchAll(this.index, this.input.value);
    this.found = found;
    this.at = 0;
    this.list.replaceChildren(...found.map((each, index) => this.entry(each, index)), ...(this.input.value.trim() && (more || !found.length) ? [el("li", { class: "hint", role: "presentation" }, more ? "more are found: type on" : "nothing found")] : []));
    this.list.hidden = !this.list.childElementCount;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.mark();
  }

  /** @param {import("./search.js").Found} found @param {number} index */
  entry(found, index) {
    const { model } = this.page;
    const props = { role: "option", id: `found-${index}`, "data-index": index };
    if (found.kind === "function") {
      const fn = model.functions[found.index];
      return el("li", props, el("span", { class: "kind" }, "function"), el("span", { class: "what" }, fn.name), el("span", { class: "where" }, `${splitPath(model.files[fn.file].path).name}:${fn.first}`));
    }
    const { path, text } = model.files[found.index];
    if (found.kind === "file") return el("li", props, el("span", { class: "kind" }, "file"), el("span", { class: "what" }, path));
    return el("li", props, el("span", { class: "kind" }, "line"), el("span", { class: "what code" }, visible(text?.[found.line - 1]?.trim().slice(0, 120) ?? "")), el("span", { class: "where" }, `${splitPath(path).name}:${found.line}`));
  }

  mark() {
    [...this.list.children].forEach((entry, index) => entry.getAttribute("role") === "option" && entry.setAttribute("aria-selected", String(index === this.at)));
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
    if (this.found.length) this.input.setAttribute("aria-activedescendant", `found-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && this.found.length) {
      this.at = (this.at + step + this.found.length) % this.found.length;
      this.mark();
    } else if (event.key === "Enter" && this.found[this.at]) this.open(this.found[this.at]);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.leave();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const entry = event.target instanceof Element ? event.target.closest("[data-index]") : null;
    event.preventDefault();
    if (entry) this.open(this.found[Number(entry.getAttribute("data-index"))]);
  }

  /** @param {import("./search.js").Found} found */
  open(found) {
    const { page } = this;
    this.leave();
    if (found.kind === "function") page.go({ view: "functions", q: "", ...page.atFunction(found.index) });
    else if (found.kind === "file") page.go({ view: "source", file: found.index, line: 0, fn: -1 });
    else page.go({ view: "source", ...page.atLine(found.index, found.line) });
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  leave() {
    this.close();
    this.input.blur();
    this.page.focusView();
  }
}
