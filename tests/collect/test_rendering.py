"""Items of anybody become HTML that holds text and its layout, and nothing that acts."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.collect.rendering import render_markdown, wrap_html

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
