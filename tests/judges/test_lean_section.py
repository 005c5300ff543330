"""What is said of leans is true of how they were told, and names only what there is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from comparity import audit_judges
from comparity.inference.gap_tests import Interval
from comparity.judges.by_group import AgreementGap
from comparity.judges.leaderboard import Standing
from comparity.judges.lean_section import lean_grids, lean_sentences, seat_words, step_words
from comparity.judges.leans import find_leans
from comparity.judges.next_steps import advice_on, assumptions_of
from comparity.judges.rates import NOWHERE, PromptRate
from comparity.judges.result import JudgesAudit, JudgeSummary
from comparity.judges.wins import BOTH_ORDERS, QUALITY, TRUTH, JudgeSharpness, Lean
from comparity.results.result import UNDECIDED, VIOLATED
from tests.judges.panels import Panel, draw
from tests.judges.test_right_verdicts import battles

LONGER = Lean(
    judge="j",
    kind="length",
    toward="longer answers",
    step="that is twice as long",
    wins=0.7,
    interval=Interval(0.6, 0.8, 0.95),
    p_value=0.001,
    q_value=0.001,
    against="people",
    told_by=QUALITY,
    judgments=100,
    prompts=50,
    finding=VIOLATED,
)
SEAT = replace(LONGER, kind="seat", toward="the first seat", step="shown first", against="")
RATE = PromptRate(hits=9, trials=10, prompts=5, interval=NOWHERE)
JUDGE = JudgeSummary(
    name="j",
    persons=0,
    judgments=10,
    prompts=5,
    missing={},
    missing_rate=replace(RATE, hits=0),
    ties=RATE,
    first=None,
    first_unknown="",
    longer=None,
    twins=None,
    seat_p_adjusted=math.nan,
    repeats=None,
    swap_gap=math.nan,
    swap_gap_interval=NOWHERE,
)


def audit(*leans: Lean, **facts: Any) -> JudgesAudit:
    return JudgesAudit(
        readings=(), judges=(JUDGE,), leans=leans, level=0.95, margin=5.0, provenance={}, **facts
    )


def test_where_no_lean_is_found_the_kinds_are_named() -> None:
    quiet = replace(LONGER, finding=UNDECIDED)
    told = [quiet, replace(quiet, kind="family", against="people"), replace(SEAT, wins=0.9)]
    (sentence,) = lean_sentences(audit(*told))
    assert sentence == (
        "Between answers that people find equally good, no judge is found to lean to length or "
        "other makers (corrected for all leans)."
    )
    (sentence,) = lean_sentences(audit(replace(quiet, against=TRUTH, told_by=TRUTH)))
    assert sentence.startswith("Given the right verdict, no judge is found to lean to length (")


def test_a_lean_given_the_right_verdict_is_not_one_between_equal_answers() -> None:
    given = replace(LONGER, against=TRUTH, told_by=TRUTH)
    (sentence,) = lean_sentences(audit(given))
    assert sentence == (
        "j leans: given the right verdict, of 100 pairs in which nothing else decides, it picks "
        "the one that is twice as long 70 times [60, 80]."
    )
    assert "given the right verdict" in seat_words(replace(SEAT, told_by=TRUTH))


def test_tables_and_assumptions_say_that_they_rest_on_the_right_verdict() -> None:
    found = audit_judges(battles("J", turned=True))
    leans, sharpness = lean_grids(found)
    assert leans.title == "What judges lean to, given the right verdict"
    both = audit(replace(LONGER, told_by=TRUTH, against=TRUTH), replace(SEAT, told_by=BOTH_ORDERS))
    assert "(seats: by pairs in both orders)" in next(lean_grids(both)).title
    assert "pick the right one" in sharpness.title
    assert sharpness.header == ("judge", "times", "interval")
    told = " ".join(assumptions_of(found))
    assert "given the right verdict in the log" in told
    assert "pairs in both orders" not in told


def test_sharpness_by_quality_is_about_one_sd_even_where_seats_are_told_by_both_orders() -> None:
    sharp = JudgeSharpness(judge="j", picks=0.8, interval=Interval(0.7, 0.9, 0.95))
    *_, grid = lean_grids(audit(replace(SEAT, told_by=BOTH_ORDERS), sharpness=(sharp,)))
    assert "one SD of quality" in grid.title


def test_a_seat_beyond_that_of_another_judge_says_so() -> None:
    beyond = replace(SEAT, against="llm", wins=0.2, interval=Interval(0.1, 0.3, 0.95))
    assert step_words(beyond) == "shown first, beyond llm"
    assert seat_words(beyond) == (
        "prefers the second answer more than llm (of 100 pairs of equally good answers it would "
        "pick the first 20 times [10, 30] if llm did 50)"
    )
    alone, mixed = (
        next(iter(lean_grids(audit(*leans)))).title
        for leans in ((beyond,), (beyond, replace(SEAT, told_by=BOTH_ORDERS)))
    )
    assert "not needed" not in alone
    assert "for seats of pairs in both orders this is not needed" in mixed


def test_people_lean_and_one_person_has_one_name() -> None:
    people = audit(replace(LONGER, judge="people", against="llm")).section()
    assert "people lean (" in people.headline
    assert "people lean: of 100 pairs of answers that llm finds" in people.sentences[0]
    panel = Panel(
        **{"prompts": 40, "answers": 3, "pairs": 3, "both_orders": True},
        **{"sharpness": (2.0, 2.0), "lean": (0.0, 0.0), "seat": (0.0, 0.0)},
    )
    log = draw(panel, np.random.default_rng(1))
    told = find_leans(log, trusted="j1")
    assert {one.judge for one in told.leans() if one.against} == {"j0"}
    assert [one.judge for one in told.sharpness] == ["j0", "j1"]
    # Who trusts the only person trusts people.
    by_person = find_leans(log, trusted="j0")
    assert {one.against for one in by_person.leans() if one.kind == "length"} == {"people"}


def test_a_trusted_judge_with_few_judgments_is_told_of() -> None:
    panel = Panel(
        **{"prompts": 40, "answers": 3, "pairs": 3, "people": 0, "sharpness": (2.0, 2.0, 2.0)},
        **{"lean": (0.0, 0.0, 0.0), "seat": (0.0, 0.0, 0.0)},
    )
    log = draw(panel, np.random.default_rng(1))
    few = log.take((log.judge > 0) | (np.cumsum(log.judge == 0) <= 29))
    assert any(
        "j0 is trusted, but decided too little" in one
        for one in find_leans(few, trusted="j0").notes
    )


def test_advice_names_only_what_there_is() -> None:
    lean = next(one for one in advice_on(audit(LONGER)) if "a lean to" in one)
    assert "Use" not in lean
    away = advice_on(audit(replace(LONGER, wins=0.2)))
    assert any(one.startswith("j: a lean away from longer answers.") for one in away)
    ranked = Standing(
        answerer="a",
        ranks=(1, 1),
        score=0.0,
        interval=NOWHERE,
        judgments=1,
        wins=RATE,
        against={},
        without_leans=1,
    )
    lean = next(one for one in advice_on(audit(LONGER, leaderboard=(ranked,))) if "lean to" in one)
    assert lean.endswith("Use the ranks without leans (in the table of answerers).")
    failing = replace(audit(), judges=(replace(JUDGE, missing_rate=RATE),))
    assert "j: many judgments are missing." in advice_on(failing)


def test_uneven_agreement_points_at_leans_only_where_they_are_told() -> None:
    gap = AgreementGap(
        judge="j",
        kind="length",
        toward="longer answers",
        reference="people",
        with_more=RATE,
        with_less=RATE,
        gap=0.5,
        interval=NOWHERE,
        p_value=0.001,
        p_adjusted=0.001,
        finding=VIOLATED,
    )
    uneven = next(one for one in advice_on(audit(by_group=(gap,))) if "depends on" in one)
    assert uneven.endswith("Agreement alone does not tell which.")
    told = next(one for one in advice_on(audit(LONGER, by_group=(gap,))) if "depends on" in one)
    assert "The table of leans" in told


def test_prompts_are_said_to_be_left_out_only_where_leans_are_told() -> None:
    # 7,001 prompts of three judgments each are more than a fit takes.
    panel = Panel(
        **{"prompts": 7001, "answers": 3, "pairs": 3, "people": 0},
        **{"sharpness": (1.0,), "lean": (0.0,), "seat": (0.0,)},
    )
    assert find_leans(draw(panel, np.random.default_rng(1))).notes == ()
