"""Table 3, an invented matrix with its means: shares of pairs that give all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from comparity.cli.published import Conclusion, Reproduction, Request
from comparity.cli.reproduce import read_published

Floats = NDArray[np.float64]

PUBLISHED = read_published(Path(__file__).parent)

GROUPS = ("French", "Mexican", "Chinese")
MATRIX = np.array([[0.76, 0.68, 0.56], [0.61, 0.62, 0.55], [0.62, 0.61, 0.56]])
"""Printed accuracies: rows are the group of the better item, columns that of the worse."""
ROUNDED = 0.005


def table_3(request: Request) -> Reproduction:
    """Look for shares of pairs, the least of them as large as can be, that give all means."""
    known = PUBLISHED.numbers["table 3"]
    rows = [float(known["row mean"][group]) for group in GROUPS]
    columns = [float(known["column mean"][group]) for group in GROUPS]
    shares = _find_shares(rows, columns, float(known["all"]["mean"]))
    least = float(shares.min()) if shares is not None else 0.0
    ours = {} if shares is None else _means(shares)
    return PUBLISHED.reproduction(
        "table 3",
        # The program is told the means, so that it cannot but find them where it finds anything.
        PUBLISHED.beside("table 3", ours, tolerance=ROUNDED, stand_ins=ours),
        conclusions=(
            Conclusion(
                f"there are shares of pairs, none below {least:.3f}, that give all printed means",
                shares is not None,
            ),
        ),
    )


def _find_shares(rows: list[float], columns: list[float], overall: float) -> Floats | None:
    """Solve the linear program; nothing where no shares give the means up to rounding."""
    limits: list[Floats] = []
    for place in range(len(GROUPS)):
        own = np.arange(len(GROUPS)) == place
        limits += _around(np.repeat(own[:, None], 3, axis=1), rows[place])
        limits += _around(np.repeat(own[None, :], 3, axis=0), columns[place])
    limits += _around(np.ones_like(MATRIX, dtype=bool), overall)
    # Every share is at least the last variable, which is made as large as can be.
    above = np.hstack([-np.eye(MATRIX.size), np.ones((MATRIX.size, 1))])
    program = np.vstack([np.hstack([limits, np.zeros((len(limits), 1))]), above])
    found = linprog(
        np.r_[np.zeros(MATRIX.size), -1.0],
        A_ub=program,
        b_ub=np.zeros(len(program)),
        A_eq=[np.r_[np.ones(MATRIX.size), 0.0]],
        b_eq=[1.0],
    )
    return found.x[:-1].reshape(MATRIX.shape) if found.success else None


def _around(chosen: NDArray[np.bool_], mean: float) -> list[Floats]:
    """Return two limits: the mean of the chosen cells is at most half a unit off, either way."""
    away = (MATRIX - mean) * chosen
    return [(away - ROUNDED * chosen).ravel(), (-away - ROUNDED * chosen).ravel()]


def _means(shares: Floats) -> dict[str, dict[str, float]]:
    rows, columns = (
        ((shares * MATRIX).sum(axis=axis) / shares.sum(axis=axis)).tolist() for axis in (1, 0)
    )
    return {
        "row mean": dict(zip(GROUPS, rows, strict=True)),
        "column mean": dict(zip(GROUPS, columns, strict=True)),
        "all": {"mean": float((shares * MATRIX).sum())},
    }
