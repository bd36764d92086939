// SPDX-License-Identifier: MIT
// The shell: header, rail, view, inspector, keys; and the one place where the state changes.

import { decodeLines } from "./data.js";
import { el, focusOn } from "./dom.js";
import { Finder } from "./finder.js";
import { duration, inWords, moment, plural } from "./format.js";
import { functionsView } from "./functions.js";
import { HEAT_LEVELS, heatLevel } from "./heat.js";
import { helpDialog } from "./help.js";
import { Inspector } from "./inspector.js";
import { functionAt, hottestLines, linesOf } from "./lines.js";
import { regionsView } from "./regions.js";
import { sourceView } from "./source.js";
import { readState, writeState } from "./state.js";
import { executedIn, summaryView } from "./summary.js";
import { commonFolder, splitPath, visible } from "./text.js";
import { commandOf, costInWords, processesInWords, sourceState } from "./words.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./data.js").Model} Model */
/**
 * @typedef {object} LiveView
 * @property {HTMLElement} root
 * @property {(state: State) => void} update
 * @property {(step: number) => void} move
 * @property {() => void} open
 * @property {(on: boolean) => void} print
 */
/**
 * @typedef {object} View
 * @property {string} name
 * @property {string} title
 * @property {(model: Model) => boolean} has
 * @property {(model: Model) => string} badge
 * @property {(page: Page) => LiveView} make
 */

const MOST_FILES_IN_RAIL = 60;
const NARROW = "(max-width: 720px)";
const DARK = "(prefers-color-scheme: dark)";

/** What views see of the page: the model, the state, and ways to change it. */
export class Page {
  /** @param {any} data the parsed block @param {View[]} views */
  constructor(data, views) {
    this.data = data;
    /** @type {Map<string, LiveView>} */
    this.live = new Map();
    /** @type {Map<string, import("./lines.js").Lines>} */
    this.lineCache = new Map();
    /** @type {Map<number, ReturnType<typeof hottestLines>>} */
    this.hotCache = new Map();
    /** @type {Map<string, import("./data.js").Call[]>} */
    this.callsByPlace = new Map();
    this.state = readState(location.hash);
    this.views = views;
    this.model = this.take(this.state.raw);
    this.views = views.filter((view) => view.has(this.model));
    this.state = sane(this.model, this.views, this.state);
    this.written = 0;
    this.visible = visible;
    /** @type {string[] | null} */
    this.colors = null;
    this.dark = false;
  }

  /** The model with these times, and everything that was made of another one forgotten. @param {boolean} raw @returns {Model} */
  take(raw) {
    const model = decodeLines(this.data, !raw);
    this.live.clear();
    this.lineCache.clear();
    this.hotCache.clear();
    this.callsByPlace.clear();
    for (const call of model.calls) {
      const key = `${model.functions[call.caller].file} ${call.line}`;
      this.callsByPlace.set(key, [...(this.callsByPlace.get(key) ?? []), call]);
    }
    for (const calls of this.callsByPlace.values()) calls.sort((a, b) => b.inclusive - a.inclusive);
    return model;
  }

  /** The colours of the heat levels in the theme that shows; the same array while it stays. */
  heatColors() {
    const dark = this.state.theme ? this.state.theme === "dark" : matchMedia(DARK).matches;
    if (!this.colors || this.dark !== dark) {
      const style = getComputedStyle(document.documentElement);
      this.colors = Array.from({ length: HEAT_LEVELS + 1 }, (_, level) => style.getPropertyValue(`--heat-${level}`));
      this.dark = dark;
    }
    return this.colors;
  }

  narrow() {
    return matchMedia(NARROW).matches;
  }

  /** @param {number} file @param {number} region */
  lines(file, region) {
    const key = `${file} ${region}`;
    let lines = this.lineCache.get(key);
    if (!lines) {
      if (this.lineCache.size > 50) this.lineCache.clear();
      lines = linesOf(this.model, file, region);
      this.lineCache.set(key, lines);
    }
    return lines;
  }

  /** @param {number} region */
  hot(region) {
    let hot = this.hotCache.get(region);
    if (!hot) this.hotCache.set(region, (hot = hottestLines(this.model, region)));
    return hot;
  }

  executedLines() {
    return executedIn(this.model);
  }

  /** @param {number} file @param {number} line */
  callsAt(file, line) {
    return this.callsByPlace.get(`${file} ${line}`) ?? [];
  }

  /** Names, as the source spells them, of the functions that a line calls. @param {number} file @param {number} line */
  calledNames(file, line) {
    const names = this.callsAt(file, line).map((call) => {
      const parts = this.model.functions[call.callee].name.split(".");
      return parts[parts.length - 1] === "__init__" && parts.length > 1 ? parts[parts.length - 2] : parts[parts.length - 1];
    });
    return names.filter((name) => /^\w+$/.test(name));
  }

  /** @param {number} index of a function */
  atFunction(index) {
    const { file, first } = this.model.functions[index];
    return { file, line: first, fn: index };
  }

  /** @param {number} file @param {number} line */
  atLine(file, line) {
    return { file, line, fn: functionAt(this.model, file, line) };
  }

  /** @param {number} region */
  hottestIn(region) {
    const hottest = this.hot(region)[0];
    return hottest ? { file: hottest.file, line: hottest.line, fn: hottest.fn } : {};
  }

  /** @param {Partial<State>} patch @returns {State} */
  patched(patch) {
    const other = patch.view !== undefined && patch.view !== this.state.view;
    return sane(this.model, this.views, { ...this.state, ...(other ? { sort: "", up: false, q: "" } : {}), ...patch });
  }

  /** @param {Partial<State>} patch */
  address(patch) {
    return writeState(this.patched(patch));
  }

  /**
   * @param {Partial<State>} patch
   * @param {boolean} [typing] keep the focus where it is
   */
  go(patch, typing = false) {
    const before = this.state;
    this.become(this.patched(patch));
    this.remember(before.view !== this.state.view);
    this.render(before);
    if (before.view !== this.state.view && !typing) this.focusView();
  }

  /** @param {State} state */
  become(state) {
    if (state.raw !== this.state.raw) this.model = this.take(state.raw);
    this.state = state;
  }

  /** A new view is a step back in the history; a selection is not, and is written when the keys rest. @param {boolean} step */
  remember(step) {
    clearTimeout(this.written);
    const write = () => {
      try {
        history[step ? "pushState" : "replaceState"](null, "", writeState(this.state));
      } catch {
        // A frame without an address of its own: everything works, but is not remembered.
      }
    };
    if (step) write();
    else this.written = window.setTimeout(write, 120);
  }

  /** @param {string} key @param {boolean} upFirst */
  sortBy(key, upFirst) {
    this.go({ sort: key, up: this.state.sort === key ? !this.state.up : upFirst }, true);
  }

  /** @param {number} step */
  nextHottest(step) {
    const hot = this.hot(this.state.region);
    if (!hot.length) return;
    const at = hot.findIndex(({ file, line }) => file === this.state.file && line === this.state.line);
    const next = at < 0 ? 0 : Math.max(0, Math.min(hot.length - 1, at + step));
    this.go({ view: "source", file: hot[next].file, line: hot[next].line, fn: hot[next].fn });
  }

  view() {
    return /** @type {View} */ (this.views.find((view) => view.name === this.state.view));
  }

  liveView() {
    const { name, make } = this.view();
    let live = this.live.get(name);
    if (!live) this.live.set(name, (live = make(this)));
    return live;
  }

  focusView() {
    const { root } = this.liveView();
    focusOn(/** @type {HTMLElement | null} */ (root.querySelector(".table")) ?? root);
  }

  /** @param {State | null} before */
  render(before) {
    render(this, before);
  }
}

/**
 * What an address asks for that is not there is left out.
 * @param {Model} model @param {View[]} views @param {State} state @returns {State}
 */
export function sane(model, views, state) {
  const clean = { ...state };
  if (!views.some((view) => view.name === clean.view)) clean.view = views[0].name;
  if (clean.file >= model.files.length) [clean.file, clean.line] = [-1, 0];
  if (clean.fn >= model.functions.length) clean.fn = -1;
  if (clean.region >= model.regions.length) clean.region = -1;
  if (clean.line > 0 && clean.file < 0) [clean.file, clean.line] = model.files.length ? [0, clean.line] : [-1, 0];
  return clean;
}

// -- the frame ---------------------------------------------------------------------------------------------------

/** @type {{main: HTMLElement, rail: HTMLElement, inspector: Inspector, theme: HTMLElement, help: HTMLDialogElement, finder: Finder}} */
let frame;

/** @param {Page} page */
function buildFrame(page) {
  const inspector = new Inspector(page);
  const finder = new Finder(page);
  const help = helpDialog();
  const theme = el("button", { type: "button", class: "quiet", onclick: () => page.go({ theme: nextTheme(page.state.theme) }, true) });
  const rail = el("nav", { class: "rail", "aria-label": "Views" });
  const main = el("main", { id: "main" });
  frame = { main, rail, inspector, theme, help, finder };
  const header = el("header", { class: "top" }, details(page), finder.root, theme, el("button", { type: "button", class: "quiet", title: "keys (?)", onclick: () => help.showModal() }, "?"));
  document.getElementById("app")?.append(header, el("div", { class: "frame" }, rail, main, inspector.root), help);
}

/** One line, details on click. @param {Page} page */
function details(page) {
  const { run, totals } = page.model;
  const brief = [run.started_s === null ? "" : moment(run.started_s), run.span_ns === null ? "" : inWords(duration(run.span_ns)), processesInWords(run), plural(totals.threads, "thread")].filter(Boolean);
  /** @type {[string, string][]} */
  const facts = [
    ["title", run.title],
    ["command", run.commands.join("\n")],
    ["folder", run.folders.join("\n")],
    ["started", run.started_s === null ? "" : moment(run.started_s)],
    ["took", run.span_ns === null ? "" : `${inWords(duration(run.span_ns))}, from the first start to the last write`],
    ["processes", processesInWords(run)],
    ["threads", String(totals.threads)],
    ["host", run.hosts.join(", ")],
    ["Python", run.pythons.join(", ")],
    ["CPU", run.cpus.join(", ")],
    ["revision", run.revisions.join(", ")],
    ["mechanism", totals.mechanism ?? ""],
    ["measuring", costInWords(page.model)],
    ["run directory", run.directory ?? ""],
    ["recorded by", run.versions.map((version) => `lineprofiler ${version}`).join(", ")],
    ["page by", run.made_by],
  ];
  return el(
    "details",
    { class: "run" },
    el("summary", {}, el("b", { class: "command", title: commandOf(run) }, commandOf(run)), el("span", { class: "brief" }, brief.join(" · "))),
    el("dl", {}, ...facts.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
  );
}

/** @param {State["theme"]} theme @returns {State["theme"]} */
function nextTheme(theme) {
  return theme === "" ? "light" : theme === "light" ? "dark" : "";
}

/** @param {Page} page */
function renderRail(page) {
  const { model, state } = page;
  const views = page.views.map((view, index) =>
    el("a", { href: page.address({ view: view.name, ...(view.name === "source" && state.file < 0 ? page.hottestIn(-1) : {}) }), class: "view-link", "aria-current": view.name === state.view ? "page" : null, title: `${view.title} (${index + 1})` }, view.title, el("span", { class: "badge" }, view.badge(model))),
  );
  const common = commonFolder(model.files.map((file) => file.path));
  const files = model.files.slice(0, MOST_FILES_IN_RAIL).map((file, index) => {
    const { folder, name } = splitPath(file.path.startsWith(common) ? file.path.slice(common.length) : file.path);
    const level = heatLevel(file.self, model.totals.profiled_ns, state.scale);
    const link = el("a", { href: page.address({ view: "source", file: index, line: 0, fn: -1 }), class: "file-link", "aria-current": state.view === "source" && Math.max(0, state.file) === index ? "true" : null, title: `${file.path}\n${inWords(duration(file.self))} self${file.source ? `\nsource ${sourceState(file.source)}` : ""}` }, el("i", { "data-heat": level || null, "aria-hidden": "true" }), el("span", { class: "name" }, name, folder ? el("span", { class: "folder" }, ` ${folder}`) : null));
    return link;
  });
  const rest = model.files.length - files.length;
  frame.rail.replaceChildren(...views, el("div", { class: "files" }, files.length ? el("h2", {}, "files") : null, ...files, rest > 0 ? el("p", { class: "hint" }, `${rest} more with less time: search with /`) : null));
}

/** @param {Page} page @param {State | null} before */
function render(page, before) {
  const { state } = page;
  const root = document.documentElement;
  if (state.theme) root.dataset.theme = state.theme;
  else delete root.dataset.theme;
  frame.theme.textContent = state.theme || "auto";
  frame.theme.title = `theme: ${state.theme || "as the system"} (t)`;
  frame.theme.setAttribute("aria-label", `theme: ${state.theme || "as the system"}`);
  renderRail(page);
  const live = page.liveView();
  if (frame.main.firstChild !== live.root) frame.main.replaceChildren(live.root);
  root.dataset.view = state.view;
  live.update(state);
  if (!before || JSON.stringify({ ...before, q: "", sort: "" }) !== JSON.stringify({ ...state, q: "", sort: "" })) frame.inspector.update(state);
  document.title = `${page.view().title} – ${page.model.run.title}`;
}

// -- keys --------------------------------------------------------------------------------------------------------

/** @type {Record<string, (page: Page) => void>} */
const KEY_ACTIONS = {
  "/": () => frame.finder.input.focus(),
  "?": () => frame.help.showModal(),
  j: (page) => page.liveView().move(1),
  k: (page) => page.liveView().move(-1),
  ArrowDown: (page) => page.liveView().move(1),
  ArrowUp: (page) => page.liveView().move(-1),
  PageDown: (page) => page.liveView().move(20),
  PageUp: (page) => page.liveView().move(-20),
  Home: (page) => page.liveView().move(-1e9),
  End: (page) => page.liveView().move(1e9),
  Enter: (page) => page.liveView().open(),
  n: (page) => page.nextHottest(1),
  p: (page) => page.nextHottest(-1),
  l: (page) => page.go({ scale: page.state.scale === "log" ? "linear" : "log" }),
  r: (page) => page.go({ raw: !page.state.raw }),
  t: (page) => page.go({ theme: nextTheme(page.state.theme) }),
  "[": (page) => page.go({ view: "source", file: Math.max(0, page.state.file - 1), line: 0, fn: -1 }),
  "]": (page) => page.go({ view: "source", file: Math.min(page.model.files.length - 1, page.state.file + 1), line: 0, fn: -1 }),
  Escape: (page) => page.go({ line: 0, fn: -1, region: page.state.view === "regions" ? -1 : page.state.region }),
};

/** @param {Page} page @param {KeyboardEvent} event */
function pressed(page, event) {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.ctrlKey || event.metaKey || event.altKey || frame.help.open) return;
  if (target.closest("input, select, textarea")) {
    if (event.key === "Escape") page.focusView();
    return;
  }
  // Links, buttons and summaries open by themselves; a scrolled pane beside the view scrolls by itself.
  if (event.key === "Enter" && target.closest("a, button, summary, tr")) return;
  if (/^(Arrow|Page|Home|End)/.test(event.key) && target.closest(".inspector, .rail, .found, details, .summary")) return;
  const number = /^[1-9]$/.test(event.key) ? page.views[Number(event.key) - 1] : null;
  if (number) page.go({ view: number.name, ...(number.name === "source" && page.state.file < 0 ? page.hottestIn(-1) : {}) });
  else if (KEY_ACTIONS[event.key]) KEY_ACTIONS[event.key](page);
  else return;
  event.preventDefault();
}

/**
 * Copied rows hold the exact values, with tabs between them.
 * @param {ClipboardEvent} event
 */
function copied(event) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || !event.clipboardData) return;
  const rows = [...document.querySelectorAll(".tr, tbody tr")].filter((row) => selection.containsNode(row, true));
  if (rows.length < 2) return;
  event.clipboardData.setData("text/plain", rows.map((row) => [...row.children].map(exactText).join("\t")).join("\n"));
  event.preventDefault();
}

/** @param {Element} cell */
function exactText(cell) {
  const titled = cell.matches("[title]:not(.words)") ? cell : cell.querySelector("span[title]");
  return titled?.getAttribute("title") ?? cell.textContent ?? "";
}

// -- the start ---------------------------------------------------------------------------------------------------

/** @returns {Promise<string>} the text of the data block */
async function dataText() {
  const block = /** @type {HTMLElement} */ (document.getElementById("data"));
  const text = block.textContent ?? "";
  if (block.dataset.form !== "deflate") return text;
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

async function start() {
  const page = new Page(JSON.parse(await dataText()), [summaryView, sourceView, functionsView, regionsView]);
  buildFrame(page);
  page.render(null);
  page.focusView();
  const again = () => {
    const before = page.state;
    page.become(sane(page.model, page.views, readState(location.hash)));
    page.render(before);
  };
  addEventListener("popstate", again);
  addEventListener("hashchange", again);
  addEventListener("keydown", (event) => pressed(page, event));
  addEventListener("copy", copied);
  addEventListener("beforeprint", () => page.liveView().print(true));
  addEventListener("afterprint", () => page.liveView().print(false));
  matchMedia(DARK).addEventListener("change", () => page.render(null));
  matchMedia(NARROW).addEventListener("change", () => page.render(null));
  document.documentElement.dataset.ready = "1";
}

start().catch((problem) => {
  document.getElementById("app")?.append(el("p", { class: "failed" }, `This page needs a newer browser, or its data are damaged: ${visible(String(problem))}`));
});
