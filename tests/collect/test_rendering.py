"""Items of anybody become HTML that holds text and its layout, and nothing that acts.

The words of the pages stand in one file per language; every page is shown in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from comparity.collect.app import create_app
from comparity.collect.options import CollectOptions
from comparity.collect.rendering import (
    choose_words,
    fill_in,
    flat_words,
    known_languages,
    places_in,
    read_words,
    render_markdown,
    wrap_html,
)
from comparity.collect.store import Store, open_store
from comparity.collect.study import StudyDescription, read_study, study_of
from comparity.errors import FileAccessError, OptionError, StudyError
from tests.collect.page_studies import CHECKS, write_study, write_words
from tests.collect.visitors import Visitor

# What Markdown itself can lay out, and no more.
HARMLESS = {"p", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "br", "hr"}
HARMLESS |= {"table", "thead", "tbody", "tr", "th", "td"}
HOSTILE = (
    "<script>alert(1)</script>",
    "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
    "<style>body{display:none}</style>",
    '<img src=x onerror="alert(1)">',
    "![x](https://example.org/seen.png)",
    '![x" onerror="alert(1)](y)',
    "[x](javascript:alert(1))",
    "[x](https://example.org)",
    "<https://example.org>",
    '[a]: https://example.org "title"\n\n[a]',
    "```html onload=x\n</code><script>\n```",
    "<!-- -->",
    "</article></main>",
    "&lt;script&gt;&#0;&#x110000;",
    "\u202eright to left",
    "\x00\x1b[31m",
    "| a | b |\n|:-:|---|\n| <b> | `x` |\n",
)


class Elements(HTMLParser):
    """The elements, attributes and addresses of a piece of HTML, read by Python's own parser."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= set(attrs)


def acts(source: str) -> set[object]:
    """Return what a piece of HTML has beyond layout."""
    found = Elements(source)
    layout = {("class", "heading"), ("style", "text-align:center"), ("start", "2")}
    classes = {one for one in found.attributes if one[0] == "class" and "language-" in str(one[1])}
    aligned = {one for one in found.attributes if str(one[1]).startswith("text-align:")}
    starts = {one for one in found.attributes if one[0] == "start" and str(one[1]).isdigit()}
    return {*(found.names - HARMLESS), *(found.attributes - layout - classes - aligned - starts)}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_item_is_only_text(text: str) -> None:
    assert acts(render_markdown(text)) == set()
    assert acts(render_markdown(f"> - {text}")) == set()


@given(
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=12), max_size=6), st.sampled_from("\n ")
)
def test_no_mixture_of_hostile_pieces_becomes_more_than_text(parts: list[str], glue: str) -> None:
    assert acts(render_markdown(glue.join(parts))) == set()


def test_a_checker_that_saw_nothing_would_be_noticed() -> None:
    assert acts('<p onclick="x"><a href="y"><img src="z">') >= {"a", "img", ("onclick", "x")}


def test_text_of_an_item_is_kept_word_by_word() -> None:
    assert "&lt;script&gt;" in render_markdown("<script>")
    assert "a picture" in render_markdown("![a picture](x.png)")
    assert "https" not in render_markdown("see [this](https://example.org)")


def test_texts_of_a_study_may_have_links_which_open_apart_and_run_nothing() -> None:
    shown = render_markdown("[write](mailto:a@example.org) [x](javascript:alert(1))", links=True)
    assert 'href="mailto:a@example.org" target="_blank" rel="noopener noreferrer"' in shown
    assert Elements(shown).names == {"p", "a"}
    assert not [value for name, value in Elements(shown).attributes if "javascript" in str(value)]


def test_a_quote_in_an_address_does_not_end_its_attribute() -> None:
    shown = render_markdown('[x](<https://example.org/"onclick=alert(1)//>)', links=True)
    assert {name for name, _ in Elements(shown).attributes} == {"href", "target", "rel"}


def test_a_snippet_is_a_document_whose_style_comes_first() -> None:
    document = wrap_html("<b>x</b>", title="An <item>", language="zh")
    assert document.startswith('<!doctype html><html lang="zh">')
    assert "<title>An &lt;item&gt;</title>" in document
    assert document.endswith("</style><b>x</b>")


TEMPLATES = files("comparity.collect") / "templates"
# The same in English and another language, and rightly so.
SHARED = {"direction"}
HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("language", known_languages())
def test_every_language_has_the_words_of_english_with_the_same_places(language: str) -> None:
    words, english = dict(flat_words(read_words(language))), dict(flat_words(read_words("en")))
    found = {name: places_in(text) for name, text in words.items()}
    assert found == {name: places_in(text) for name, text in english.items()}
    assert all(text.strip() for text in words.values())


@pytest.mark.parametrize("language", sorted({*known_languages()} - {"en"}))
def test_nothing_is_left_in_english(language: str) -> None:
    words, english = dict(flat_words(read_words(language))), dict(flat_words(read_words("en")))
    assert {name for name, text in words.items() if text == english[name]} <= SHARED
    if language == "zh":
        without = {name for name, text in words.items() if not HAN.search(text)}
        assert without == {"language", "direction", "frame.progress"}


def test_filling_in_does_not_read_what_is_filled_in() -> None:
    assert fill_in("{n}", n="{n.__class__}") == "{n.__class__}"


def test_no_word_has_the_name_of_a_method_which_a_template_would_show_instead() -> None:
    sections = [one for one in read_words("en").values() if isinstance(one, dict)]
    assert sections
    assert not [name for one in sections for name in one if hasattr(dict, name)]


class Said(HTMLParser):
    """What a template says by itself: text, and attributes that are read to people."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        # What the words or the study fill in, and what the template computes.
        source = re.sub(r"\{% block kind %\}\w+", "", source)
        self.feed(re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", source, flags=re.DOTALL))

    def handle_data(self, data: str) -> None:
        self.words += re.findall(r"[^\W\d_]{2,}", data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        read = {"alt", "title", "placeholder", "aria-label", "aria-description"}
        self.words += [value for name, value in attrs if name in read and value]


def test_templates_and_scripts_have_no_words_of_their_own() -> None:
    said = {one.name: Said(one.read_text(encoding="utf-8")).words for one in TEMPLATES.iterdir()}
    assert {name: words for name, words in said.items() if words} == {}
    assert Said('<p title="Go">{{ x }} on</p>').words == ["Go", "on"]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Any]:
    opened: list[Store] = []

    def make(language: str) -> Store:
        path = write_study(
            tmp_path / "study.db", language=language, checks=CHECKS, practices=1, open_link=True
        )
        opened.append(open_store(path))
        return opened[-1]

    yield make
    for store in opened:
        store.__exit__(None, None, None)


def walk(store: Store) -> dict[str, Visitor]:
    """Return what a judge sees, page by page; each is a visitor who stays there."""
    pages = {}
    app: Any = create_app(store, clock=lambda: 0.0)

    def keep(name: str, visitor: Visitor) -> None:
        pages[name] = Visitor(visitor.client)
        pages[name].response = visitor.response

    visitor = Visitor(TestClient(app, base_url="http://study.example"))
    visitor.open("/join")
    keep("welcome", visitor)
    visitor.press("/join")
    keep("consent", visitor)
    visitor.press("/consent")
    keep("comprehension", visitor)
    visitor.press("/comprehension", **{"check-0": "0"})
    keep("practice", visitor)
    visitor.press("/judgment", outcome="left")
    keep("feedback", visitor)
    visitor.open("/")
    keep("judging", visitor)
    visitor.open("/nowhere")
    keep("error", visitor)
    return pages


@pytest.mark.parametrize("language", known_languages())
def test_a_judge_reads_one_language_from_the_first_page_on(stores: Any, language: str) -> None:
    pages, words = walk(stores(language)), read_words(language)
    begins = f'<html lang="{language}" dir="ltr">'
    assert all(begins in one.response.text for one in pages.values())
    for name in ("consent", "comprehension", "feedback"):
        assert pages[name].page.heading == words[name]["heading"]
    assert pages["error"].page.heading == words["errors"]["heading"]
    assert words["judging"]["instructions"] in pages["judging"].page.text


def test_words_of_ones_own_are_kept_with_the_study_and_run_from_right_to_left(
    stores: Any, tmp_path: Path
) -> None:
    file = write_words(tmp_path / "own.toml")
    store = stores(str(file))
    file.unlink()
    pages = walk(store)
    assert all('<html lang="he" dir="rtl">' in one.response.text for one in pages.values())
    assert not re.search(r"[A-Za-z]{2,}", pages["consent"].page.heading)
    # Left is on the left in every language.
    assert '<div class="items" dir="ltr">' in pages["judging"].response.text


def test_words_that_a_later_version_asks_for_are_english(tmp_path: Path) -> None:
    from comparity.collect.rendering import words_of

    file = write_words(tmp_path / "own.toml")
    study = study_of(CollectOptions(question="?", show="a", goal="rank", language=str(file)))
    del study.words["judging"]["undo"]  # type: ignore[attr-defined]
    kept = StudyDescription.from_json(study.to_json())
    assert words_of(kept)["judging"]["undo"] == "Undo"
    assert words_of(kept)["judging"]["skip"] == study.words["judging"]["skip"]


def test_a_file_of_words_is_looked_for_beside_the_study(tmp_path: Path) -> None:
    write_words(tmp_path / "own.toml")
    text = 'question = "?"\nshow = ["a"]\ngoal = "rank"\nlanguage = "own.toml"\n'
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    study, _ = read_study(tmp_path / "study.toml")
    assert study.words["direction"] == "rtl"


def test_a_language_without_words_is_refused_by_name() -> None:
    with pytest.raises(OptionError, match=r"xx(.|\n)*'de' or 'en' or 'es' or 'zh'"):
        choose_words("xx", Path())


FAULTS = {
    'undo = "': ('undone = "', "no such word(.|\n)*judging.undone"),
    "[rest]": ("[pause]", "no such word(.|\n)*pause.heading"),
    'direction = "rtl"': ('direction = "down"', "ltr or rtl(.|\n)*down"),
    "{left}": ("{left.__class__}", "comprehension.again can fill in {left}"),
    "{done}": ("{done", "braces of frame.progress"),
    'language = "he"': ("language = 3", "language must be text"),
    "[frame]": ("[frame", "cannot be read"),
}


@pytest.mark.parametrize("part", FAULTS)
def test_a_file_of_words_that_would_break_a_page_is_refused(tmp_path: Path, part: str) -> None:
    file = write_words(tmp_path / "own.toml")
    instead, told = FAULTS[part]
    text = file.read_text(encoding="utf-8")
    assert part in text
    file.write_text(text.replace(part, instead, 1), encoding="utf-8")
    with pytest.raises(StudyError, match=told):
        choose_words("own.toml", tmp_path)


def test_missing_words_and_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('language = "he"\n', encoding="utf-8")
    with pytest.raises(StudyError, match=r"words are missing(.|\n)*direction, name"):
        choose_words("own.toml", tmp_path)
    with pytest.raises(FileAccessError, match=r"none\.toml"):
        choose_words("none.toml", tmp_path)
