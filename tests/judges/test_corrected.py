"""Win rates corrected by people, against pairs counted by hand and a twin in plain loops."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from comparity import audit_judges
from comparity.inference.prediction_powered import powered_mean

Row = dict[str, Any]


def votes(rng: np.random.Generator, prompts: int, by_people: int) -> list[Row]:
    """Return battles of three models: a judge on all prompts, two people on the first ones."""
    strength = {"a": 1.0, "b": 0.0, "c": -0.7}
    rows = []
    for prompt in range(prompts):
        for one, two in (("a", "b"), ("b", "c"), ("c", "a")):
            lead = strength[one] - strength[two] + rng.normal()
            said = [("judge", lead + (0.8 if "a" in (one, two) else 0.0))]
            if prompt < by_people:
                said += [("ann", lead), ("bob", lead)]
            for judge, seen in said:
                noisy = seen + rng.logistic()
                winner = "tie" if abs(noisy) < 0.3 else "model_a" if noisy > 0 else "model_b"
                rows.append(
                    {
                        **{"question_id": f"q{prompt}", "model_a": one, "model_b": two},
                        **{"judge": judge, "winner": winner, "turn": 1},
                    }
                )
    return rows


def mean_votes(rows: list[Row], answerer: str, judges: set[str]) -> dict[tuple[str, ...], float]:
    """Return the mean vote for an answerer, by prompt and the two answerers."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        if row["judge"] in judges and answerer in (row["model_a"], row["model_b"]):
            key = (row["question_id"], *sorted((row["model_a"], row["model_b"])))
            won = {"tie": 0.5, "model_a": float(row["model_a"] == answerer)}
            found[key].append(won.get(row["winner"], float(row["model_b"] == answerer)))
    return {key: float(np.mean(values)) for key, values in found.items()}


def test_win_rates_are_those_of_pairs_counted_by_hand() -> None:
    rows = votes(np.random.default_rng(4), prompts=60, by_people=15)
    audit = audit_judges(rows, people=("ann", "bob"))
    assert [(one.judge, one.answerer) for one in audit.corrected] == [
        *(("judge", "a"), ("judge", "b"), ("judge", "c"))
    ]
    for one in audit.corrected:
        people = mean_votes(rows, one.answerer, {"ann", "bob"})
        judge = mean_votes(rows, one.answerer, {"judge"})
        assert (one.wins.n_labels, one.wins.n_units) == (30, 120) == (len(people), len(judge))
        assert_allclose(one.wins.labels_alone, np.mean([*people.values()]))
        assert_allclose(one.wins.predictions_alone, np.mean([*judge.values()]))
        again = powered_mean(
            np.array([people.get(key, np.nan) for key in judge]),
            np.array([*judge.values()]),
            np.array([int(key[0][1:]) for key in judge]),
        )
        assert again is not None
        assert_allclose(one.wins.value, again.value)
        assert_allclose(one.wins.standard_error, again.standard_error)
        # The gap of both, from pairs that both judged, and from all of them.
        assert_allclose(
            one.excess.labels_alone, np.mean([judge[key] - people[key] for key in people])
        )
        assert one.excess.predictions_alone == one.wins.predictions_alone
        assert one.excess.interval.low <= one.excess.value <= one.excess.interval.high
    assert "taken for a random sample" in " ".join(audit.notes)
    assert "people and judge" in str(audit)


def test_the_longer_answer_is_corrected_like_an_answerer() -> None:
    rng = np.random.default_rng(4)
    rows = votes(rng, prompts=60, by_people=15)
    # Some answers are as long as the other: these pairs have no longer one.
    size = {(f"q{prompt}", name): int(rng.integers(1, 6)) for prompt in range(60) for name in "abc"}
    for row in rows:
        for side in "ab":
            text = "x" * size[row["question_id"], row[f"model_{side}"]]
            said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]
            row[f"conversation_{side}"] = said
    audit = audit_judges(rows, people=("ann", "bob"))
    (found,) = (one for one in audit.corrected if one.answerer == "the longer answer")

    def of_longer(judges: set[str]) -> dict[tuple[str, ...], float]:
        kept = {}
        for name in "abc":
            for key, vote in mean_votes(rows, name, judges).items():
                (other,) = {*key[1:]} - {name}
                if size[key[0], name] > size[key[0], other]:
                    kept[key] = vote
        return kept

    people, judge = of_longer({"ann", "bob"}), of_longer({"judge"})
    assert (found.wins.n_labels, found.wins.n_units) == (len(people), len(judge))
    assert_allclose(found.wins.labels_alone, np.mean([*people.values()]))
    assert_allclose(found.wins.predictions_alone, np.mean([*judge.values()]))
    again = powered_mean(
        np.array([people.get(key, np.nan) for key in judge]),
        np.array([*judge.values()]),
        np.array([int(key[0][1:]) for key in judge]),
    )
    assert again is not None
    assert_allclose(found.wins.value, again.value)
    assert "the longer answer" in str(audit)


def test_nothing_is_corrected_without_people_or_where_they_judged_all() -> None:
    alone = [row for row in votes(np.random.default_rng(4), 30, 0) if row["judge"] == "judge"]
    assert audit_judges(alone).corrected == ()
    everywhere = votes(np.random.default_rng(4), 30, 30)
    assert audit_judges(everywhere, people=("ann", "bob")).corrected == ()
    few = votes(np.random.default_rng(4), 30, 9)
    assert audit_judges(few, people=("ann", "bob")).corrected == ()
