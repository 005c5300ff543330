"""Logs of benchmarks and studies of judges: MT-bench, JudgeBench, LLMBar, position bias.

JudgeBench was written from its code.

====================  ========================================================================
format                what winners mean
====================  ========================================================================
``mt-bench pairs``    ``g1_winner`` and ``g2_winner`` are mapped back to model_1 and model_2:
                      model_1 in game 2 means that the second seat won
``mt-bench votes``    ``winner`` is model_a, model_b (or a model's name) or tie; "tie
                      (inconsistent)" is a judge whose two orders disagree, so a log with this word
                      has both orders in one row, and no seats
``mt-bench orders``   ``winner_ab`` and ``winner_ba`` are raw seats: in the second A is model_b
``mt-bench scores``   FastChat's single answers, 1 to 10; -1 is a failure. They have no seats
``judgebench``        ``judgments[2]``, decisions A>B, B>A and A=B in raw seats, the second with the
                      answers exchanged; ``label`` is the truth. ``judge_name`` is the prompt: the
                      model is in the name of the file, and in each judgment
``llmbar``            ``output_2`` is shown first where "swap = True", but ``winner`` is mapped
                      back. Rating evaluators score each answer alone; with equal scores their
                      winner follows the seat, so the scores are read, and the winner is not
``position bias``     the judge's words, in a column that is named after the judge (*Judging the
                      Judges*); the last of ``[[A]]``, ``[[B]]`` and ``[[C]]`` (a tie) is the
                      verdict, in raw seats
====================  ========================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
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
    RowFault,
    Score,
    Source,
    digest,
    exchange_seats,
    flip,
    has,
    in_order,
    list_of,
    name_of_text,
    number_of,
    optional_text,
    text_of,
    verdict_in,
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
# gpt4_pair and pair-v2, and not a judge such as pairrm.
PAIR = re.compile(r"(?<![^\W_])pair(?![^\W_])")
# FastChat writes this in place of a judgment that it did not get.
FAILED = "$ERROR$"
# Files are called dataset=...,response_model=...,judge_name=...,judge_model=....jsonl.
MODEL_OF_FILE = re.compile(r"judge_model=(.+?)(?:,|\.jsonl?(?:\.gz)?$|$)")
DECISIONS = {"A>B": FIRST, "B>A": SECOND, "A=B": TIE, "B=A": TIE}
OUTPUTS = {"1": FIRST, "2": SECOND, "tie": TIE}
ORDERS = {"swap = False": False, "swap = True": True}
TAG = re.compile(r"\[\[([ABC])\]\]")
TAGS = {"A": FIRST, "B": SECOND, "C": TIE}
FIXED = {
    *("cmp_index", "question_1", "question_2", "answer1_1", "answer1_2", "answer2_1", "answer2_2"),
    *("A", "B", "reference_answer_1", "reference_answer_2", "evaluating_guidance", "task"),
}


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
        won = verdict_in(record, f"g{game}_winner", MODELS)
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
    word = record.get("winner")
    one, two = text_of(record, "model_a"), text_of(record, "model_b")
    verdict = verdict_in(record, "winner", {one: FIRST, two: SECOND, **VOTES})
    is_person = bool(PEOPLE.match(judge))
    # Whoever collapses both orders says so by this word, or by calling the judge a pair.
    both = word == INCONSISTENT or (not is_person and bool(PAIR.search(f"{judge} {variant}")))
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
        verdict = verdict_in(record, f"winner_{order}", SEATS)
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


def _text_of_turn(turn: Any) -> str:
    """Return what was said in a turn; arena-hard's files of answers have an object for each."""
    said = turn.get("content") if isinstance(turn, dict) else turn
    return "" if said is None else str(said)


def read_answer(record: Record, _: Source) -> Iterator[AnswerText]:
    """Yield the answer to the first turn, and what is shown after the second: both."""
    prompt, model = text_of(record, "question_id"), text_of(record, "model_id")
    choices = list_of(record, "choices")
    turns = [*map(_text_of_turn, list_of(choices[0], "turns"))] if choices else []
    for last in range(1, len(turns) + 1):
        yield AnswerText(prompt, model, "".join(turns[:last]), turn=str(last))
    yield AnswerText(prompt, model, "".join(turns))


def read_question(record: Record, _: Source) -> Iterator[PromptFact]:
    """Yield the category of a prompt, and its text."""
    turns = "\n".join(map(_text_of_turn, list_of(record, "turns")))
    category = optional_text(record, "category")
    yield PromptFact(text_of(record, "question_id"), category, turns)


def read_single(record: Record, source: Source) -> Iterator[Score]:
    """Yield the score of one answer."""
    judge, variant = judge_and_prompt(record.get("judge") or source.judge)
    if "score" not in record:
        raise RowFault("no 'score'")
    number = number_of(record["score"])
    failed = math.isnan(number) or number < 0
    yield Score(
        judge=judge,
        prompt=text_of(record, "question_id"),
        answerer=text_of(record, "model"),
        score=math.nan if failed else number,
        reason=why_failed(record.get("judgment")) if failed else "",
        turn=optional_text(record, "turn"),
        category=variant,
    )


def read_judgebench(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield one judgment for each order."""
    texts = text_of(record, "response_A"), text_of(record, "response_B")
    names = name_of_text("response_A", texts[0]), name_of_text("response_B", texts[1])
    gold = verdict_of(text_of(record, "label"), DECISIONS, "label")
    question = optional_text(record, "question")
    games = [one if isinstance(one, dict) else {} for one in list_of(record, "judgments")]
    for place, judged in enumerate(games):
        decision = judged.get("decision")
        way = -1 if place % 2 else 1
        yield Judgment(
            judge=_name_judge(record, games, source),
            prompt=optional_text(record, "pair_id", "original_id") or digest(question),
            first=in_order(names, way)[0],
            second=in_order(names, way)[1],
            verdict=NO_VERDICT if decision is None else verdict_of(decision, DECISIONS, "decision"),
            reason=_why_undecided(judged) if decision is None else "",
            gold=gold if way > 0 else flip(gold),
            category=optional_text(record, "source"),
            texts=in_order(texts, way),
            run=str(place // 2 or ""),
            question=question or None,
        )


def _why_undecided(judged: Record) -> str:
    """Return why there is no decision; the tool writes null where the judge could not be asked."""
    told = judged.get("judgment")
    return (
        why_missing(told.get("response") if isinstance(told, dict) else told) if judged else ERROR
    )


def _name_judge(record: Record, games: Sequence[Record], source: Source) -> str:
    """Return the model that judged, and its prompt, which is all that a record names."""
    if source.is_judge_given:
        return source.judge
    named = MODEL_OF_FILE.search(PurePath(source.path).name)
    told = (one.get("judgment") for one in games)
    models = (optional_text(one, "judge_model") for one in told if isinstance(one, dict))
    model = named[1] if named else next(filter(None, models), source.judge)
    prompt = optional_text(record, "judge_name", "judge")
    return f"{model} ({prompt})" if prompt else model


def read_llmbar(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield both orders, or one comparison of two scores."""
    question = text_of(record, "input")
    texts = text_of(record, "output_1"), text_of(record, "output_2")
    label = record.get("label")
    both = Judgment(
        judge=source.judge,
        prompt=digest(question),
        first=name_of_text("output_1", texts[0]),
        second=name_of_text("output_2", texts[1]),
        verdict=NO_VERDICT,
        gold=NO_VERDICT if label is None else verdict_of(label, OUTPUTS, "label"),
        texts=texts,
        question=question,
    )
    for place, result in enumerate(list_of(record, "results")):
        run = str(place or "")
        if has(result, "score_1", "score_2"):
            yield both._replace(**_compare(result), run=run, is_seated=False)
            continue
        for order, swapped in ORDERS.items():
            if order not in result:
                continue
            game = result[order] if isinstance(result[order], dict) else {}
            won = game.get("winner")
            verdict = NO_VERDICT if won is None else verdict_of(won, OUTPUTS, "winner")
            reason = why_missing(_text(game.get("completion"))) if won is None else ""
            shown = both._replace(verdict=verdict, reason=reason, run=run)
            yield exchange_seats(shown) if swapped else shown


def _compare(result: Record) -> dict[str, Any]:
    """Return which of two scores is larger, or why that is not known."""
    said = [_text(result[name]) for name in ("score_1", "score_2")]
    one, two = map(number_of, said)
    if one == one and two == two:
        return {"verdict": (one > two) - (one < two)}
    return {"reason": why_missing(said[0] if one != one else said[1])}


def _text(said: Any) -> Any:
    """Return what LLMBar keeps of a judge's words, beside why the model stopped."""
    return said[0] if isinstance(said, list | tuple) and said else said


def read_tagged(record: Record, _: Source) -> Iterator[Judgment]:
    """Yield one presentation; the verdict is the last tag in the judge's words."""
    judges = [name for name in record if name not in FIXED]
    if not judges:
        raise RowFault("no column with the words of a judge")
    said = optional_text(record, judges[-1])
    tags = TAG.findall(said)
    sides = [
        "".join(optional_text(record, f"answer{side}_{turn}") for turn in (1, 2)) for side in (1, 2)
    ]
    yield Judgment(
        judge=judges[-1],
        prompt=text_of(record, "cmp_index").split(";")[0],
        first=text_of(record, "A"),
        second=text_of(record, "B"),
        verdict=TAGS[tags[-1]] if tags else NO_VERDICT,
        reason="" if tags else why_missing(said),
        category=optional_text(record, "task"),
        texts=(sides[0], sides[1]),
        question=optional_text(record, "question_1"),
    )


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
    Reader(
        name="mt-bench scores",
        about="MT-bench scores of single answers",
        matches=lambda record: has(record, "question_id", "model", "score", "judge"),
        read=read_single,
    ),
    Reader(
        name="judgebench",
        about="JudgeBench judgments, both orders",
        matches=lambda record: has(record, "response_A", "response_B", "judgments"),
        read=read_judgebench,
        is_documented_only=True,
    ),
    Reader(
        name="llmbar",
        about="LLMBar evaluators",
        matches=lambda record: has(record, "input", "output_1", "output_2", "results"),
        read=read_llmbar,
    ),
    Reader(
        name="position bias",
        about="position-bias records, verdicts from tags",
        matches=lambda record: has(record, "cmp_index", "A", "B", "answer1_1", "answer2_1"),
        read=read_tagged,
    ),
)
