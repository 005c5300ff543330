"""The page and the print made from JSON are those the command itself made."""

import html
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.errors import ComparityError, ForeignResultError
from comparity.gate.check import GateResult
from comparity.ranking.rank import RankedPanel
from comparity.reports.page import glossary, page, read_results
from comparity.reports.terminal import as_text
from tests.mutants import change_values
from tests.reports.commands import COMMANDS, Printed, Printer, printer

__all__ = ["printer"]


# Numbers with a decimal point; those without are counts, levels and years.
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*\.\d+(?![\w.])")
# What is not said about the result: looks, axes, ends of a scale of colours, provenance, terms.
UNSAID = re.compile(
    r"<style>.*?</style>|<svg.*?</svg>|<p class=.scale.*?</p>|<details>.*?</details>|<dl>.*?</dl>",
    re.DOTALL,
)


def known_numbers(content: Any) -> list[float]:
    """Return every number of a JSON document, those in its sentences too."""
    if isinstance(content, dict):
        return [one for value in content.values() for one in known_numbers(value)]
    if isinstance(content, list):
        return [one for value in content for one in known_numbers(value)]
    if isinstance(content, str):
        return [float(one.replace(",", "")) for one in NUMBER.findall(content)]
    is_number = isinstance(content, int | float) and not isinstance(content, bool)
    return [float(content)] if is_number else []


def page_again(printed: Printed) -> str:
    """Return the page from the JSON alone, without the names that a report gives."""
    first, *others = read_results([printed.path]).values()
    if isinstance(first, GateResult):
        return page({"": first, **first.parts()}, title=f"Gate {first.policy}")
    if isinstance(first, RankedPanel) and others:
        return page({"": first, "A model against this panel": others[0]})
    return page(first)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"weights"}))
def test_a_page_from_json_is_the_page_of_the_command(printer: Printer, name: str) -> None:
    printed = printer(name)
    assert page_again(printed) == printed.page


def show_mutants(printed: Printed, path: Path, many: int) -> int:
    """Show broken copies of a result; return how many of them were refused."""
    refused, rng = 0, random.Random(0)
    for _ in range(many):
        path.write_bytes(change_values(printed.path.read_text("utf-8"), rng))
        try:
            found = read_results([path])
        except ComparityError:
            refused += 1
        else:
            assert page(found)
            assert all(as_text(result) for result in found.values())
    return refused


@pytest.mark.parametrize("name", COMMANDS)
def test_broken_json_is_shown_or_refused(printer: Printer, tmp_path: Path, name: str) -> None:
    assert show_mutants(printer(name), tmp_path / "m.json", 30) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_ten_thousand_times_broken_json_is_shown_or_refused(
    printer: Printer, tmp_path: Path, name: str
) -> None:
    assert show_mutants(printer(name), tmp_path / "m.json", 10_000 // len(COMMANDS)) > 50


@pytest.mark.parametrize(
    ("name", "place", "wrong"),
    [
        ("plan of pairs", ("reuse_curve", 0, "power"), []),
        ("plan of pairs", ("reuse_curve", 1, "n_items"), 7),
        ("plan of pairs", ("n_pairs",), 10**400),
        ("plan of a panel", ("lean",), 0.9),
        ("plan of a panel", ("leans", 0, "lean"), -1e300),
        ("plan of a panel", ("n_items",), 0),
        ("crowdbt", ("parameters", "reliability"), [0.5]),
        ("crowdbt", ("parameters", "reliability", 0), "x"),
        ("crowdbt", ("provenance", "notes"), True),
        ("barp and model", ("audit", "allowances"), [0.1] * 9),
    ],
)
def test_what_would_break_the_page_is_refused(
    printer: Printer, tmp_path: Path, name: str, place: tuple[Any, ...], wrong: Any
) -> None:
    content = json.loads(printer(name).path.read_text("utf-8"))
    holder = content
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = wrong
    (tmp_path / "m.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ForeignResultError):
        read_results([tmp_path / "m.json"])


@pytest.mark.parametrize("name", COMMANDS)
def test_json_read_back_and_printed_again_is_the_same(printer: Printer, name: str) -> None:
    printed = printer(name)
    first = next(iter(read_results([printed.path]).values()))
    assert json.loads(first.to_json()) == printed.content
    assert printed.terminal.startswith(as_text(first).rstrip("\n"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_on_the_page_is_one_of_the_json(printer: Printer, name: str) -> None:
    printed = printer(name)
    known = np.array(known_numbers(printed.content))
    # Levels are shown in percent, and the opposite of a gap may be shown for the other direction.
    known = np.concatenate([known, 100 * known, -known, -100 * known])
    body = UNSAID.sub("", page_again(printed)).partition("<body>")[2]
    lines = re.sub(r"<[^>]*>|&lt; 0.0001", "\n", body).splitlines()
    shown = [(one, line) for line in lines for one in NUMBER.findall(line)]
    assert len(shown) > 3
    for one, line in shown:
        # A margin that would change the finding is rounded up, everything else to the nearest.
        allowed = 1.0001 if " margin " in line else 0.5001
        unit = 10.0 ** -len(one.partition(".")[2])
        assert np.abs(known - float(one.replace(",", ""))).min() <= allowed * unit, (one, line)


def test_every_term_of_the_glossary_is_on_some_page_and_no_page_lists_them_all(
    printer: Printer,
) -> None:
    found = {name: set(re.findall(r"<dt>(.*?)</dt>", printer(name).page)) for name in COMMANDS}
    assert set().union(*found.values()) == {
        html.escape(term) for term, about in glossary()["terms"].items() if "sign" in about
    }
    assert found["separation"] >= {"TPR(a), FPR(a)", "interval judged"}
    assert not found["separation"] & {"logits", "DPD", "q", "agree(a &gt; b)"}
