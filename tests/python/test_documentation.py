"""The pages: every public name is on one, and every link leads somewhere."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from lineprofiler import FunctionStats, LineProfiler, LineStats, ProfilerConfig, RegionStats, accounting
from lineprofiler.accounting import CounterStats, MergedRun, PhaseStats, Profiler, WorkerSnapshot

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the pages are not beside the tests")

# Of parts that do not exist yet: they are on the page of the part.
LATER = {"io_counters", "signal", "samples", "trace", "backend", "hardware", "hardware_by_host"}
LATER |= {"samples_of", "samples_by_process", "backend_artifacts"}


def words_of(page: str) -> set[str]:
    return set(re.findall(r"\w+", (ROOT / page).read_text(encoding="utf-8")))


def public(owner: type) -> set[str]:
    annotated = set(re.findall(r"self\.([a-z]\w*)(?:: .*)? =", inspect.getsource(owner)))
    return {name for name in {*vars(owner), *annotated} if not name.startswith("_")} - LATER


def test_every_name_of_accounting_is_on_its_page() -> None:
    assert set(accounting.__all__) - words_of("docs/accounting.md") == set()


@pytest.mark.parametrize("owner", [Profiler, MergedRun, WorkerSnapshot], ids=lambda owner: owner.__name__)
def test_every_attribute_is_on_the_page(owner: type) -> None:
    assert public(owner) - words_of("docs/accounting.md") == set()


def test_every_figure_of_a_phase_is_on_the_page() -> None:
    figures = set(PhaseStats.__slots__) | set(CounterStats.__slots__) - {"amounts", "negative_amounts"}
    assert figures - words_of("docs/accounting.md") == set()


def test_every_argument_of_a_profiler_is_on_its_page() -> None:
    assert set(inspect.signature(Profiler).parameters) - words_of("docs/configuration.md") == set()


def test_every_name_of_the_line_profiler_is_on_its_page() -> None:
    names = {name for name in vars(LineProfiler) if not name.startswith("_")}
    names |= set(inspect.signature(LineProfiler).parameters) | {"start_profiling", "stop_profiling", "ProfilerConfig"}
    for owner in (FunctionStats, LineStats, RegionStats, ProfilerConfig):
        names |= set(owner.__slots__) - {"enabled"}
    for method in (LineProfiler.print_stats, LineProfiler.print_global_top_stats, LineProfiler.print_regions):
        names |= set(inspect.signature(method).parameters) - {"self"}
    assert names - words_of("docs/line-profiler.md") - words_of("docs/coming-from-line-profiler.md") == set()


def test_every_function_of_the_header_is_on_its_page() -> None:
    header = (ROOT / "include/lineprofiler.h").read_text(encoding="utf-8")
    names = set(re.findall(r"^LP_API [^;]*?\b(lp_\w+)\(", header, re.M)) | {"LP_PHASE", "LP_COUNT", "LP_DISABLED"}
    assert len(names) > 10
    assert names - words_of("docs/c-api.md") == set()


def test_every_variable_of_the_environment_is_on_its_page() -> None:
    sources = [*ROOT.glob("core/**/*.c"), *ROOT.glob("ext/*.c"), *ROOT.glob("python/**/*.py")]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    names = set(re.findall(r'"(LINEPROFILER_[A-Z_]+)"', text))
    assert "LINEPROFILER_RUN_DIR" in names
    assert names - words_of("docs/configuration.md") == set()


ARGUMENTS = set(inspect.signature(accounting.phase).parameters) - {"name", "sample"}


def is_accepted(argument: str) -> bool:
    try:
        accounting.phase("x", **{argument: True})
    except NotImplementedError:
        return False
    return True


def test_reports_and_their_page_recommend_nothing_that_is_refused() -> None:
    """A sentence that names an argument of phase() may only name one that works."""
    sources = [*ROOT.glob("core/analyse/*.c"), *ROOT.glob("core/render/*.c"), *ROOT.glob("core/cli/*.c")]
    for page in (*sources, ROOT / "docs/report.md"):
        named = set(re.findall(r"\b(\w+)=True\b", page.read_text(encoding="utf-8"))) & ARGUMENTS
        assert [argument for argument in named if not is_accepted(argument)] == [], page


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []
