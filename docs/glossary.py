"""Write the table of ``docs/glossary.md``: ``python docs/glossary.py``.

Its terms are those that pages of results explain; the rest of the page is written by hand. A test
fails when the table is not what the package says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from comparity.reports.page import glossary

PAGE = Path(__file__).with_suffix(".md")

START, END = "<!-- terms: docs/glossary.py -->\n", "<!-- end of terms -->"


def page() -> str:
    """Return the whole page, with its table written again."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return before + START + "\n".join(_table()) + "\n" + END + after


def _table() -> Iterator[str]:
    yield "| term | meaning |"
    yield "| --- | --- |"
    terms = glossary()["terms"]
    for term in sorted(terms, key=str.casefold):
        yield f"| **{term}** | {terms[term]['meaning']} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
