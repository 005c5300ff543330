"""One result of every kind, on data with hostile names."""

from typing import Any

import numpy as np
import polars

from comparity import barp, bradley_terry
from comparity.auditing.metrics import fairness_metrics
from comparity.auditing.policies import check
from comparity.gates import GateResult
from comparity.reporting.combined import rebuilt
from comparity.trainings import Outcome, Training
from tests.reporting.test_combined import GROUP, LABEL, PAIRS, RESULTS, SCORE, through_json

__all__ = ["gate", "named", "reports"]

RNG = np.random.default_rng(5)
LONG = "a judge with a name that is " + "very " * 40 + "long"
JUDGES = np.array([f"judge {k} of <all>" for k in range(60)] + [LONG, "\u05e9\u05d5\u05e4\u05d8"])


def reports() -> dict[str, Any]:
    """Return results by the name of their page."""
    found = {name.replace(" ", "_"): make() for name, make in RESULTS.items()}
    judged = JUDGES[RNG.integers(0, len(JUDGES), len(PAIRS))]
    decided = (SCORE > 0.5).astype(int)
    found["chosen_metrics"] = fairness_metrics(
        LABEL,
        decided,
        sensitive_features=GROUP,
        privileged="f",
        kinds=("group",),
        compare=LABEL,
        replicates=200,
    )
    found["ranking"] = barp(PAIRS, evaluators=judged, sensitive_features=GROUP)
    found["bradley_terry"] = bradley_terry(PAIRS)
    found["training"] = _training()
    return found


def named() -> dict[str, Any]:
    """Return everything as it comes back from JSON, under a name that is hostile."""
    return {f"<i>{name}</i>": rebuilt(through_json(one)) for name, one in reports().items()}


def gate() -> GateResult:
    """Return a gate with an audit that fails and one that passes."""
    frame = polars.DataFrame({"sex": GROUP, "hired": LABEL, "model": LABEL, "other": 1 - LABEL})
    base = {"notion": "separation", "file": "d.csv", "label": "hired", "sensitive": "sex"}
    audits = [{**base, "name": f"<b>{one}", "prediction": one} for one in ("model", "other")]
    return check({"audit": audits, "undecided": "allow"}, data={"d.csv": frame})


def _training() -> Training:
    def outcome(accuracy: float, difference: float) -> Outcome:
        terms = {"<f> > m": 0.8, "m > <f>": 0.8 - difference}
        return Outcome(
            accuracy=accuracy, squared_error=None, terms=terms, largest_difference=difference
        )

    return Training(
        goals=("cross-group",),
        form="constrained",
        slack=0.05,
        feasible=False,
        best=outcome(0.86, 0.06),
        mixture=outcome(0.87, 0.055),
        start=outcome(0.92, 0.25),
        probabilities=(0.3, 0.7),
        cell_weights={"m > m": 0.5, "<f> > m": 0.5},
        multipliers={"objective": 0.8, "<f> > m less m > <f>": 0.2},
        rows={"trained on": 3000, "chosen by": 1000},
    )
