"""Tables of Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions".

Run as ``comparity reproduce 002 --table 3``. What differs from the paper, and why, is in the README
beside this file.
"""

from __future__ import annotations

from bridges import law_school, models, simulation, story_points, table_3_bridges
from faces import rq1, table_2, table_3, table_3_printed

from comparity.cli.reproduce import Parts, as_script

PARTS: Parts = {
    "table 2": table_2,
    "table 3": table_3,
    "table 3 printed": table_3_printed,
    "table 3 bridges": table_3_bridges,
    "RQ1": rq1,
    "RQ1 for models": models,
    "simulation": simulation,
    "RQ2 on law school": law_school,
    "RQ2 on story points": story_points,
}

if __name__ == "__main__":
    as_script(__file__)
