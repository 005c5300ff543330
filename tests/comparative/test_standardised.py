"""Standardised agreement with judges: what it takes away, what it keeps, when it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity import comparative_separation, pairwise_accuracy
from comparity.comparative.audit import audit_files, audit_frames
from comparity.errors import (
    ComparityError,
    ConstantLabelError,
    DesignUnknownError,
    MissingColumnError,
    NotNumericError,
    OptionError,
)
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from tests.calibration import worlds


class Panel:
    """Labels of spread 1 and 0.5, scores label + noise, judges who order by the label."""

    def __init__(
        self, n_items: int, n_pairs: int, *, bias: float = 0.0, levels: int = 0, seed: int = 0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.group = rng.choice(["narrow", "wide"], n_items)
        self.label = rng.normal(size=n_items) * np.where(self.group == "wide", 1.0, 0.5)
        if levels:
            self.label = np.clip(np.round(1.5 * self.label), -levels // 2, levels // 2)
        self.score = self.label + rng.normal(size=n_items) + bias * (self.group == "wide")
        first, second = worlds.random_pairs(n_items, n_pairs, rng)
        apart = self.label[first] != self.label[second]
        first, second = first[apart], second[apart]
        swap = self.label[first] < self.label[second]
        self.pairs = np.column_stack([np.where(swap, second, first), np.where(swap, first, second)])
        self.judge = rng.integers(0, 20, len(self.pairs))

    def audit(self, **choices: Any) -> Audit:
        known = {"scores": self.score, "sensitive_features": self.group, "reference": self.label}
        return comparative_separation(self.pairs, **(known | choices))


def test_separation_with_unequal_laws_breaks_raw_agreement_only() -> None:
    audit = Panel(12_000, 60_000).audit()
    assert audit.raw is not None
    assert (audit.raw.finding, audit.finding) == (VIOLATED, WITHIN)
    assert audit.notion == "comparative separation (standardised)"
    assert audit.raw.notion == "comparative separation (raw)"
    # 1/2 + arctan(s) / pi within groups of spread s, and 0.67 everywhere at the overlap.
    raw = {rate.of: rate.rate for rate in audit.raw.rates}
    assert raw["wide > wide"] == pytest.approx(0.75, abs=0.02)
    assert raw["narrow > narrow"] == pytest.approx(0.648, abs=0.02)
    assert [rate.rate for rate in audit.rates] == pytest.approx([0.67] * 4, abs=0.02)


def test_every_pair_of_labels_judged_once_is_standardised_like_all_pairs() -> None:
    panel = Panel(150, 10, levels=6)
    first, second = np.triu_indices(150, 1)
    apart = panel.label[first] != panel.label[second]
    first, second = first[apart], second[apart]
    swap = panel.label[first] < panel.label[second]
    panel.pairs = np.column_stack([np.where(swap, second, first), np.where(swap, first, second)])
    # The labels' own law is that of items; that of uses depends on how many labels differ.
    theirs = pairwise_accuracy(panel.label, panel.score, sensitive_features=panel.group)
    ours = panel.audit(design="shared")
    assert [rate.rate for rate in ours.raw.rates] == pytest.approx(
        [rate.rate for rate in theirs.raw.rates]
    )
    assert [rate.rate for rate in ours.rates] == pytest.approx(
        [rate.rate for rate in theirs.standardised.rates], abs=0.02
    )


def test_a_biased_model_is_found_out_all_the_same() -> None:
    audit = Panel(2000, 12_000, bias=0.5).audit()
    assert audit.finding == VIOLATED
    assert audit.tests[0].finding == VIOLATED
    assert audit.tests[0].gap < 0


def test_judgments_are_reported_not_their_weights() -> None:
    panel = Panel(400, 1600)
    audit, plain = panel.audit(), panel.audit(reference=None)
    assert plain.raw is None
    assert [test.n for test in audit.tests] == [test.n for test in plain.tests]
    assert [rate.trials for rate in audit.rates] == [rate.trials for rate in plain.rates]
    assert (audit.n, audit.n_items, audit.design) == (plain.n, plain.n_items, plain.design)
    assert audit.raw.tests == plain.tests


def test_effective_sizes_and_imbalance_say_how_well_weighting_worked() -> None:
    audit = Panel(2000, 8000).audit()
    assert audit.effective_sizes.keys() == {"narrow", "wide"}
    assert all(30 < size < 1200 for size in audit.effective_sizes.values())
    assert 0 < audit.imbalance < 0.1
    ordinal = Panel(2000, 8000, levels=6).audit()
    assert ordinal.imbalance == pytest.approx(0, abs=1e-12)


def test_laws_that_do_not_overlap_leave_the_question_open() -> None:
    panel = Panel(600, 3000)
    panel.label = panel.label + 9 * (panel.group == "wide")
    audit = panel.audit()
    assert audit.finding == UNDECIDED
    assert all("effective items" in test.reason for test in audit.tests)
    assert audit.raw.tests[0].reason == ""


def test_judges_who_lean_leave_the_across_question_open() -> None:
    panel = Panel(4000, 20_000)
    with_finding = panel.label + 0.8 * (panel.group == "wide")
    first, second = panel.pairs.T
    swap = with_finding[first] < with_finding[second]
    panel.pairs = np.where(swap, [second, first], [first, second]).T
    across, within, _ = panel.audit().tests
    assert "not judged, alike" in across.reason
    assert not within.reason


def test_a_reference_of_two_values_leaves_raw_agreement_to_decide() -> None:
    panel = Panel(400, 1600)
    audit = panel.audit(reference=panel.label > 0)
    assert audit.raw is None
    assert audit.notion == "comparative separation (raw)"
    assert "raw agreement decides" in audit.notes[-1]
    assert [t.p_value for t in audit.tests] == [
        t.p_value for t in panel.audit(reference=None, quality="binary").tests
    ]


def test_evaluators_and_several_attributes_are_taken_along() -> None:
    panel = Panel(600, 4000)
    other = np.where(np.arange(600) % 2, "x", "y")
    audit = panel.audit(
        sensitive_features={"spread": panel.group, "seat": other}, evaluators=panel.judge
    )
    assert audit.design == "shared items and evaluators"
    assert [test.null.partition(":")[0] for test in audit.tests] == [
        *["spread"] * 3,
        *["seat"] * 3,
    ]
    assert {"spread=wide", "seat=x"} < audit.effective_sizes.keys()


def test_fresh_pairs_can_be_standardised() -> None:
    panel = Panel(4000, 10)
    pairs = np.arange(4000).reshape(-1, 2)
    swap = panel.label[pairs[:, 0]] < panel.label[pairs[:, 1]]
    panel.pairs = np.where(swap[:, None], pairs[:, ::-1], pairs)
    audit = panel.audit()
    assert audit.design == "fresh"
    assert audit.raw.tests == panel.audit(reference=None).tests
    assert panel.audit(design="fresh").raw.tests == audit.raw.tests


@pytest.mark.parametrize(
    "choice",
    [{"continuous": True}, {"method": "disjoint"}, {"rule": "paper"}],
    ids=["continuous", "disjoint", "paper"],
)
def test_what_takes_no_weights_is_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(choice))):
        Panel(60, 100).audit(**choice)


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        (np.zeros(60), ConstantLabelError),
        (np.full(60, "good"), NotNumericError),
        (np.full(60, np.nan), ComparityError),
        (np.arange(59), ComparityError),
    ],
    ids=["constant", "words", "missing", "too short"],
)
def test_references_that_say_nothing_are_refused(reference: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="reference"):
        Panel(60, 100).audit(reference=reference)


def tables(panel: Panel) -> tuple[dict[str, Any], dict[str, Any]]:
    names = [f"i{item:05d}" for item in range(len(panel.label))]
    judged = {
        "better": [names[item] for item in panel.pairs[:, 0]],
        "worse": [names[item] for item in panel.pairs[:, 1]],
    }
    items = {"item": names, "model": panel.score, "spread": panel.group, "mark": panel.label}
    return judged, items


def test_every_engine_gives_the_same_result(frame: Callable[..., Any]) -> None:
    panel = Panel(300, 1200)
    judged, items = tables(panel)
    columns = {"score": "model", "sensitive": ["spread"], "reference": "mark"}
    found = audit_frames(frame(judged), frame(items), **columns)
    expected = panel.audit(sensitive_features={"spread": panel.group})
    assert [t.p_value for t in found.tests] == pytest.approx([t.p_value for t in expected.tests])
    assert found.effective_sizes == pytest.approx(expected.effective_sizes)


def test_rows_that_carry_both_items_give_the_same_result(frame: Callable[..., Any]) -> None:
    panel = Panel(300, 1200)
    judged, items = tables(panel)
    wide = dict(judged)
    for side, column in zip(("better", "worse"), panel.pairs.T, strict=True):
        for name in ("model", "spread", "mark"):
            wide[f"{side}_{name}"] = np.asarray(items[name])[column]
    columns = {"score": "model", "sensitive": ["spread"], "reference": "mark"}
    found = audit_frames(frame(wide), **columns)
    expected = panel.audit(sensitive_features={"spread": panel.group})
    assert [t.p_value for t in found.tests] == pytest.approx([t.p_value for t in expected.tests])
    with pytest.raises(DesignUnknownError):
        audit_frames(frame(wide), better=None, worse=None, design="fresh", **columns)


def test_a_reference_that_is_no_column_is_refused(frame: Callable[..., Any]) -> None:
    judged, items = tables(Panel(60, 100))
    with pytest.raises(MissingColumnError, match="quality"):
        audit_frames(
            frame(judged), frame(items), score="model", sensitive=["spread"], reference="quality"
        )


def test_the_json_of_files_names_them_in_both_audits(tmp_path: Path) -> None:
    panel = Panel(300, 1200)
    judged, items = tables(panel)
    paths = []
    for name, columns in (("judged.csv", judged), ("items.csv", items)):
        rows = "".join(
            ",".join(map(str, row)) + "\n" for row in zip(*columns.values(), strict=True)
        )
        paths.append(tmp_path / name)
        paths[-1].write_text(",".join(columns) + "\n" + rows)
    audit = audit_files(*paths, score="model", sensitive=["spread"], reference="mark")
    content = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert content["provenance"]["options"]["reference"] == "mark"
    assert content["raw"]["provenance"]["data"]["files"][1]["name"] == "items.csv"
    assert content["raw"]["raw"] is None


def test_a_note_says_when_score_ties_would_change_the_standardised_finding() -> None:
    """Coarse scores of one group: as misses their ties are a gap, as half hits they are none."""
    panel = Panel(4000, 30_000, levels=6)
    panel.score = np.where(panel.group == "wide", np.round(panel.score / 0.8) * 0.8, panel.score)
    for score_ties, finding in (("disagree", VIOLATED), ("half", WITHIN)):
        audit = panel.audit(score_ties=score_ties, margin=0.08, hypotheses="within")
        assert (audit.finding, audit.ties.change_finding) == (finding, True)
        assert any("would change the finding" in note for note in audit.notes)
    alike = panel.audit(margin=0.5, hypotheses="within")
    assert alike.ties.scores
    assert not alike.ties.change_finding
