# SPDX-License-Identifier: MIT
"""Pages written by build/…/write_page, opened from disk in the machine's own Chromium. Every test fails when the page
says anything on the console, asks the network for anything, or throws."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LP_WEB_BUILD", ROOT / "build/unit"))
WRITE_PAGE = BUILD / "tests/web/write_page"
CHROMIUM = os.environ.get("LP_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.fail("no chromium on this machine: tools/need web installs it")
    with sync_playwright() as play:
        # Root in a container has no sandbox; the pages are our own.
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def run_writer(*arguments: object) -> bytes:
    return subprocess.run([WRITE_PAGE, *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The file of a scene, written once."""
    folder = tmp_path_factory.mktemp("pages")
    made: dict[tuple[object, ...], Path] = {}

    def write(*scene: object) -> Path:
        if scene not in made:
            made[scene] = folder / f"{'-'.join(map(str, scene))}.html"
            made[scene].write_bytes(run_writer(*scene))
        return made[scene]

    return write


@pytest.fixture(scope="session")
def facts() -> Callable[[str], Any]:
    """The numbers of a scene, as the report holds them."""
    return lambda scene: json.loads(run_writer(scene, "facts"))


@pytest.fixture
def open_page(browser: Browser, page_file: Callable[..., Path]) -> Iterator[Open]:
    """open_page("usual", "#source?line=3", dark=True, width=400): a page that is ready."""
    said: list[str] = []
    contexts = []

    def open_(scene: str = "usual", address: str = "", *, width: int = 1280, height: int = 800, dark: bool = False,
              lines: int = 0, scripts: bool = True) -> Page:  # fmt: skip
        context = browser.new_context(viewport={"width": width, "height": height}, java_script_enabled=scripts,
                                      color_scheme="dark" if dark else "light")  # fmt: skip
        contexts.append(context)
        path = page_file(scene, lines) if lines else page_file(scene)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: said.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        own = path.as_uri()
        page.on("request", lambda request: request.url.startswith(own) or said.append(f"asks for {request.url}"))
        page.goto(path.as_uri() + address)
        if scripts:
            page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert said == []
