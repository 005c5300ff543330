"""Tables and the figure of Majumder et al., "Fair Enough: Searching for Sufficient Measures".

Run as ``comparity reproduce 001 --table 4``. What differs from the paper, and why, is in the README
beside this file.
"""

from __future__ import annotations

from grouping import clusters_of_data, figure_1, rq2
from repeating import other_learners, section_5_1, shuffles
from responding import rq3_readings, table_6, table_7, table_8
from values import other_ranges, rq1, table_1, table_4, table_5

from comparity.cli.reproduce import Parts, as_script

PARTS: Parts = {
    "table 1": table_1,
    "table 4": table_4,
    "table 5": table_5,
    "RQ1": rq1,
    "other ranges": other_ranges,
    "figure 1": figure_1,
    "figure 1 shuffled": shuffles,
    "table 5 clusters": clusters_of_data,
    "RQ2": rq2,
    "table 6": table_6,
    "table 7": table_7,
    "RQ3 readings": rq3_readings,
    "section 5.1": section_5_1,
    "other learners": other_learners,
    "table 8": table_8,
}

if __name__ == "__main__":
    as_script(__file__)
