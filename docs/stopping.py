"""Draw the picture of docs/sequential.md: one study, and what each way of looking says of it.

``python docs/stopping.py`` writes ``docs/pictures/stopping.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.inference.anytime import read_anytime
from comparity.inference.dyadic import compare_cells

mpl.use("Agg")

IMAGE = Path(__file__).parent / "pictures" / "stopping.png"
RATES = (0.74, 0.66)
A, B = Cell("a", "b"), Cell("b", "a")


def main() -> None:
    """Simulate a study with a gap of 0.08, and draw its interval at every look."""
    from matplotlib import pyplot

    rng = np.random.default_rng(12)
    hits = [np.cumsum(rng.random(2500) < rate) for rate in RATES]
    places, looks = np.arange(40, 2500, 20), []
    for n in places.tolist():
        tallies = {cell: Tally(int(one[n - 1]), n) for cell, one in zip((A, B), hits, strict=True)}
        test = compare_cells(PairCounts(tallies).sharing_moments(), A, B, null="")
        now = read_anytime(test, margin=0.05, alpha=0.05)
        looks.append((test.gap, *test.interval(0.95)[:2], *now.interval(0.95)[:2]))
    gap, low, high, any_low, any_high = np.array(looks).T
    figure, axes = pyplot.subplots(figsize=(7.2, 3.6), dpi=90)
    axes.fill_between(2 * places, any_low, any_high, color="#9ecae1", label="at any moment")
    axes.fill_between(2 * places, low, high, color="#4292c6", label="of a single look")
    axes.plot(2 * places, gap, color="black", label="gap")
    axes.axhline(0, color="grey", linewidth=1)
    axes.axhline(RATES[0] - RATES[1], color="black", linestyle=":", linewidth=1, label="truth")
    axes.set(xlabel="judgments", ylabel="gap", ylim=(-0.3, 0.4))
    axes.legend(ncols=2, frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(IMAGE)


if __name__ == "__main__":
    main()
