"""Several bridges as one family: each as if alone, corrected by statsmodels, read from files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from comparity import biased_bridge
from comparity.errors import ComparityError
from comparity.relative.bridge_families import BridgeFamily, bridge_frames
from comparity.results.result import VIOLATED
from tests.reference.corrections import multipletests

RNG = np.random.default_rng(2)


def year(n: int, lean: float) -> pd.DataFrame:
    """Draw subjects of three groups, decided about by one who leans toward b, and one who not."""
    race, grade = RNG.choice(["a", "b", "c"], n), RNG.normal(size=n)
    said = {
        name: (grade + one * (race == "b") + RNG.normal(0, 0.6, n)).round(2)
        for name, one in (("ann", lean), ("bob", 0.0), ("cy", 0.0))
    }
    return pd.DataFrame({"race": race, "grade": grade, **said})


OLD, NEW = year(500, 0.8), year(450, 0.8)


def family(**choices: Any) -> BridgeFamily:
    known = {"makers": [("ann", "bob")], "sensitive": "race", "features": ["grade"]}
    return bridge_frames(OLD, NEW, **known | choices)


def test_every_two_groups_have_the_numbers_of_their_own_bridge() -> None:
    found = family()
    assert [(one.group, one.reference) for one in found.contrasts] == [
        ("b", "a"),
        ("c", "a"),
        ("c", "b"),
    ]
    for one in found.contrasts:
        sides = [frame[frame["race"].isin([one.group, one.reference])] for frame in (OLD, NEW)]
        alone = biased_bridge(
            sides[0]["ann"],
            sides[1]["bob"],
            sensitive_features=[side["race"] for side in sides],
            features=[side[["grade"]] for side in sides],
            reference=one.reference,
        )
        assert (one.dpd, one.p_value) == pytest.approx((alone.dpd, alone.p_value))


def test_all_bridges_are_one_family() -> None:
    found = family(makers=[("ann", "bob"), ("ann", "cy"), ("bob", "cy")])
    assert len(found.tests) == 9
    rejected, adjusted, *_ = multipletests([one.p_value for one in found.tests], method="holm")
    assert [one.p_adjusted for one in found.tests] == pytest.approx(list(adjusted))
    assert [one.differs_from_zero for one in found.tests] == list(rejected)
    violated = {
        (one.first, one.second, one.group, one.reference)
        for one in found.contrasts
        if one.finding == VIOLATED
    }
    assert violated == {
        ("ann", other, *groups) for other in ("bob", "cy") for groups in (("b", "a"), ("c", "b"))
    }


def test_labels_are_decisions_of_their_own() -> None:
    words = [
        frame.assign(
            ann=np.array(["no", "maybe", "yes"])[np.digitize(frame["ann"], [-0.5, 0.7])],
            bob=np.array(["no", "maybe", "yes"])[np.digitize(frame["bob"], [-0.5, 0.7])],
        )
        for frame in (OLD, NEW)
    ]
    choices = {"makers": [("ann", "bob")], "sensitive": "race", "features": ["grade"]}
    found = bridge_frames(*words, labels=True, **choices)
    assert len(found.tests) == 9
    assert {one.label for one in found.contrasts} == {"maybe", "no", "yes"}
    (one,) = [
        one for one in found.contrasts if (one.label, one.group, one.reference) == ("yes", "b", "a")
    ]
    sides = [frame[frame["race"] != "c"] for frame in words]
    alone = biased_bridge(
        sides[0]["ann"] == "yes",
        sides[1]["bob"] == "yes",
        sensitive_features=[side["race"] for side in sides],
        features=[side[["grade"]] for side in sides],
        reference="a",
    )
    assert one.dpd == pytest.approx(alone.dpd)
    assert one.test.null.startswith("[yes]")


def test_a_family_prints_and_is_read_back() -> None:
    found = family()
    assert "Differential parity: violated" in str(found)
    assert "joined by the biased bridge" in " ".join(str(found).split())
    again = BridgeFamily.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict()


def test_one_group_and_gaps_are_refused() -> None:
    with pytest.raises(ComparityError, match="race"):
        bridge_frames(
            OLD.assign(race="a"),
            NEW.assign(race="a"),
            makers=[("ann", "bob")],
            sensitive="race",
            features=["grade"],
        )
    with pytest.raises(ComparityError, match="race"):
        bridge_frames(
            OLD.assign(race=None),
            NEW,
            makers=[("ann", "bob")],
            sensitive="race",
            features=["grade"],
        )
