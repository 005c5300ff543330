"""Leans of judges given the quality of the answers."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import kendalltau
from statsmodels.discrete.discrete_model import Logit

from comparity import audit_judges
from comparity.errors import OptionError
from comparity.inference import logistic
from comparity.inference.logistic import logistic_with_clusters
from comparity.judges import leans
from comparity.judges.answerers import LONGER
from comparity.judges.leans import JUDGED_ONCE, NOT_CONVERGED, find_leans
from comparity.judges.wins import SEAT
from comparity.results.result import read_result
from tests.judges.panels import Panel, draw


@pytest.mark.parametrize("large", [5, 60])
def test_errors_by_cluster_are_those_of_leaving_out_clusters(large: int) -> None:
    rng = np.random.default_rng(3)
    sizes = np.r_[large, np.full(39, 5)]
    cluster = np.repeat(np.arange(40), sizes)
    design = np.column_stack([np.ones(len(cluster)), rng.normal(size=len(cluster))])
    shared = rng.normal(0, 1, 40)[cluster]
    won = rng.random(len(cluster)) < expit(0.5 + design[:, 1] + shared)
    fitted = Logit(won, design).fit(disp=0, tol=1e-12)
    values, errors = logistic_with_clusters(design, won, cluster, ridge=0.0)
    assert_allclose(values, fitted.params, atol=1e-8)
    left = np.array(
        [Logit(won[cluster != k], design[cluster != k]).fit(disp=0).params for k in range(40)]
    )
    jackknife = np.sqrt(39 / 40 * np.sum((left - fitted.params) ** 2, axis=0))
    # Never below those of independent rows; ours take one step of Newton where these refit.
    assert_allclose(errors, np.maximum(jackknife, fitted.bse), rtol=0.03)


def test_clusters_left_out_in_parts_are_those_left_out_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    design, cluster = rng.normal(size=(90, 2)), rng.integers(0, 21, 90)
    won = rng.random(90) < expit(design[:, 0])
    whole = logistic_with_clusters(design, won, cluster)
    monkeypatch.setattr(logistic, "AT_ONCE", 7)
    assert_allclose(logistic_with_clusters(design, won, cluster), whole)


def test_one_who_always_decides_alike_has_an_error() -> None:
    values, errors = logistic_with_clusters(np.ones((50, 1)), np.full(50, True), np.arange(50))
    assert values[0] > 3
    assert errors[0] > 0.5


def test_a_judge_whose_verdicts_are_turned_round_is_named_and_does_not_lean() -> None:
    panel = Panel(
        **{"prompts": 50, "answers": 4, "pairs": 3, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8, -1.0), "lean": (0.0, 0.0, 0.0), "seat": (0.0, 0.3, 0.6)},
        difficulty=0.6,
    )
    accused = []
    for seed in range(8):
        found = find_leans(draw(panel, np.random.default_rng(seed)))
        sharp = {one.judge: one for one in found.sharpness}
        # By logistic(-1) of answers one SD apart, on a prompt of median spread.
        assert sharp["j2"].picks == pytest.approx(expit(-1), abs=0.12)
        assert any(one.startswith("j2: of two answers the worse one") for one in found.notes)
        accused += [one.p_value < 0.01 for one in found.estimates if one.kind == "length"]
    # A judge with opinions of SD 5 and no sharpness, who leans, was another peak.
    assert sum(accused) <= 2


def test_a_dull_judge_beside_people_does_not_lean_and_a_leaning_one_does() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 5, "pairs": 5, "both_orders": True},
        **{"sharpness": (2.0, 0.7, 1.5), "lean": (0.0, 0.0, 0.8), "seat": (0.0, 0.5, 0.0)},
    )
    found_all = find_leans(draw(panel, np.random.default_rng(1)))
    leans, notes = found_all.leans(), found_all.notes
    found = {(one.judge, one.toward): one for one in leans}
    assert {one.against for one in leans if one.toward == LONGER} == {"people"}
    assert ("j0", LONGER) not in found
    assert found["j1", LONGER].q_value > 0.05
    assert found["j2", LONGER].q_value < 0.001
    assert found["j1", LONGER].interval.low < 0.5 < found["j1", LONGER].interval.high
    assert found["j2", LONGER].wins == pytest.approx(expit(1.5 * 0.8), abs=0.08)
    assert notes == ()


def test_a_fit_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = Panel(
        **{"prompts": 30, "answers": 3, "pairs": 2, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8), "lean": (0.0, 0.0), "seat": (0.0, 0.0)},
    )
    log = draw(panel, np.random.default_rng(2))
    assert NOT_CONVERGED not in find_leans(log).notes
    monkeypatch.setattr("comparity.ranking.lots.MOST_CURVATURES", 1)
    monkeypatch.setattr("comparity.ranking.lots.STEPS_EACH", 0)
    monkeypatch.setattr("comparity.ranking.lots.MOST_STEPS", 1)
    assert NOT_CONVERGED in find_leans(log).notes


def test_opinions_of_a_judge_are_told_and_people_define_quality() -> None:
    panel = Panel(
        **{"prompts": 80, "answers": 4, "pairs": 4, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 2.0), "lean": (0.0, 0.0), "seat": (0.0, 0.0), "taste": (0.0, 1.0)},
    )
    told = {
        one.judge: one.taste for one in find_leans(draw(panel, np.random.default_rng(4))).sharpness
    }
    assert told["j0"] == 0
    # Of 80 prompts the SD of opinions is known to about a fifth.
    assert told["j1"] == pytest.approx(1.0, abs=0.6)


def test_without_people_leans_are_told_against_the_sharpest_judge() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 4, "pairs": 4, "both_orders": True, "people": 0},
        **{"sharpness": (1.0, 2.5), "lean": (0.9, 0.0), "seat": (0.0, 0.0)},
    )
    leans = find_leans(draw(panel, np.random.default_rng(2))).leans()
    (one,) = (one for one in leans if one.toward == LONGER)
    assert (one.judge, one.against) == ("j0", "j1")
    assert one.wins > 0.6
    assert one.q_value < 0.01


def test_a_right_verdict_in_the_log_stands_for_quality() -> None:
    panel = Panel(
        **{"prompts": 120, "answers": 3, "pairs": 3, "people": 0, "truth": True},
        **{"sharpness": (1.2,), "lean": (0.5,), "seat": (0.4,)},
    )
    log = draw(panel, np.random.default_rng(4))
    leans = find_leans(log).leans()
    difference = -np.diff(np.log2(log.features[:, 0])[np.c_[log.first_item, log.second_item]])
    design = np.column_stack([log.gold, difference, np.ones(len(log))])
    fitted = Logit(log.verdict == 1, design).fit(disp=0)
    found = {one.toward: one for one in leans}
    assert found[LONGER].wins == pytest.approx(expit(fitted.params[1]), abs=1e-3)
    assert found[SEAT].wins == pytest.approx(expit(fitted.params[2]), abs=1e-3)
    assert found[LONGER].against == "the right verdict"


def battles(rng: np.random.Generator) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for prompt in range(50):
        for one, two in (("gpt-4", "mine"), ("mine", "claude-2"), ("claude-2", "gpt-4")):
            lead = rng.normal()
            for judge, lean in (("gpt-4", 1.5), ("ann", 0.0)):
                own = lean * ((one == "gpt-4") - (two == "gpt-4"))
                won = rng.random() < expit(2 * (lead + own))
                rows.append(
                    {
                        **{"question_id": f"q{prompt}", "model_a": one, "model_b": two},
                        **{"judge": judge, "winner": "model_a" if won else "model_b", "turn": 1},
                    }
                )
    return rows


def test_a_judge_who_prefers_its_own_family_is_found_beside_people_only() -> None:
    rows = battles(np.random.default_rng(6))
    audit = audit_judges(rows, people=("ann",))
    (one,) = (one for one in audit.leans if one.toward == "answers of OpenAI")
    assert one.judge == "gpt-4"
    assert one.wins > 0.7
    assert one.q_value < 0.001
    # People put it where it belongs, and so does the quality that is left without the lean.
    ranks = {one.answerer: one.without_leans for one in audit.leaderboard}
    assert audit.leaderboard[0].answerer == "gpt-4"
    assert sorted(ranks.values()) == [1, 2, 3]
    assert "it picks the one of OpenAI" in " ".join(str(audit).split())
    assert read_result(json.loads(json.dumps(audit.to_dict()))).leans == audit.leans
    alone = audit_judges(rows)
    assert not [one for one in alone.leans if one.toward.startswith("answers of")]
    assert any("is not identified without people" in note for note in alone.notes)


def test_whom_somebody_trusts_tells_who_prefers_its_own_family() -> None:
    rng, rows = np.random.default_rng(6), battles(np.random.default_rng(6))
    other = {"model_a": "model_b", "model_b": "model_a"}
    third = [
        row | {"judge": "eve", "winner": other[row["winner"]] if rng.random() < 0.15 else winner}
        for row in rows
        for winner in [str(row["winner"])]
        if row["judge"] == "ann"
    ]
    audit = audit_judges(rows + third, trusted="ann")
    (one,) = (one for one in audit.leans if one.kind == "self")
    # In logits the lean is 3, as sharp as this judge is.
    assert (one.judge, one.against, one.finding) == ("gpt-4", "ann", "violated")
    assert one.interval.low < expit(3) < one.interval.high
    assert not any("not identified" in note for note in audit.notes)


def test_a_trusted_person_who_said_too_little_is_not_replaced_by_a_judge() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 3, "pairs": 2, "sharpness": (1.0, 1.0, 1.0, 1.0)},
        **{"lean": (0.0,) * 4, "seat": (0.0,) * 4},
    )
    log = draw(panel, np.random.default_rng(4))
    log = log.take((log.judge > 0) | (log.prompt < 5))
    told = find_leans(log, trusted="j0")
    assert told.estimates == ()
    assert any("is trusted, but decided too little" in note for note in told.notes)


def test_a_truth_counts_where_people_said_too_little() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 3, "pairs": 2, "sharpness": (1.0, 1.0, 1.0), "truth": True},
        **{"lean": (0.0,) * 3, "seat": (0.0,) * 3},
    )
    log = draw(panel, np.random.default_rng(4))
    told = find_leans(log.take((log.judge > 0) | (log.prompt < 5)))
    assert {one.against for one in told.estimates if one.kind == "length"} == {"the right verdict"}


def test_families_can_be_named() -> None:
    rows = battles(np.random.default_rng(6))
    audit = audit_judges(rows, people=("ann",), families=("gpt-*=Acme", "mine=Acme"))
    assert "answers of Acme" in {one.toward for one in audit.leans}
    with pytest.raises(OptionError, match="my-"):
        audit_judges(rows, families=("Acme",))


def test_opinions_are_told_only_of_judges_who_judged_prompts_again() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 2, "pairs": 1, "sharpness": (2.0, 1.5, 1.5)},
        **{"lean": (0.0, 0.0, 0.0), "seat": (0.0, 0.0, 0.0)},
    )
    once = find_leans(draw(panel, np.random.default_rng(0)))
    twice = find_leans(draw(replace(panel, both_orders=True), np.random.default_rng(0)))
    assert [math.isnan(one.taste) for one in once.sharpness] == [False, True, True]
    assert [math.isnan(one.taste) for one in twice.sharpness] == [False, False, False]
    assert once.sharpness[0].judge == "j0"
    assert JUDGED_ONCE.format("j1, j2") in once.notes
    assert not any("One judgment of each prompt" in note for note in twice.notes)


def test_ranks_without_leans_know_whom_answerers_met() -> None:
    """Only neighbours in strength meet, so that all but the ends win half of their judgments."""
    rng, rows = np.random.default_rng(3), []
    for prompt in range(300):
        low = int(rng.integers(7))
        one, two = rng.permutation([low, low + 1]).tolist()
        lead = rng.normal((one - two) * 0.5, 0.5)
        rows += [
            {
                **{"question_id": f"q{prompt}", "model_a": f"m{one}", "model_b": f"m{two}"},
                **{"judge": judge, "turn": 1},
                "winner": "model_a" if rng.random() < expit(2 * lead) else "model_b",
            }
            for judge in ("ann", "gpt-4", "gpt-4o")
        ]
    made = ("m0=OpenAI", "m3=OpenAI", "m4=OpenAI")
    audit = audit_judges(rows, people=("ann",), families=made)
    ranks = {one.answerer: one.without_leans for one in audit.leaderboard}
    assert kendalltau([ranks[f"m{k}"] for k in range(8)], range(8, 0, -1)).statistic > 0.8


def test_few_prompts_of_many_judgments_are_all_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the judgments would be those of ten prompts, too few for any lean."""
    monkeypatch.setattr(leans, "MOST_JUDGMENTS", 300)
    panel = Panel(
        **{"prompts": 30, "answers": 5, "pairs": 10, "sharpness": (1.0, 1.0, 1.0)},
        **{"lean": (0.0, 0.0, 0.0), "seat": (0.0, 0.0, 0.0)},
    )
    told = find_leans(draw(panel, np.random.default_rng(4)))
    assert {one.prompts for one in told.estimates} == {30}
    assert all(60 <= one.judgments <= 120 for one in told.estimates)
    assert any("of 900 judgments, of 30 of 30 prompts" in note for note in told.notes)


def test_one_judge_of_few_prompts_leaves_the_leans_of_others_told() -> None:
    panel = Panel(
        **{"prompts": 100, "answers": 3, "pairs": 3, "sharpness": (2.0, 2.0, 2.0)},
        **{"lean": (0.0, 1.0, 0.0), "seat": (0.0, 0.0, 0.0)},
    )
    log = draw(panel, np.random.default_rng(0))
    some = find_leans(log.take((log.judge != 2) | (log.prompt < 16)))
    told = {(one.judge, one.kind): one for one in some.estimates}
    assert ("j2", "length") not in told
    assert [one.judge for one in some.sharpness] == ["j0", "j1", "j2"]
    low, high, _ = told["j1", "length"].pivot.interval(0.99)
    assert 0 < low < expit(2) - 0.5 < high


def test_one_answer_of_unknown_length_leaves_those_of_others_told() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 3, "pairs": 2, "sharpness": (1.0, 1.0, 1.0)},
        **{"lean": (0.0, 1.0, 0.0), "seat": (0.0, 0.0, 0.0)},
    )
    log = draw(panel, np.random.default_rng(0))
    features = log.features.copy()
    features[4] = np.nan
    without = (log.first_item == 4) | (log.second_item == 4)
    told = find_leans(replace(log, features=features))
    assert told.estimates == find_leans(log.take(~without)).estimates
    assert any(note.startswith(f"{int(without.sum())} judgments of answers") for note in told.notes)
    # What is unknown of most answers of a judge is not asked for.
    features[: len(features) * 2 // 3] = np.nan
    assert {one.kind for one in find_leans(replace(log, features=features)).estimates} <= {"seat"}


def test_judges_who_share_opinions_are_not_said_to_lean_away_from_what_is_better() -> None:
    """Versions of one model like the same answers, which people do not; length is no part of it."""
    panel = Panel(
        **{"prompts": 100, "answers": 4, "pairs": 4, "both_orders": True, "worth": 0.7},
        **{"sharpness": (1.5,) * 3, "lean": (0.0,) * 3, "seat": (0.0,) * 3},
        **{"taste": (0.0, 1.0, 1.0), "shared": 1.0},
    )
    rng = np.random.default_rng(4)
    told = [one for _ in range(4) for one in find_leans(draw(panel, rng)).estimates]
    wins = [one.wins for one in told if one.kind == "length"]
    assert len(wins) == 8
    # Two standard errors: widths are 0.2, and judges of one panel share what people said.
    assert abs(np.mean(wins) - 0.5) < 0.06


def test_judges_whom_people_did_not_judge_beside_often_enough_are_told_together() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 2, "pairs": 1, "sharpness": (1.0, 1.0, 1.0)},
        **{"lean": (0.0, 0.0, 0.0), "seat": (0.0, 0.0, 0.0)},
    )
    notes = find_leans(draw(replace(panel, both_orders=True), np.random.default_rng(1))).notes
    assert not any("share opinions" in note for note in notes)
    notes = find_leans(draw(panel, np.random.default_rng(1))).notes
    assert any(note.startswith("j1, j2: leans are told from the verdicts of all") for note in notes)


def test_the_order_of_rows_and_of_judges_changes_nothing() -> None:
    panel = Panel(
        **{"prompts": 40, "answers": 3, "pairs": 3, "both_orders": True},
        **{"sharpness": (1.0, 2.0, 0.5), "lean": (0.0, 0.5, 0.0), "seat": (0.0, 0.3, 0.0)},
    )
    log = draw(panel, np.random.default_rng(3))
    order = np.random.default_rng(5).permutation(len(log))
    new = np.array([2, 0, 1], dtype=np.int32)
    turned = replace(log.take(order), judges=("j1", "j2", "j0"), judge=new[log.judge[order]])
    one, other = find_leans(log), find_leans(turned)
    picks = {of.judge: of.picks for of in one.sharpness}
    assert {of.judge: of.picks for of in other.sharpness} == pytest.approx(picks, abs=0.003)
    wins = {(lean.judge, lean.kind): lean.wins for lean in one.estimates}
    again = {(lean.judge, lean.kind): lean.wins for lean in other.estimates}
    assert again == pytest.approx(wins, abs=0.003)
