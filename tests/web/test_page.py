# SPDX-License-Identifier: MIT
"""The page of a line report as a reader meets it: what it says, keys, search, sorting, themes, print, small screens."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Open = Callable[..., Page]
HOSTILE = "</script><script>alert(1)</script>"


def rows(page: Page) -> list[list[str]]:
    """The cells of the long table in view."""
    script = "rows => rows.map(row => [...row.children].map(cell => cell.textContent.replaceAll('\\u00a0', ' ')))"
    found: list[list[str]] = page.locator(".tr").evaluate_all(script)
    return found


def titles(page: Page, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).evaluate_all("cells => cells.map(cell => cell.title)")
    return found


def nanoseconds(value: float) -> str:
    return f"{value:,.0f} ns"


# -- what it says ---------------------------------------------------------------------------------------------------


def test_the_slowest_line_is_named_with_share_and_base_at_once(open_page: Open) -> None:
    page = open_page()
    finding = page.locator(".finding")
    expect(finding).to_be_in_viewport()
    text = finding.inner_text().replace("\u00a0", " ")
    assert "model.py:12 is the slowest line: 48.1 % of 227 ms, the self time of all lines." in text
    assert "total += w * x" in text


def test_what_is_missing_is_said(open_page: Open) -> None:
    text = open_page().locator(".summary").inner_text()
    assert "1 thread was not observed" in text
    assert "gone.py (changed since it ran)" in text
    assert "1 row shows line events" in text
    assert "made in C before profiling began" in text


def test_an_empty_report_says_why(open_page: Open) -> None:
    page = open_page("empty")
    assert "Nothing was recorded" in page.locator(".summary").inner_text()
    assert page.locator(".view-link").all_inner_texts() == ["Summary"]


def test_the_header_tells_the_run(open_page: Open) -> None:
    page = open_page()
    assert "train.py --steps 200" in page.locator(".run summary").inner_text()
    page.locator(".run summary").click()
    facts = page.locator(".run dl").inner_text()
    for fact in ("/home/someone/project", "3.12.1", "vm", "monitoring", "0123456789ab", "81,612 line events"):
        assert fact in facts


def test_every_number_of_every_line_is_the_report_s(open_page: Open, facts: Callable[[str], Any]) -> None:
    """Selecting each row brings its exact numbers into the inspector."""
    page = open_page()
    for row in facts("usual")["rows"]:
        page.evaluate(f"location.hash = '#source?file={row['file']}&line={row['line']}'")
        exact = page.locator(".inspector .exact")
        hits = row["events"] if row["mark"] == 1 else row["hits"]
        wanted = f"{hits:,} {'line events (' if row['mark'] == 1 else 'hits'}"
        expect(exact).to_contain_text(wanted)
        text = exact.evaluate("list => list.textContent")
        assert f"self {nanoseconds(row['corrected_self'])}, inclusive {nanoseconds(row['corrected_inclusive'])}" in text
        if row["suspended"]:
            assert f"suspended {nanoseconds(row['suspended'])}" in text


def test_the_gutter_holds_the_same_numbers(open_page: Open, facts: Callable[[str], Any]) -> None:
    page = open_page("usual", "#source?file=1")
    shown = {row[0]: row for row in rows(page)}
    exact = dict(zip(titles(page, ".tr .c-line ~ .c-self"), titles(page, ".tr .c-inclusive"), strict=True))
    for row in (row for row in facts("usual")["rows"] if row["file"] == 1):
        assert shown[str(row["line"])][3] == f"{row['hits']:,}"
        assert exact[nanoseconds(row["corrected_self"])] == nanoseconds(row["corrected_inclusive"])


def test_the_same_as_measured(open_page: Open, facts: Callable[[str], Any]) -> None:
    """Without taking off what the line events cost, by key and by address."""
    page = open_page("usual", "#source?file=1&line=10")
    corrected = rows(page)
    assert "taken off" in str(page.get_by_role("button", name="corrected").get_attribute("title"))
    page.keyboard.press("r")
    expect(page.get_by_role("button", name="as measured")).to_be_visible()
    exact = dict(zip(titles(page, ".tr .c-line ~ .c-self"), titles(page, ".tr .c-inclusive"), strict=True))
    for row in (row for row in facts("usual")["rows"] if row["file"] == 1):
        assert exact[nanoseconds(row["self"])] == nanoseconds(row["inclusive"])
    assert "raw=1" in page.evaluate("new Promise(done => setTimeout(() => done(location.hash), 300))")
    expect(page.locator('.tr[aria-selected="true"] .c-line')).to_have_text("10")
    page.keyboard.press("r")
    assert rows(page) == corrected


def test_functions_and_regions_hold_the_report_s_numbers(open_page: Open, facts: Callable[[str], Any]) -> None:
    wanted = facts("usual")
    page = open_page("usual", "#functions")
    shown = sorted(zip(titles(page, ".tr .c-self"), titles(page, ".tr .c-total"), strict=True))
    assert shown == sorted((nanoseconds(f["self"]), nanoseconds(f["total"])) for f in wanted["functions"])
    page = open_page("usual", "#regions")
    shown = sorted(zip(titles(page, ".tr .c-self"), titles(page, ".tr .c-wall"), strict=True))
    assert shown == sorted((nanoseconds(r["self"]), nanoseconds(r["wall"])) for r in wanted["regions"])


def test_three_states_of_a_line(open_page: Open) -> None:
    page = open_page("usual", "#source?file=0")
    classes = page.locator(".tr").evaluate_all("rows => rows.map(row => row.className.split(' ')[1])")
    assert classes[11] == "ran" and classes[13] == "missed"
    assert classes[2] == classes[8] == "no-code"  # blank, and the head of a function that ran
    assert "not run" in rows(page)[13]


def test_a_line_of_several_functions_lists_each(open_page: Open) -> None:
    page = open_page("usual", "#source?file=0&line=7")
    text = page.locator(".exact").inner_text()
    assert "Model.__init__:" in text and "Model.__init__.<locals>.<listcomp>:" in text
    row = rows(page)[6]
    # The comprehension runs inside the line that it stands on: its time counts once.
    assert row[1:4] == ["1.35 ms", "1.35 ms", "~202"]


def test_regions_are_columns_of_the_source(open_page: Open) -> None:
    page = open_page("usual", "#regions")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".inspector h2")).to_have_text("training › warm-up")
    page.keyboard.press("Enter")
    expect(page.locator(".source .path")).to_have_text("/home/someone/project/model.py")
    assert rows(page)[11][3] == "4,000"
    assert "10.9 ms" in rows(page)[11]
    page.get_by_label("region").select_option(label="whole run")
    expect(page.locator("#src-11 .c-hits")).to_have_text("40,000")


# -- keys, search, sorting, address ---------------------------------------------------------------------------------


def test_everything_by_keyboard(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("n")
    expect(page.locator('.tr[aria-selected="true"] .c-line')).to_have_text("12")
    page.keyboard.press("n")
    expect(page.locator('.tr[aria-selected="true"] .c-line')).to_have_text("11")
    page.keyboard.press("k")
    expect(page.locator(".inspector h2").first).to_have_text("model.py:10")
    page.keyboard.press("]")
    expect(page.locator(".path")).to_have_text("/home/someone/project/main.py")
    for _ in range(10):
        page.keyboard.press("j")
    expect(page.locator('.tr[aria-selected="true"] .c-line')).to_have_text("10")
    page.keyboard.press("Enter")  # into the function that the line calls
    expect(page.locator('.tr[aria-selected="true"] .c-line')).to_have_text("9")
    expect(page.locator(".path")).to_have_text("/home/someone/project/model.py")
    page.keyboard.press("3")
    expect(page.locator(".functions h1")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()


def test_tab_reaches_every_control(open_page: Open) -> None:
    page = open_page("usual", "#functions?fn=1")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.className"))
    for wanted in [
        "SUMMARY ",
        "INPUT ",
        "BUTTON quiet",
        "A view-link",
        "A file-link",
        "BUTTON sort",
        "ASIDE inspector",
    ]:
        assert any(name.startswith(wanted) for name in reached), f"{wanted} in {reached}"


def test_search_finds_functions_files_and_source(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("forward")
    kinds = page.locator(".found .kind").all_inner_texts()
    assert kinds == ["function", "line", "line"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".inspector h2").first).to_have_text("main.py:10")
    page.keyboard.press("/")
    page.keyboard.type("no such thing")
    expect(page.locator(".found")).to_have_text("nothing found")
    page.keyboard.press("Escape")
    expect(page.locator(".found")).to_be_hidden()
    page.keyboard.press("j")
    expect(page.locator(".inspector h2").first).to_have_text("main.py:11")


def test_functions_sort_and_filter(open_page: Open) -> None:
    page = open_page("usual", "#functions")
    page.get_by_role("button", name="calls").click()
    calls = [row[3] for row in rows(page)]
    assert calls == ["200", "2", "1", "1", "1", "1"]
    expect(page.locator('[aria-sort="descending"]')).to_have_text("calls ↓")
    page.get_by_role("button", name="function").click()
    names = [row[6] for row in rows(page)]
    assert names == sorted(names)
    page.get_by_label("filter functions").fill("model init")
    expect(page.locator(".tr")).to_have_count(2)
    assert "q=model" in page.evaluate("new Promise(done => setTimeout(() => done(location.hash), 300))")


def test_an_address_brings_everything_back(open_page: Open) -> None:
    page = open_page("usual", "#functions?fn=1&sort=calls&up=1&q=model&theme=dark")
    for _ in range(2):
        expect(page.locator('.tr[aria-selected="true"] .c-name')).to_have_text("Model.forward")
        expect(page.locator('[aria-sort="ascending"]')).to_have_text("calls ↑")
        assert page.locator(".tr").count() == 4
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.reload()
        page.wait_for_selector("html[data-ready]")


ODD = (
    "#nowhere #source?file=99&line=5 #source?file=0&line=999999 #functions?fn=x&sort=__proto__ #regions?region=77"
    " #source?region=-1&scale= #%%% #source?line=3"
)


@pytest.mark.parametrize("address", ODD.split())
def test_an_address_that_makes_no_sense_opens_all_the_same(open_page: Open, address: str) -> None:
    expect(open_page("usual", address).locator(".view")).to_be_visible()


def test_going_back_returns_to_the_view_before(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("3")
    expect(page.locator(".functions h1")).to_be_visible()
    page.go_back()
    expect(page.locator(".finding")).to_be_visible()


def test_links_lead_from_callers_to_lines(open_page: Open) -> None:
    page = open_page("usual", "#functions?fn=1")
    page.locator(".links a", has_text="train at main.py:10").click()
    expect(page.locator(".inspector h2").first).to_have_text("train")
    page.keyboard.press("Enter")
    expect(page.locator(".path")).to_have_text("/home/someone/project/main.py")


def test_copied_rows_hold_exact_values(open_page: Open) -> None:
    page = open_page("usual", "#source?file=1")
    copied = page.evaluate("""() => {
      const range = document.createRange();
      range.setStart(document.querySelector('#src-8'), 0);
      range.setEnd(document.querySelector('#src-9'), 6);
      getSelection().addRange(range);
      const data = new DataTransfer();
      document.dispatchEvent(new ClipboardEvent('copy', {clipboardData: data, bubbles: true}));
      return data.getData('text/plain');
    }""")
    assert "2,852,350 ns\t220,801,750 ns\t200" in copied


# -- looks ------------------------------------------------------------------------------------------------------------


def background(page: Page) -> str:
    color: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return color


def test_light_and_dark_follow_the_system_and_the_reader(open_page: Open) -> None:
    light, dark = background(open_page()), background(open_page(dark=True))
    assert light != dark
    page = open_page(dark=True)
    page.keyboard.press("t")
    assert background(page) == light
    page.keyboard.press("t")
    assert background(page) == dark
    assert "theme=dark" in page.evaluate("new Promise(done => setTimeout(() => done(location.hash), 300))")


@pytest.mark.parametrize("address", ["", "#source?file=0&line=12", "#functions?fn=1", "#regions?region=0"])
def test_a_small_screen_scrolls_in_one_direction(open_page: Open, address: str) -> None:
    page = open_page("usual", address, width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    expect(page.locator(".view")).to_be_in_viewport()
    expect(page.locator(".view-link").first).to_be_in_viewport()


def test_a_print_holds_every_line(open_page: Open) -> None:
    page = open_page("large", "#source", lines=400)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".tr").count() == 400
    assert page.locator(".rail").is_hidden()
    tops = page.locator(".tr").evaluate_all("rows => rows.map(row => row.getBoundingClientRect().top)")
    assert tops == sorted(tops) and tops[-1] - tops[0] > 6000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.pdf().count(b"/Type /Page\n") > 5
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".tr").count() < 100


def test_without_scripts_the_tables_are_there(open_page: Open) -> None:
    page = open_page(scripts=False)
    expect(page.locator(".plain h1")).to_be_in_viewport()
    text = page.locator(".plain").inner_text()
    for wanted in [
        "48.1%",
        "108.9ms",
        "40,000",
        "/home/someone/project/model.py:12",
        "Model.forward",
        "training",
        "total += w * x",
    ]:
        assert wanted in text


@pytest.mark.parametrize("address", ["", "#source?file=0&line=12", "#functions?fn=1", "#regions?region=0"])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(open_page: Open, address: str, dark: bool) -> None:
    import axe_playwright_python

    page = open_page("usual", address, dark=dark)
    page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], each["help"], [node["html"][:120] for node in each["nodes"]][:3]) for each in found] == []


# -- long, hostile, sealed ------------------------------------------------------------------------------------------

NODES = """() => {
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walker.nextNode()) count++;
  return count;
}"""


def test_few_nodes_at_any_place_of_20000_lines(open_page: Open) -> None:
    page = open_page("large", "#source?line=1", lines=20000, width=1920, height=1080)
    most = 0
    for place in range(0, 20000 * 24, 20000 * 24 // 25):
        page.evaluate(f"document.querySelector('.table').scrollTop = {place}")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        most = max(most, page.evaluate(NODES))
        first = page.locator(".tr .c-line").first.inner_text()
        assert abs(int(first) - place // 24) < 60
    assert most <= 2000
    page.keyboard.press("3")
    assert page.evaluate(NODES) <= 2000
    page.keyboard.press("1")
    assert page.evaluate(NODES) <= 2000


def test_the_last_of_20000_lines_is_reached(open_page: Open) -> None:
    page = open_page("large", "#source?line=20000", lines=20000)
    row = page.locator('.tr[aria-selected="true"]')
    expect(row.locator(".c-line")).to_have_text("20000")
    expect(row).to_be_in_viewport()


def test_hostile_names_stay_text(open_page: Open) -> None:
    for address in ("", "#source?line=1", "#functions?fn=0", "#regions?region=0"):
        page = open_page("hostile", address)
        page.locator(".run summary").click()
        text = page.locator("body").inner_text()
        assert HOSTILE in text
        assert "<img src=x onerror=alert(2)>" in text
        assert not re.search("[\u202a-\u202e\u2028\u2029\u200b-\u200f\u0001]", text)
        assert page.locator("img, iframe, object, #app script, #app style").count() == 0
    page.keyboard.press("/")
    page.keyboard.type("</script>")
    assert page.locator(".found li").count() > 1


def test_hostile_names_stay_text_without_scripts(open_page: Open) -> None:
    page = open_page("hostile", scripts=False)
    text = page.locator(".plain").inner_text()
    assert HOSTILE in text and "\u202e" not in text
    assert page.locator("img").count() == 0


def test_the_policy_forbids_all_but_what_is_hashed(page_file: Callable[..., Path]) -> None:
    text = page_file("usual").read_text(encoding="utf-8")
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)
    assert policy and policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    for tag in ('<script type="module">', "<style>"):
        body = text.split(tag)[1].split("</")[0] if tag == "<style>" else text.split(tag)[1].rsplit("</script>", 1)[0]
        assert base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() in policy.group(1)
    assert text.count("<script") == 2 and text.count("<style") == 1
    assert "http://" not in text and "https://" not in text


def block(path: Path) -> tuple[str, str]:
    text = path.read_text(encoding="utf-8")
    found = re.search('<script type="application/json" id="data" data-form="([a-z]+)">([^<]*)</script>', text)
    assert found
    return found.group(1), found.group(2)


def test_the_block_inflates_with_zlib(page_file: Callable[..., Path]) -> None:
    form, text = block(page_file("large", 20000))
    assert form == "deflate"
    data = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
    assert data["kind"] == "lines" and len(data["rows"]["hits"]) == 12000
    form, text = block(page_file("empty"))
    assert form == "json" and json.loads(text)["totals"]["events"] == 0


def test_a_damaged_block_is_said(browser: Any, page_file: Callable[..., Path], tmp_path: Path) -> None:
    text = page_file("large", 400).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace('data-form="deflate">', 'data-form="deflate">AAAA'), encoding="utf-8")
    page = browser.new_page()
    page.goto(broken.as_uri())
    expect(page.locator(".failed")).to_contain_text("data are damaged")
    page.close()
