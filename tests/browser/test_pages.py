"""Pages of every kind of result in a real browser, by a foreign judge of each of their promises.

axe-core looks for barriers (WCAG 2.2 A and AA), Chromium for requests, errors and overflow, the
Nu Html Checker for markup. None of them is part of this repository: npm fetches them into a cache
of the machine, and without Chromium, Node, Java or npm's registry the tests are skipped.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from comparity.cli import main
from comparity.reports.outlines import OUTLINES, fill_outline
from comparity.reports.page import page, read_results
from tests.browser.conftest import CHECKING, SCREENS, Look, Once, failures, program, ran
from tests.browser.results import extremes
from tests.reports.commands import COMMANDS, Printer, printer

__all__ = ["printer"]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


# One result of every command: what stands on each page alone need not be looked at again.
TOGETHER = ("separation", "comparative", "graded pairs", "raters", "barp", "metrics", "training")
TOGETHER += ("plan of pairs", "weights", "gate")


@pytest.fixture(scope="session")
def pages(printer: Printer, once: Once) -> dict[str, Path]:
    """Write a page for every command, for results at the edge, and one with several of them."""

    def written(folder: Path) -> dict[str, str]:
        sources = {name.replace(" ", "_"): printer(name).page for name in COMMANDS}
        sources["weights"] = page(next(iter(read_results([printer("weights").path]).values())))
        sources |= {name: page(result) for name, result in extremes().items()}
        together = read_results([printer(name).path for name in TOGETHER])
        named = {f"<i>{name}</i>": result for name, result in together.items()}
        sources["combined"] = page(named, title="Everything <at> once")
        impact = read_results([printer("impact").path])
        sources |= {f"rule_{one}": page({"": fill_outline(one, impact)}) for one in OUTLINES}
        for name, source in sources.items():
            (folder / f"{name}.html").write_text(source, encoding="utf-8")
        with pytest.raises(SystemExit) as left:
            main(["demo", "--applicants", "300", "--directory", str(folder / "demo"), "--json"])
        assert not left.value.code
        shutil.copy(folder / "demo" / "report.html", folder / "demo.html")
        return {path.stem: str(path) for path in sorted(folder.glob("*.html"))}

    return {name: Path(path) for name, path in once("pages", written).items()}


@pytest.fixture(scope="session")
def seen(pages: dict[str, Path], look: Look, once: Once) -> dict[str, Any]:
    """Return what the browser saw of each page."""
    found = once("pages_seen", lambda folder: look(pages.values()))
    return {name: found[str(path)] for name, path in pages.items()}


def test_no_page_has_a_barrier(seen: dict[str, Any]) -> None:
    assert failures(seen, lambda one: one["violations"]) == {}
    # A checker that looked at nothing would find nothing.
    assert min(len(seen[name][screen]["passes"]) for name in seen for screen in SCREENS) > 15
    for screen in ("light-wide", "dark-wide"):
        assert all("color-contrast" in seen[name][screen]["passes"] for name in seen)


def test_no_page_asks_the_network_runs_a_script_or_complains(seen: dict[str, Any]) -> None:
    assert failures(seen, lambda one: one["foreign"] + one["said"]) == {}
    assert failures(seen, lambda one: one["scripts"]) == {}


def test_no_page_scrolls_sideways_on_any_screen(seen: dict[str, Any]) -> None:
    assert failures(seen, lambda one: one["overflow"]) == {}


def test_every_page_prints_and_no_page_break_cuts_a_picture(seen: dict[str, Any]) -> None:
    for name, one in seen.items():
        assert one["print"]["head"] == "%PDF-", name
        assert one["print"]["cut"] == [], name
        assert one["print"]["wide"] == [], name


def test_every_page_is_valid_html(pages: dict[str, Path], modules: Path) -> None:
    jar = modules / "vnu-jar" / "build" / "dist" / "vnu.jar"
    words = [program("java"), "-jar", str(jar), "--stdout", "--format", "json"]
    done = ran([*words, *map(str, pages.values())], limit=CHECKING)
    assert json.loads(done.stdout)["messages"] == []
