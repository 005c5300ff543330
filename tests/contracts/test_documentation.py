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


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_every_block_is_run_or_has_a_reason_not_to() -> None:
    assert len(PAGES) > 30
    assert not [
        f"{page}, line {one.line}: {one.text[:60]!r}"
        for page in PAGES
        for one in blocks(page)
        if not (one.how or one.excused)
    ]


def test_no_fence_is_overlooked() -> None:
    fences = {page: len(re.findall(r"^ *```", text_of(page), re.MULTILINE)) for page in PAGES}
    assert fences == {page: 2 * len(list(blocks(page))) for page in PAGES}


def test_reasons_belong_to_blocks_that_are_there() -> None:
    assert not [
        (page, beginning)
        for page, beginning in NOT_RUN
        if not any(one.text.startswith(beginning) for one in blocks(page))
    ]


def broken_links(page: str, site: dict[str, Any]) -> Iterator[str]:
    """Yield the links of a page to what is not there."""
    for link in site["LINK"].finditer(site["CODE"].sub("", text_of(page))):
        if "://" in link["target"]:
            continue
        target = (ROOT / page).parent / link["target"] if link["target"] else ROOT / page
        if not target.exists() or (
            link["anchor"] and link["anchor"][1:] not in anchors(target.read_text("utf-8"))
        ):
            yield f"{page}: {link[0]}"


def test_links_lead_somewhere(site: dict[str, Any]) -> None:
    assert not [link for page in PAGES for link in broken_links(page, site)]


def test_a_broken_link_would_be_noticed(site: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](gone.md)\n", encoding="utf-8")
    assert len(list(broken_links(str(page), site))) == 2


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


def test_every_example_has_a_link_on_their_page() -> None:
    places = [one.relative_to(ROOT).as_posix() for one in ROOT.glob("examples/**/*.py")]
    assert places
    assert not [one for one in places if f"](../{one})" not in text_of("docs/examples.md")]


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


def test_lists_are_set_off_by_an_empty_line() -> None:
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S)
        for before, line in pairwise(text.splitlines()):
            if re.match(r"([-*]|\d+\.) ", line) and before.strip():
                assert re.match(r"\s*([-*]|\d+\.) |\s{2,}", before), f"{page}: {line!r}"


def test_notebooks_are_kept_as_text() -> None:
    assert not list(ROOT.glob("examples/**/*.ipynb"))


def test_pictures_say_what_they_show() -> None:
    shown = [alt for page in PAGES for alt in re.findall(r"!\[([^\]]*)\]\(", text_of(page))]
    assert shown
    assert not [alt for alt in shown if len(alt) < 20]


def test_pictures_are_small() -> None:
    pictures = list(DOCS.glob("pictures/*"))
    assert pictures
    assert not [one.name for one in pictures if one.stat().st_size > 200_000]


def test_tests_that_pages_name_exist() -> None:
    named = {path for page in PAGES for path in re.findall(r"`(tests/[\w/.]+)`", text_of(page))}
    assert "tests/fuzz/" in named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_calibration_is_on_the_page_of_validity() -> None:
    told = (DOCS / "validity.md").read_text(encoding="utf-8")
    files = {path.name for path in (ROOT / "tests" / "calibration").glob("test_*.py")}
    assert set(re.findall(r"`(test_\w+\.py)`", told)) == files
