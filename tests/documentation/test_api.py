"""Docstrings become Markdown: sections, definitions, formulas, citations and runs."""

from __future__ import annotations

import runpy
from dataclasses import dataclass

import pytest

from tests.documentation.blocks import ROOT

API = runpy.run_path(str(ROOT / "docs" / "api.py"))

DOCSTRING = """Say something of ``x`` as in [1]_.

.. math:: x_1 \\le 2

Parameters
----------
first, second : int
    Two numbers.

    With a second paragraph.
third : str, optional
    A word.

References
----------
.. [1] Somebody,
   "A title".

Examples
--------
>>> 1 + 1
2
"""


def test_a_docstring_keeps_its_parts_in_order() -> None:
    shown = API["markdown"](DOCSTRING)
    parts = [
        "Say something of `x` as in [1].",
        '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">',
        "**Parameters**",
        "`first, second` : int\n:   Two numbers.\n    \n    With a second paragraph.",
        "`third` : str, optional\n:   A word.",
        '[1] Somebody, "A title".',
        "```pycon\n>>> 1 + 1\n2\n```",
    ]
    places = [shown.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


@dataclass(frozen=True)
class Thing:
    """A thing.

    Attributes
    ----------
    size : int
        How large.
    """

    size: int

    @property
    def double(self) -> int:
        """Twice | the size."""
        return 2 * self.size

    def grow(self) -> Thing:
        """Return a larger one."""
        return Thing(self.size + 1)


@pytest.mark.parametrize(
    "row", ["| `double` | Twice \\| the size. |", "| `grow()` | Return a larger one. |"]
)
def test_members_of_our_classes_are_listed(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Thing, "__module__", "comparity.things")
    shown = API["entry"]("Thing", Thing, "comparity.things.Thing")
    assert row in shown
    assert "`size` : int" in shown


def test_long_signatures_have_a_line_for_each_parameter() -> None:
    def called(first, *, pair=(1, 2), text="a, b", other=None, another=None, last=None):  # type: ignore[no-untyped-def]
        """Do nothing."""

    assert API["_signature"](called).splitlines() == [
        "(",
        "    first,",
        "    *,",
        "    pair=(1, 2),",
        "    text='a, b',",
        "    other=None,",
        "    another=None,",
        "    last=None,",
        ")",
    ]


def test_a_formula_stays_in_its_sentence_and_choices_keep_their_braces() -> None:
    shown = API["markdown"](
        "Errors\n:math:`E` of it.\n\n:math:`F` is another.\n\nParameters\n----------\n"
        'kind : {"a", "b"}\n    Of\n    what.\n'
    )
    assert not [line for line in shown.splitlines() if line.startswith("<math")]
    assert shown.startswith("Errors <math")
    assert '`kind` : &#123;"a", "b"}\n:   Of what.' in shown
