# SPDX-License-Identifier: MIT
"""tools/embed: what it makes of web/, and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = "{{title}} <style>{{style}}</style> {{plain}} {{form}} {{data}} <script>{{script}}</script> {{policy}}"


@pytest.fixture(scope="session")
def embed() -> Any:
    loader = SourceFileLoader("embed", str(ROOT / "tools/embed"))
    spec = spec_from_loader("embed", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_page_holds_what_stands_in_web_now(embed: Any, page_file: Callable[..., Path]) -> None:
    """The library was built from these sources: every part of the page between what is filled in."""
    text = page_file("usual").read_text(encoding="utf-8")
    at = 0
    for part in embed.MARK.split(embed.page_of(ROOT / "web"))[::2]:
        at = text.index(part, at) + len(part)
    assert at == len(text)


def refusal(folder: Path, files: dict[str, str]) -> str:
    """What is said of these sources; "" when they are taken."""
    for name, text in {"page.html": PAGE, "page.css": "b { c: d }", **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, ROOT / "tools/embed", folder, folder / "out.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ("", {"app.js": 'import { a } from "./b.js";\na();\n', "b.js": "export function a() {}\n"}),
        ("top-level name of b.js", {"app.js": 'import "./b.js";\nconst a = 1;\n', "b.js": "export const a = 2;\n"}),
        ("under another name", {"app.js": 'import { a as b } from "./b.js";\n', "b.js": "export const a = 2;\n"}),
        ("import each other", {"app.js": 'import "./b.js";\n', "b.js": 'import "./app.js";\n'}),
        ("over several lines", {"app.js": "const a = `\n`;\n"}),
        ("cannot take this apart", {"app.js": "export default 1;\n"}),
        ("cannot take this apart", {"app.js": 'import x from "y";\n'}),
        ("end its own element", {"app.js": 'const a = "</script>";\n'}),
        ("behind the end of a comment", {"app.js": "/* a */ const b = 1;\n"}),
        ("No such file", {"app.js": 'import "./none.js";\n'}),
        ("has the marks", {"app.js": "", "page.html": "{{title}}"}),
    ],
)
def test_what_cannot_be_embedded_is_refused(tmp_path: Path, said: str, files: dict[str, str]) -> None:
    assert said in refusal(tmp_path, files)
    assert (tmp_path / "out.c").exists() == (said == "")


def test_comments_stay_at_home_and_modules_come_in_order(embed: Any, tmp_path: Path) -> None:
    (tmp_path / "app.js").write_text('// one\nimport { b } from "./b.js";\n/**\n * two\n */\n  b(); // three\n')
    (tmp_path / "b.js").write_text("export const b = () => 1;\n")
    assert embed.script_of(tmp_path) == "\nconst b = () => 1;\nb(); // three\n"
    assert not re.search(r"^\s*(//|/\*|\*)", embed.script_of(ROOT / "web"), re.M)
