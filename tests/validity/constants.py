"""``python -m tests.validity.constants``: what constants do at half and at twice their value.

The same runs of the same random worlds are repeated with a constant halved, as it is, and doubled.
Printed are how often audits err over all worlds, and in the worst of them. The table of constants
in ``docs/designs.md`` tells what came out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from tests.validity.questions import world_of
from tests.validity.worlds import generator

STREAM = 4
MEASURED = {
    "inference.dyadic.AMPLE": ("comparative", "comparative, at the margin"),
    "inference.dyadic.FEWEST_ITEMS": ("comparative",),
    "inference.evaluators.FEWEST_FLIPPED": ("comparative, evaluators",),
    "inference.means.RARE": ("relative",),
    "inference.permuted_means.TOLERATED": ("relative", "relative, at the margin"),
    "counts.overlap.LARGEST_IMBALANCE": ("pairwise, standardised",),
    "counts.overlap.FEWEST_EFFECTIVE_ITEMS": ("pairwise, standardised",),
    "counts.overlap.MOST_LEVELS": ("pairwise, standardised",),
    "metrics.cards.PROMISED": ("metrics",),
    "inference.metric_intervals.CLEAR": ("metrics",),
    "inference.metric_intervals.SMOOTHING": ("metrics",),
}


@contextmanager
def changed(constant: str, factor: float) -> Iterator[float]:
    """Let a constant be another one, in its module and wherever it was imported."""
    home, _, name = f"comparity.{constant}".rpartition(".")
    value = getattr(import_module(home), name)
    other = type(value)(value * factor)
    holders = [
        module
        for key, module in list(sys.modules.items())
        if key.startswith("comparity.") and vars(module).get(name) is value
    ]
    for module in holders:
        setattr(module, name, other)
    try:
        yield other
    finally:
        for module in holders:
            setattr(module, name, value)


def measure(question: str, worlds: int, runs: int) -> tuple[float, float]:
    """Return the rate of errors over all worlds, and that of the worst."""
    rates = [
        sum(
            world_of(question, number).errs(generator(question, number, STREAM, run))
            for run in range(runs)
        )
        / runs
        for number in range(worlds)
    ]
    return sum(rates) / worlds, max(rates)


def main() -> None:
    """Print one line for each constant, question and value."""
    parser = argparse.ArgumentParser(prog="python -m tests.validity.constants")
    parser.add_argument("constants", nargs="*", help=", ".join(MEASURED))
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=50)
    asked = parser.parse_args()
    known: dict[str, tuple[float, float]] = {}
    for constant in asked.constants or MEASURED:
        for question in MEASURED[constant]:
            if question not in known:
                # What an audit imports is then there to be changed, too.
                known[question] = measure(question, asked.worlds, asked.runs)
                _tell("unchanged", question, *known[question])
            for factor in (0.5, 2):
                with changed(constant, factor) as value:
                    found = measure(question, asked.worlds, asked.runs)
                _tell(f"{constant} = {value:g}", question, *found)


def _tell(what: str, question: str, mean: float, worst: float) -> None:
    print(f"{question}: {what}: {mean:.4f}, worst world {worst:.3f}", flush=True)


if __name__ == "__main__":
    main()
