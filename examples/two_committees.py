"""Compare last year's committee with this year's, on applicants that both of them rated.

Both committees see merit with noise and round it to grades from 1 to 10. This year's committee adds
something for one group. Is it found, and how many applicants must both rate for that? A second pair
of committees shares one bias, and is in parity.

Run as ``python examples/two_committees.py [REPETITIONS]``.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from comparity import differential_parity
from comparity.results.result import VIOLATED, WITHIN

LEANS = (0.0, 0.3, 0.6)
SIZES = (100, 400, 1600)

Floats = NDArray[np.float64]


def committees(
    n: int, lean: float, rng: np.random.Generator, *, shared_bias: float = 0.0
) -> tuple[Floats, Floats, NDArray[np.str_]]:
    """Return both years' grades and the applicants' group; both years share a bias, if any."""
    group = rng.choice(["local", "foreign"], n, p=[0.7, 0.3])
    merit = rng.normal(6, 1.5, n) + shared_bias * (group == "local")
    this_year = merit + rng.normal(0, 1, n) + lean * (group == "local")
    last_year = merit + rng.normal(0, 1, n)
    return np.clip(np.round(this_year), 1, 10), np.clip(np.round(last_year), 1, 10), group


def shares(n: int, lean: float, repetitions: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return how often a relative bias is found, and how often it is shown to be harmless."""
    findings = []
    for _ in range(repetitions):
        this_year, last_year, group = committees(n, lean, rng)
        result = differential_parity(
            this_year, last_year, sensitive_features=group, reference="foreign", permutations=0
        )
        findings.append(result.finding)
    return findings.count(VIOLATED) / repetitions, findings.count(WITHIN) / repetitions


def main(repetitions: int = 200) -> None:
    """Print one comparison, then how often which finding comes out."""
    rng = np.random.default_rng(2026)
    this_year, last_year, group = committees(800, 0.6, rng)
    names = ("this year's committee", "last year's committee")
    result = differential_parity(
        this_year, last_year, sensitive_features={"origin": group}, reference="foreign", names=names
    )
    print(result)
    print("\nboth committees with the same bias, 1 grade:")
    this_year, last_year, group = committees(4000, 0.0, rng, shared_bias=1.0)
    result = differential_parity(
        this_year, last_year, sensitive_features=group, reference="foreign", permutations=0
    )
    print(f"  {result.finding}, DPD {result.dpd:+.3f}; {result.notes[0]}")
    print(f"\n{'lean':>6} {'applicants':>11} {'found':>7} {'harmless':>9}")
    for lean in LEANS:
        for n in SIZES:
            found, harmless = shares(n, lean, repetitions, rng)
            print(f"{lean:6.1f} {n:11,} {found:7.2f} {harmless:9.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
