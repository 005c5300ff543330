"""Logs of MT-bench: FastChat's pairs, votes of people, and files of answers and questions.

====================  ========================================================================
format                what winners mean
====================  ========================================================================
``mt-bench pairs``    ``g1_winner`` and ``g2_winner`` are mapped back to model_1 and model_2:
                      model_1 in game 2 means that the second seat won
``mt-bench votes``    ``winner`` is model_a, model_b (or a model's name) or tie; "tie
                      (inconsistent)" is a judge whose two orders disagree, so a log with this word
                      has both orders in one row, and no seats
``mt-bench orders``   ``winner_ab`` and ``winner_ba`` are raw seats: in the second A is model_b
====================  ========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from comparity.judges.readers import (
    ERROR,
    FIRST,
    NO_VERDICT,
    ONE_ORDER,
    OTHER_IN_BOTH,
    SAME_IN_BOTH,
    SECOND,
    TIE,
    UNPARSED,
    AnswerText,
    Judgment,
    PromptFact,
    Reader,
    Record,
    Source,
    flip,
    has,
    list_of,
    optional_text,
    text_of,
    verdict_of,
    why_missing,
)
from comparity.judges.readers.arena import (
    answer_text,
    is_battle,
    shown_answers,
    shown_question,
)

MODELS = {"model_1": FIRST, "model_2": SECOND, "tie": TIE, "error": NO_VERDICT}
SEATS = {"A": FIRST, "B": SECOND, "tie": TIE, "C": TIE, "error": NO_VERDICT}
INCONSISTENT = "tie (inconsistent)"
VOTES = {
    "model_a": FIRST,
    "model_b": SECOND,
    "tie": TIE,
    "tie (bothbad)": TIE,
    INCONSISTENT: TIE,
    "error": NO_VERDICT,
}
PEOPLE = re.compile(r"(expert|author|human|people|annotator|crowd)", re.IGNORECASE)
# FastChat writes this in place of a judgment that it did not get.
FAILED = "$ERROR$"


def judge_and_prompt(judge: Any) -> tuple[str, str]:
    """Return who judged, and by which prompt, where the log says both."""
    if isinstance(judge, list | tuple) and judge:
        return str(judge[0]), str(judge[1]) if len(judge) > 1 else ""
    return str(judge), ""


def why_failed(said: Any) -> str:
    """Return why FastChat has no verdict, from what it keeps of the judge's words."""
    return ERROR if said == FAILED else why_missing(said)


def read_pairs(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield both games of one pair."""
    judge, variant = judge_and_prompt(record.get("judge") or source.judge)
    one, two = text_of(record, "model_1"), text_of(record, "model_2")
    for game, (first, second) in ((1, (one, two)), (2, (two, one))):
        won = verdict_of(text_of(record, f"g{game}_winner"), MODELS, f"g{game}_winner")
        shown = record.get(f"g{game}_user_prompt")
        said = record.get(f"g{game}_judgment")
        yield Judgment(
            judge=judge,
            prompt=text_of(record, "question_id"),
            first=first,
            second=second,
            verdict=won if game == 1 else flip(won),
            reason=why_failed(said) if won == NO_VERDICT else "",
            turn=optional_text(record, "turn"),
            category=variant,
            texts=shown_answers(shown),
            question=shown_question(shown),
        )


def read_vote(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield one vote, or both orders in one."""
    judge, variant = judge_and_prompt(record.get("judge") or source.judge)
    word = text_of(record, "winner")
    one, two = text_of(record, "model_a"), text_of(record, "model_b")
    verdict = verdict_of(word, {one: FIRST, two: SECOND, **VOTES}, "winner")
    is_person = bool(PEOPLE.match(judge))
    # Whoever collapses both orders says so by this word, or by calling the judge a pair.
    both = word == INCONSISTENT or (not is_person and "pair" in f"{judge} {variant}")
    agreed = OTHER_IN_BOTH if word == INCONSISTENT else SAME_IN_BOTH
    turn = optional_text(record, "turn")
    last = int(turn) if turn.isdecimal() else None
    yield Judgment(
        judge=judge,
        prompt=text_of(record, "question_id"),
        first=one,
        second=two,
        verdict=verdict,
        reason=UNPARSED if verdict == NO_VERDICT else "",
        turn=turn,
        is_seated=is_person,
        orders=agreed if both else ONE_ORDER,
        texts=(answer_text(record, "a", last), answer_text(record, "b", last)),
        is_person=is_person,
    )


def read_orders(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield both orders of one pair, each in its own seats."""
    one, two = text_of(record, "model_a"), text_of(record, "model_b")
    for order, (first, second) in (("ab", (one, two)), ("ba", (two, one))):
        verdict = verdict_of(text_of(record, f"winner_{order}"), SEATS, f"winner_{order}")
        yield Judgment(
            judge=text_of(record, "judge_id", "judge"),
            prompt=text_of(record, "question_id"),
            first=first,
            second=second,
            verdict=verdict,
            reason=why_failed(record.get(f"judgment_{order}")) if verdict == NO_VERDICT else "",
            turn=optional_text(record, "turn"),
            category=optional_text(record, "category"),
        )


def read_answer(record: Record, _: Source) -> Iterator[AnswerText]:
    """Yield the answer to the first turn, and what is shown after the second: both."""
    prompt, model = text_of(record, "question_id"), text_of(record, "model_id")
    choices = list_of(record, "choices")
    turns = [str(one) for one in list_of(choices[0], "turns")] if choices else []
    for last in range(1, len(turns) + 1):
        yield AnswerText(prompt, model, "".join(turns[:last]), turn=str(last))
    yield AnswerText(prompt, model, "".join(turns))


def read_question(record: Record, _: Source) -> Iterator[PromptFact]:
    """Yield the category of a prompt, and its text."""
    turns = "\n".join(map(str, list_of(record, "turns")))
    category = optional_text(record, "category")
    yield PromptFact(text_of(record, "question_id"), category, turns)


READERS = (
    Reader(
        name="mt-bench pairs",
        about="MT-bench pairs, both orders",
        matches=lambda record: has(record, "question_id", "g1_winner", "g2_winner"),
        read=read_pairs,
    ),
    Reader(
        name="mt-bench votes",
        about="MT-bench votes",
        matches=lambda record: (
            has(record, "question_id", "model_a", "model_b", "winner", "judge")
            and "winner_ab" not in record
            and not is_battle(record)
        ),
        read=read_vote,
    ),
    Reader(
        name="mt-bench orders",
        about="MT-bench pairs, both orders in raw seats",
        matches=lambda record: has(record, "question_id", "winner_ab", "winner_ba"),
        read=read_orders,
    ),
    Reader(
        name="mt-bench answers",
        about="answers to MT-bench",
        matches=lambda record: has(record, "question_id", "model_id", "choices"),
        read=read_answer,
    ),
    Reader(
        name="mt-bench questions",
        about="questions of MT-bench",
        matches=lambda record: has(record, "question_id", "turns"),
        read=read_question,
    ),
)
