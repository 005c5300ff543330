"""Figures and Table 1 of Ferrara et al. (2024), "Bias-aware ranking from pairwise comparisons".

Run as ``comparity reproduce 003 --figure 2``. What differs from the paper, and why, is in the
README beside this file.
"""

from __future__ import annotations

from factors import figure_4, figure_5, figure_6, figure_10, figure_11
from leaning import figure_2, figure_3
from real import figure_7, figure_8, figure_9, table_1

from comparity.cli.reproduce import Parts, as_script

PARTS: Parts = {
    "figure 2": figure_2,
    "figure 3": figure_3,
    "figure 4": figure_4,
    "figure 5": figure_5,
    "figure 6": figure_6,
    "figure 7": figure_7,
    "figure 8": figure_8,
    "figure 9": figure_9,
    "figure 10": figure_10,
    "figure 11": figure_11,
    "table 1": table_1,
}

if __name__ == "__main__":
    as_script(__file__)
