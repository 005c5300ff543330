import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from comparity.planning.plan import plan_separation
from comparity.reports.page import fragment, page
from comparity.results.audit import Audit

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Notes tags, attributes and text, and that every tag is closed in turn."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def test_the_page_is_well_formed_and_says_the_finding_in_its_first_heading(audit: Audit) -> None:
    reader = Reader(page(audit))
    assert reader.open == []
    texts = [text for text in reader.texts[reader.texts.index("") :] if text]
    body = next(text for text in texts if not text.startswith((":root", ".")))
    assert body == f"Comparative separation: {audit.finding}"
    assert [tag for tag, _ in reader.tags].count("h1") == 1


def test_names_written_from_right_to_left_turn_nothing_but_themselves(audit: Audit) -> None:
    first, second = "\u05de\u05d7\u05dc\u05e7\u05ea \u05d0", "\u0642\u0633\u0645"
    named = replace(audit.tests[0], null=f"agree({first} > {second}) = agree({second} > {first})")
    source = page(replace(audit, tests=(named, *audit.tests[1:])))
    first, second = (f"<bdi>{name}</bdi>" for name in (first, second))
    # In the sentence, the picture, the table, and the line on what would change the verdict.
    shown = f"agree({first} &gt; {second}) = agree({second} &gt; {first})"
    assert source.count(shown) == 4
    assert Reader(source).open == []


def test_the_caption_says_which_finding_each_shape_of_the_picture_is(
    audit: Audit, harmless_audit: Audit
) -> None:
    # Two tests of conftest, the first found and the second open; then two that are harmless.
    caption = page(audit).partition("<figcaption>")[2].partition("</figcaption>")[0]
    assert "squares are violated, diamonds undecided" in caption
    assert page(audit).count("<rect x=") == 1
    caption = page(harmless_audit).partition("<figcaption>")[2].partition("</figcaption>")[0]
    assert "circles are within the margin" in caption


def test_the_page_loads_nothing_and_runs_nothing(audit: Audit) -> None:
    source = page(audit)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link|<img", source)


def test_the_page_can_be_read_without_seeing_it(audit: Audit) -> None:
    reader = Reader(page(audit))
    assert ("html", {"lang": "en"}) in reader.tags
    tables = [tag for tag, _ in reader.tags if tag == "table"]
    assert [tag for tag, _ in reader.tags].count("caption") == len(tables) > 0
    assert all("scope" in attributes for tag, attributes in reader.tags if tag == "th")
    pictures = [attributes for _, attributes in reader.tags if attributes.get("role") == "img"]
    assert len(pictures) == 1
    assert all(attributes["aria-label"] for attributes in pictures)
    # What is drawn is told by the label, so that nothing inside is read out.
    outer = [found for tag, found in reader.tags if tag == "svg" and "y" not in found]
    assert {found["aria-hidden"] for found in outer} == {"true"}


def test_names_from_data_are_text_and_nothing_else(
    audit_with_groups: Callable[[str, str], Audit],
) -> None:
    source = page(audit_with_groups("<script>alert(1)</script>", '"&\x1b\x00\ud800'))
    assert "<script" not in source
    assert "&lt;script&gt;" in source
    assert not {"\x1b", "\x00"} & set(source)
    source.encode("utf-8")


def strips(source: str) -> list[ElementTree.Element]:
    """Return the rows of the first picture, without its axis."""
    found = re.findall(r'<svg aria-hidden="true">.*?</svg></div>', source, re.DOTALL)
    return [ElementTree.fromstring(one.removesuffix("</div>")) for one in found[:-1]]


def percent(length: str | None) -> float:
    assert length is not None
    assert length.endswith("%")
    return float(length[:-1])


def test_the_picture_is_valid_xml_with_one_row_for_each_gap(audit: Audit) -> None:
    rows = strips(page(audit))
    assert [len(row.findall(".//g")) for row in rows] == [1] * len(audit.tests)


def test_gaps_are_placed_in_proportion(audit: Audit) -> None:
    for row, test in zip(strips(page(audit)), audit.tests, strict=True):
        band, line = row.find("rect[@class='band']"), row.find(".//g/line")
        margin = percent(band.get("width")) / 2
        zero = percent(band.get("x")) + margin
        low, high, _ = test.interval(test.level)
        placed = [(percent(line.get(end)) - zero) / margin * audit.margin for end in ("x1", "x2")]
        assert placed == pytest.approx([low, high], abs=1e-3)


def test_an_untestable_hypothesis_has_a_row_without_a_mark(audit: Audit) -> None:
    untested = replace(audit.tests[0], pivot=None, gap=float("nan"), p_adjusted=float("nan"))
    source = page(replace(audit, tests=(untested,)))
    assert "no estimate" in source
    assert "nan" not in source


def test_several_results_share_a_page_under_one_title(audit: Audit, open_audit: Audit) -> None:
    plan = plan_separation(
        tpr=[0.8, 0.8], fpr=[0.4, 0.3], shares=[0.5, 0.5], base_rates=[0.5, 0.5], power=0.8
    )
    named = {"first": audit, "second <b>": open_audit, "plan": plan}
    reader = Reader(page(named, title="Both <models>"))
    tags = [tag for tag, _ in reader.tags]
    assert (tags.count("h1"), tags.count("section"), tags.count("figure")) == (1, 3, 3)
    assert {"Both <models>", "second <b>"} <= set(reader.texts)


def test_a_notebook_gets_a_fragment_and_not_a_page(audit: Audit) -> None:
    reader = Reader(fragment(audit))
    assert reader.open == []
    assert not {"html", "body", "h1"} & {tag for tag, _ in reader.tags}
    assert audit._repr_html_() == fragment(audit)


def test_a_page_ends_with_what_it_rests_on(audit: Audit) -> None:
    source = page(audit)
    assert source.index("What was assumed") < source.index("What would change the verdict")
    _, _, computed = source.partition("How it was computed")
    assert "Xi, Capak, Stockwell, Yu" in computed
    assert "score test" in computed
    assert "&#34;version&#34;: &#34;0.1.0&#34;" in computed
    assert "<details>" not in page(replace(audit, provenance={}))


@pytest.mark.parametrize(
    ("group", "narrow"), [("f", True), ("a group with a name that is long", False)]
)
def test_many_rows_are_narrow_only_where_their_names_are_short(
    audit_with_groups: Callable[[str, str], Audit], group: str, narrow: bool
) -> None:
    audit = audit_with_groups(group, "m")
    tests = tuple(replace(test, null=group) for test in audit.tests * 10)
    source = page(replace(audit, tests=tests))
    assert ('class="plot dense"' in source) is narrow
