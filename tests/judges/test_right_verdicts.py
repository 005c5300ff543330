"""Leans given the right verdict: what a log can tell of seats, and what it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from comparity import audit_judges
from comparity.judges.leans import find_leans
from comparity.judges.wins import BOTH_ORDERS, TRUTH
from tests.judges.panels import Panel, draw
from tests.judges.test_wins import games

SEAT = 0.5


def battles(judge: str, *, turned: bool, right_is_first: bool = False) -> list[dict[str, Any]]:
    """Make battles judged again by one who is right at odds of e and leans to the first seat."""
    rng = np.random.default_rng(1)
    rows = []
    for k in range(400):
        names = ("claude-x", "gpt-y")
        one, two = reversed(names) if turned and rng.random() < 0.5 else names
        first = right_is_first or rng.random() < 0.5
        won = rng.random() < expit((1 if first else -1) + SEAT)
        row = {"id": k, "model_a": one, "model_b": two, "judge": judge}
        row["human_winner"] = "model_a" if first else "model_b"
        rows.append(row | {"judge_pick": "A" if won else "B"})
    return rows


def test_a_seat_is_told_given_the_right_verdict_if_answerers_change_seats() -> None:
    audit = audit_judges(battles("J", turned=True))
    (seat,) = audit.leans
    (sharp,) = audit.sharpness
    assert (seat.kind, seat.told_by, sharp.told_by) == ("seat", TRUTH, TRUTH)
    # 400 judgments tell a lean to some 2.5 of 100.
    assert seat.wins == pytest.approx(expit(SEAT), abs=0.06)
    assert sharp.picks == pytest.approx(expit(1), abs=0.06)


def test_a_seat_that_answerers_never_change_is_refused_with_the_reason() -> None:
    audit = audit_judges(battles("J", turned=False))
    assert audit.leans == ()
    (note,) = audit.notes
    assert "the first seat is worth with J is not known: no answerer changed seats" in note
    # How often it is right is known all the same, because the right answer was in both seats.
    assert audit.sharpness[0].picks == pytest.approx(expit(1), abs=0.06)


@pytest.mark.parametrize("turned", [False, True])
def test_a_list_in_one_order_tells_nothing_of_seats(turned: bool) -> None:
    # Weak models stand first in every row, in both seats by turns; the judge has no seat to prefer,
    # and thinks less of them than people do.
    rng = np.random.default_rng(4)
    rows = []
    for k in range(450):
        one, two = ((0, 1), (1, 2), (0, 2))[k % 3]
        first = rng.random() < 0.4
        won = rng.random() < expit((1 if first else -1) + one - two)
        names = f"m{one}", f"m{two}"
        row = {"id": k, "judge": "J", "human_winner": "model_a" if first else "model_b"}
        row |= {"model_a": names[0], "model_b": names[1], "judge_pick": "A" if won else "B"}
        if turned and rng.random() < 0.5:
            other = {"model_a": names[1], "model_b": names[0], "judge_pick": "B" if won else "A"}
            row |= other | {"human_winner": "model_b" if first else "model_a"}
        rows.append(row)
    audit = audit_judges(rows)
    (judge,) = audit.judges
    if turned:
        assert [one.kind for one in audit.leans] == ["seat"]
        assert judge.first is not None
    else:
        assert audit.leans == ()
        assert "no answerer changed seats" in audit.notes[0]
        assert judge.first is None
        assert judge.first_unknown == "any two answerers were always shown in the same order"


def test_orders_of_pairs_in_a_circle_tell_nothing_of_seats() -> None:
    # Quality alone: the better of two always wins, so that the first one wins two times of three.
    pairs = [(0, 1), (1, 2), (2, 0)] * 30
    rows = [
        {"prompt": k, "judge": "J", "left": f"m{one}", "right": f"m{two}"}
        | {"winner": f"m{min(one, two)}"}
        for k, (one, two) in enumerate(pairs)
    ]
    (judge,) = audit_judges(rows).judges
    assert judge.first is None
    assert judge.first_unknown == "any two answerers were always shown in the same order"


def test_what_always_goes_together_is_not_told_apart() -> None:
    right_first = audit_judges(battles("J", turned=True, right_is_first=True))
    assert (right_first.leans, right_first.sharpness) == ((), ())
    assert "makes of the right answer and the first seat: they always" in right_first.notes[0]
    own_first = audit_judges(battles("claude-j", turned=False))
    assert own_first.leans == ()
    assert "makes of answers of Anthropic and the first seat: they always" in own_first.notes[1]
    own = audit_judges(battles("claude-j", turned=True))
    assert [one.kind for one in own.leans] == ["self", "seat"]


def test_a_seat_told_by_both_orders_says_so() -> None:
    assert [one.told_by for one in audit_judges(games("j", 1.0, 4)).leans] == [BOTH_ORDERS]


def test_answerers_who_are_always_listed_in_one_order_tell_nothing_of_seats() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 3, "pairs": 3, "sharpness": (1.0,), "lean": (0.0,)},
        **{"seat": (0.0,), "people": 0, "truth": True},
    )
    log = draw(panel, np.random.default_rng(3))
    turned = log.first > log.second
    ends = (("first", "second"), ("first_item", "second_item"))
    columns = {
        name: np.where(turned, getattr(log, other), getattr(log, name))
        for pair in ends
        for name, other in (pair, pair[::-1])
    }
    signs = {name: np.where(turned, -1, 1) * getattr(log, name) for name in ("verdict", "gold")}
    told = {one.kind for one in find_leans(replace(log, **columns, **signs)).estimates}
    assert told == {"length"}
    assert {one.kind for one in find_leans(log).estimates} == {"length", "seat"}
