"""Agreement equals statsmodels, scikit-learn and loops; intervals leave out prompts one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t

from comparity import audit_judges
from comparity.judges.agreement import (
    agreement_of,
    cohen_kappa,
    compare_judges,
    gwet_ac1,
    jackknife,
    krippendorff_alpha,
    majority,
    panel_alpha,
)
from comparity.judges.reading import read_logs
from tests.plain import judges as plain

verdicts = st.sampled_from([0, 1, 2])
pairs_of_two = st.lists(st.tuples(verdicts, verdicts), min_size=3, max_size=40)
VALUES = {1: "model_a", -1: "model_b", 0: "tie"}


def table(pairs: list[tuple[int, int]]) -> np.ndarray:
    found = np.zeros((3, 3))
    for a, b in pairs:
        found[a, b] += 1
    return found


def votes(rows: list[tuple[str, int, int]]) -> list[dict[str, object]]:
    """Make a log of votes: judge, prompt, verdict."""
    return [
        {"question_id": prompt, "turn": 1, "model_a": "m", "model_b": "n", "judge": judge}
        | {"winner": VALUES[verdict], "row": place}
        for place, (judge, prompt, verdict) in enumerate(rows)
    ]


@given(pairs_of_two)
def test_kappa_equals_the_loop_and_two_other_libraries(pairs: list[tuple[int, int]]) -> None:
    assume(len({a for a, _ in pairs} | {b for _, b in pairs}) > 1)
    assume({a for a, _ in pairs} != {b for _, b in pairs} or len({a for a, _ in pairs}) > 1)
    found = float(cohen_kappa(table(pairs)))
    assert found == pytest.approx(plain.cohen_kappa(pairs))
    sklearn = pytest.importorskip("sklearn.metrics")
    assert found == pytest.approx(sklearn.cohen_kappa_score(*zip(*pairs, strict=True)))
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    expected = rater.cohens_kappa(table(pairs), return_results=False)
    assert found == pytest.approx(float(expected))


@given(pairs_of_two)
def test_ac1_equals_the_loop(pairs: list[tuple[int, int]]) -> None:
    assume(len({value for pair in pairs for value in pair}) > 1)
    assert float(gwet_ac1(table(pairs))) == pytest.approx(plain.gwet_ac1(pairs))


@given(pairs_of_two)
def test_alpha_of_two_judges_equals_the_loop(pairs: list[tuple[int, int]]) -> None:
    assume(len({value for pair in pairs for value in pair}) > 1)
    both = table(pairs) + table(pairs).T
    assert float(krippendorff_alpha(both)) == pytest.approx(plain.krippendorff_alpha(pairs))


def test_alpha_equals_the_published_example() -> None:
    # Krippendorff (2011), section C, nominal data, observers A to D: alpha = 0.743.
    data = {
        "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    }
    units = [[v for v in unit if v is not None] for unit in zip(*data.values(), strict=True)]
    assert plain.krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    tables = np.zeros((5, 5))
    for unit in units:
        for i, a in enumerate(unit):
            for j, b in enumerate(unit):
                if i != j:
                    tables[a - 1, b - 1] += 1 / (len(unit) - 1)
    assert float(krippendorff_alpha(tables)) == pytest.approx(0.743, abs=5e-4)


def test_the_jackknife_leaves_out_prompts_one_by_one() -> None:
    rng = np.random.default_rng(2)
    tables = rng.integers(0, 3, (12, 3, 3)).astype(float)
    found = jackknife(tables, cohen_kappa, 0.95)
    left = [float(cohen_kappa(np.delete(tables, k, axis=0).sum(0))) for k in range(12)]
    error = math.sqrt(11 / 12 * sum((one - np.mean(left)) ** 2 for one in left))
    # Twelve prompts with these numbers of entries are worth so many equal ones.
    sizes = tables.sum((1, 2))
    freedom = sizes.sum() ** 2 / sum(sizes**2) - 1
    assert found.interval.high - found.value == pytest.approx(t.isf(0.025, freedom) * error)


def test_a_single_tie_does_not_widen_the_interval_of_ac1() -> None:
    rng = np.random.default_rng(5)
    tables = np.zeros((40, 3, 3))
    for place, (a, agrees) in enumerate(zip(rng.integers(0, 2, 200), rng.random(200), strict=True)):
        tables[place % 40, a, a if agrees < 0.85 else 1 - a] += 1
    tables[0, 2, 0] += 1
    found = agreement_of(tables, names=("a", "b"), matched="same seats", ties=True)
    assert found is not None

    def of_three_kinds(whole: np.ndarray) -> float:
        """Gwet (2008), with three verdicts whether or not the tie is among them."""
        n = whole.sum()
        share = [(whole[k].sum() + whole[:, k].sum()) / (2 * n) for k in range(3)]
        chance = sum(one * (1 - one) for one in share) / 2
        return (np.trace(whole) / n - chance) / (1 - chance)

    left = [of_three_kinds(np.delete(tables, k, axis=0).sum(0)) for k in range(40)]
    error = math.sqrt(39 / 40 * sum((one - np.mean(left)) ** 2 for one in left))
    assert found.ac1.value == pytest.approx(of_three_kinds(tables.sum(0)))
    assert found.ac1.interval.high - found.ac1.value == pytest.approx(
        t.isf(0.025, 39) * error, rel=1e-3
    )


def test_verdicts_that_are_all_alike_have_no_coefficient() -> None:
    tables = np.zeros((3, 3, 3))
    tables[:, 0, 0] = 2
    found = agreement_of(tables, names=("a", "b"), matched="same seats", ties=True)
    assert found is not None
    assert found.raw.rate == 1
    assert math.isnan(found.kappa.value)


def test_agreement_by_pair_does_not_depend_on_how_pairs_are_listed() -> None:
    rng = np.random.default_rng(1)
    said = [
        (judge, prompt, int(rng.choice([1, 1, -1, 0])))
        for prompt in range(12)
        for judge in ("expert_1", "expert_2", "llm")
    ]
    other = {"model_a": "model_b", "model_b": "model_a", "tie": "tie"}
    rows = votes(said)
    turned = [
        row | {"model_a": "n", "model_b": "m", "winner": other[str(row["winner"])]}
        if place % 3
        else row
        for place, row in enumerate(rows)
    ]
    found, again = (compare_judges(read_logs(one)[0]) for one in (rows, turned))
    assert len(found) == 6
    assert found == again


def test_without_seats_a_truth_in_one_place_is_no_constant_verdict() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    # Reward models: the chosen answer stands first in every row, and gets the higher score in 17 of
    # 20; without seats every row counts in either direction.
    won = [1] * 17 + [-1] * 3
    rows = [
        {"prompt": f"q{k}", "chosen": f"yes {k}", "rejected": f"no {k}"}
        | {"score_chosen": float(one), "score_rejected": 0.0}
        for k, one in enumerate(won)
    ]
    found = {one.ties: one for one in compare_judges(read_logs(rows)[0])}
    turned = [-one for one in won]
    expected = sklearn.cohen_kappa_score([*won, *turned], [1] * 20 + [-1] * 20)
    assert expected == pytest.approx(0.7)
    for one in found.values():
        assert (one.matched, one.raw.hits, one.raw.trials) == ("same pair", 17, 20)
        assert one.kappa.value == pytest.approx(expected)
        assert one.ac1.value == pytest.approx(expected)


def test_with_seats_the_truth_is_compared_as_shown() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    said, truth = ["A>B", "B>A", "A>B", "A>B"], ["A>B", "A>B", "B>A", "A>B"]
    rows = [
        {"pair_id": f"p{k}", "response_A": f"a {k}", "response_B": f"b {k}", "label": right}
        | {"judgments": [{"decision": one}]}
        for k, (one, right) in enumerate(zip(said, truth, strict=True))
    ]
    found = compare_judges(read_logs(rows)[0])[0]
    assert found.matched == "same seats"
    assert found.kappa.value == pytest.approx(sklearn.cohen_kappa_score(said, truth))


def test_judges_are_compared_with_each_vote_and_with_the_majority() -> None:
    said = [("expert_1", 1, 1), ("expert_2", 1, 1), ("expert_3", 1, -1), ("llm", 1, 1)]
    said += [("expert_1", 2, 1), ("expert_2", 2, -1), ("llm", 2, -1)]
    log, _ = read_logs(votes(said))
    found = {(one.first, one.second, one.ties): one.raw for one in compare_judges(log)}
    by_vote = found["llm", "people's votes", True]
    assert (by_vote.hits, by_vote.trials) == (3, 5)
    # One of two votes on the second prompt leads to nothing: a tie.
    most = found["llm", "people's majority", True]
    assert (most.hits, most.trials) == (1, 2)
    among = found["people's votes", "other people's votes", True]
    assert (among.hits, among.trials) == (1, 4)
    told = audit_judges(votes(said)).section().sentences
    (line,) = (one for one in told if "agrees with people" in one)
    assert line.startswith("Of pairs that both decided, llm agrees with people in 3 of 5 [")
    assert "two people agree in 1 of 4 [" in line


def test_one_person_who_judged_twice_is_not_two_people() -> None:
    alone = [("expert_1", prompt, verdict) for prompt in range(5) for verdict in (1, -1)]
    said = [*alone, *[("llm", prompt, 1) for prompt in range(5)]]
    found = compare_judges(read_logs(votes(said))[0])
    assert {(one.first, one.second) for one in found} == {
        ("llm", "people's votes"),
        ("llm", "people's majority"),
    }
    assert panel_alpha(read_logs(votes(alone))[0], ties=True) is None
    # Beside another person each of her two votes meets his: one of two agrees.
    more = [*alone, *[("expert_2", prompt, 1) for prompt in range(5)]]
    for one in compare_judges(read_logs(votes(more))[0]):
        assert (one.first, one.raw.hits, one.raw.trials) == ("people's votes", 5, 10)


def test_who_judged_a_pair_again_has_one_vote_in_the_panel() -> None:
    once = [("expert_1", k, one) for k, one in enumerate((1, -1, 0, 1))]
    once += [("expert_2", k, one) for k, one in enumerate((1, 1, 0, -1))]
    again = [*once, *(one for one in once for _ in range(2) if one[0] == "expert_1")]
    found, repeated = (panel_alpha(read_logs(votes(one))[0], ties=True) for one in (once, again))
    assert found is not None
    assert found == repeated
    # By hand: 2 of 4 pairs agree; of 8 verdicts, counted in both directions, 3 are first, 3 second
    # and 2 ties. Observed disagreement 4 of 8, expected 8 * 8 - (3 * 3 + 3 * 3 + 2 * 2) of 8 * 7.
    assert found.value == pytest.approx(1 - (4 / 8) / (42 / 56))


def test_prompts_that_are_all_alike_give_no_interval() -> None:
    agreed = [(judge, k, (-1) ** k) for k in range(8) for judge in ("expert_1", "expert_2")]
    one, two = (
        next(one for one in compare_judges(read_logs(votes(said))[0]) if one.ties)
        for said in (agreed, [*agreed, ("expert_1", 8, 1), ("expert_2", 8, -1)])
    )
    assert one.kappa.value == one.ac1.value == one.alpha.value == 1
    for found in (one.kappa, one.ac1, one.alpha):
        assert np.isnan(found.interval[:2]).all()
    assert two.kappa.interval.low < two.kappa.value < two.kappa.interval.high


def test_the_majority_is_the_verdict_that_leads() -> None:
    counted = np.array([[2, 1, 1], [1, 1, 0], [0, 0, 3], [0, 0, 0]], dtype=float)
    assert majority(counted).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([1, -1, 0])), min_size=4, max_size=40))
def test_alpha_of_a_panel_equals_the_loop(rows: list[tuple[int, int]]) -> None:
    said = [(f"expert_{place}", prompt, verdict) for place, (prompt, verdict) in enumerate(rows)]
    log, _ = read_logs(votes(said))
    units: dict[int, list[int]] = {}
    for prompt, verdict in rows:
        units.setdefault(prompt, []).append(verdict)
    # Without seats no answer is the first one: every unit counts in both directions.
    both = [*units.values(), *([-value for value in unit] for unit in units.values())]
    kept = [value for unit in both if len(unit) > 1 for value in unit]
    found = panel_alpha(log, ties=True)
    if found is None:
        assert not kept
        return
    assume(len(set(kept)) > 1)
    n = len(kept)
    # The loop counts each unit twice where the audit counts it half in either direction.
    observed = (1 - plain.krippendorff_alpha(both)) / (n - 1) * (n / 2 - 1) * 2
    assert 1 - found.value == pytest.approx(observed, rel=1e-9)
