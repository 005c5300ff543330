"""The documentation keeps its promises: it runs, its links lead somewhere, nothing is left out."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import comparity
from comparity.cli import HOMES
from tests.documentation.blocks import NOT_RUN, ROOT, blocks, pages

DOCS = ROOT / "docs"
PAGES = pages()


@pytest.fixture(scope="module")
def site() -> dict[str, Any]:
    pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
    return runpy.run_path(str(DOCS / "build_site.py"))


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
    return runpy.run_path(str(DOCS / "api.py"))


def navigation(entries: list[Any]) -> Iterator[str]:
    """Yield the pages of a navigation, however deep."""
    for entry in entries:
        for target in entry.values():
            if isinstance(target, list):
                yield from navigation(target)
            else:
                yield target


def anchors(text: str) -> set[str]:
    """Return what headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_has_a_reason_not_to(page: str) -> None:
    forgotten = [one for one in blocks(page) if not (one.how or one.excused)]
    assert not [f"{page}, line {one.line}: {one.text[:60]!r}" for one in forgotten]


@pytest.mark.parametrize("page", PAGES)
def test_no_fence_is_overlooked(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(list(blocks(page)))


@pytest.mark.parametrize(("page", "beginning"), NOT_RUN)
def test_reasons_belong_to_blocks_that_are_there(page: str, beginning: str) -> None:
    assert any(one.text.startswith(beginning) for one in blocks(page))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str, site: dict[str, Any]) -> None:
    text = site["CODE"].sub("", (ROOT / page).read_text(encoding="utf-8"))
    for link in site["LINK"].finditer(text):
        if "://" in link["target"]:
            continue
        target = (ROOT / page).parent / link["target"] if link["target"] else ROOT / page
        assert target.exists(), f"{page} links to {link['target']}"
        if link["anchor"]:
            assert link["anchor"][1:] in anchors(target.read_text(encoding="utf-8")), link[0]


def test_every_page_is_in_the_navigation_once(
    site: dict[str, Any], reference: dict[str, Any]
) -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    listed = list(navigation(config["project"]["nav"]))
    places = [place for place in site["places"]().values() if place.endswith(".md")]
    # Scripts and reproductions are reached from the pages that speak of them.
    pages = {one for one in places if not one.startswith(("examples/", "reproductions/"))}
    pages |= {f"api/{name}.md" for name in reference["pages"]()}
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/**/*.py")), ids=lambda one: one.stem)
def test_every_example_has_a_link_on_their_page(script: Path) -> None:
    place = script.relative_to(ROOT).as_posix()
    assert f"](../{place})" in (DOCS / "examples.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", HOMES)
def test_every_command_has_a_how_to_that_shows_it(command: str) -> None:
    page = f"docs/how_to/{command}.md"
    assert f"`comparity {command}`" in (ROOT / page).read_text(encoding="utf-8").partition("\n")[0]
    shown = [one.text for one in blocks(page) if one.language == "console"]
    assert any(f"$ comparity {command}" in text for text in shown)


def test_every_public_name_has_an_entry_in_the_reference(reference: dict[str, Any]) -> None:
    shown = reference["pages"]()
    for name in comparity.__all__:
        if name != "__version__":
            assert f"## `{name}`" in shown[reference["home"](name)], name


def test_no_docstring_shows_its_markup_in_the_reference(reference: dict[str, Any]) -> None:
    for page in reference["pages"]().values():
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page, flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r":math:|\.\. math|^-{4,}$|``|\]_", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_lists_are_set_off_by_an_empty_line(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S)
    lines = text.splitlines()
    for before, line in pairwise(lines):
        if re.match(r"([-*]|\d+\.) ", line) and before.strip():
            assert re.match(r"\s*([-*]|\d+\.) |\s{2,}", before), f"{page}: {line!r}"


def test_notebooks_are_kept_as_text() -> None:
    assert not list(ROOT.glob("examples/**/*.ipynb"))


@pytest.mark.parametrize("page", PAGES)
def test_pictures_say_what_they_show(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not [alt for alt in re.findall(r"!\[([^\]]*)\]\(", text) if len(alt) < 20]


def test_pictures_are_small() -> None:
    pictures = list(DOCS.glob("pictures/*"))
    assert pictures
    assert not [one.name for one in pictures if one.stat().st_size > 200_000]


def test_tests_that_pages_name_exist() -> None:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    named = {path for text in texts for path in re.findall(r"`(tests/[\w/.]+)`", text)}
    assert "tests/fuzz/" in named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_calibration_is_on_the_page_of_validity() -> None:
    told = (DOCS / "validity.md").read_text(encoding="utf-8")
    files = {path.name for path in (ROOT / "tests" / "calibration").glob("test_*.py")}
    assert set(re.findall(r"`(test_\w+\.py)`", told)) == files
