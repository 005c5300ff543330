"""Preference data, and what annotators and reward models make of it.

All were written from the documentation and the code of the tools.

====================  ========================================================================
format                what is read
====================  ========================================================================
``alpaca eval``       ``preference`` 1 (output_1) to 2 (output_2), or a number between them; 1.5 is
                      a tie. 0 marks identical outputs that no judge saw: left out. The order shown
                      is in ``referenced_models``, where ``m`` stands for the first, or follows from
                      the ranks of m and M in ``raw_completion``; otherwise it is recomputed: the
                      tool draws it from the instruction and its seed, which is 0 by default
``rewardbench``       scores of a chosen and a rejected answer, or ``results`` 1, 0 and 0.5
                      (a tie, or a judge that failed: the file does not tell which);
                      version 2 scores several right and wrong answers, each pair is compared
``chosen, rejected``  preference data (TRL): with scores a reward model is compared with them, and
                      without the choice is the verdict
``pandalm``           columns of several annotators with 1, 2 and 0 (a tie)
====================  ========================================================================
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from comparity.judges.readers import (
    EMPTY,
    FIRST,
    NO_VERDICT,
    SECOND,
    TIE,
    UNPARSED,
    Entry,
    Judgment,
    Omission,
    Reader,
    Record,
    RowFault,
    Source,
    digest,
    flip,
    has,
    in_order,
    list_of,
    name_of_text,
    number_of,
    optional_text,
    text_of,
    verdict_of,
    why_missing,
)

RESULTS = {1.0: FIRST, 0.0: SECOND, 0.5: TIE}
ANNOTATED = {"1": FIRST, "2": SECOND, "0": TIE, "tie": TIE}
# How conversations begin that are one text (HH-RLHF), and what stands before each answer.
DIALOGUE, ANSWER = "\n\nHuman:", "\n\nAssistant:"
SCORES = (
    ("scores_chosen", "scores_rejected"),
    ("score_chosen", "score_rejected"),
    ("chosen_score", "rejected_score"),
    ("reward_chosen", "reward_rejected"),
    ("chosen_reward", "rejected_reward"),
    ("chosen_rating", "rejected_rating"),
    ("chosen-rating", "rejected-rating"),
)


def read_alpaca(record: Record, source: Source) -> Iterator[Entry]:
    """Yield one annotation."""
    preference = record.get("preference")
    number = number_of(preference)
    if number == 0:
        yield Omission("identical outputs, which no judge was shown")
        return
    if preference is not None and not 1 <= number <= 2:
        raise RowFault(f"'preference' is {str(preference)[:40]!r}, no number from 1 to 2")
    missing = math.isnan(number)
    verdict = NO_VERDICT if missing else (number < 1.5) - (number > 1.5)
    shown = _first_shown(record)
    way = -1 if shown == 2 else 1
    question = text_of(record, "instruction")
    yield Judgment(
        judge=optional_text(record, "annotator") or source.judge,
        prompt=digest(question),
        first=text_of(record, f"generator_{2 if way < 0 else 1}"),
        second=text_of(record, f"generator_{1 if way < 0 else 2}"),
        verdict=verdict if way > 0 else flip(verdict),
        reason=why_missing(record.get("raw_completion")) if missing else "",
        strength=math.nan if missing else 2 * abs(number - 1.5),
        category=optional_text(record, "dataset"),
        texts=in_order((text_of(record, "output_1"), text_of(record, "output_2")), way),
        question=question,
    )


def _first_shown(record: Record) -> int:
    """Return which output was shown first, 1 or 2: as recorded, or else drawn as the tool does."""
    named = _object(record.get("referenced_models"))
    first = str(named.get("m", ""))
    if not first:
        ranked = _object(record.get("raw_completion")).get("ordered_models")
        first = _first_by_rank(ranked, number_of(record.get("preference")))
    known = {"output_1": 1, "output_2": 2}.get(first)
    return known or (2 if is_switched(text_of(record, "instruction")) else 1)


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object, also one that is written as text; an empty one for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _first_by_rank(ranked: Any, preference: float) -> str:
    """Return the output that was called m, shown first, from who of m and M is ranked first."""
    ranks = ranked if isinstance(ranked, list) else []
    best = [one.get("model") for one in ranks if isinstance(one, dict) and one.get("rank") == 1]
    if best not in (["m"], ["M"]) or preference not in (1, 2):
        return ""
    return f"output_{int(preference) if best == ['m'] else 3 - int(preference)}"


def is_switched(instruction: str) -> bool:
    """Say whether AlpacaEval shows the second output first, with its own seed.

    Examples
    --------
    >>> is_switched("Name a colour."), is_switched("Name a number.")
    (True, False)
    """
    seed = f"is_switched_outputs{instruction}0"
    return random.Random(seed).choices([False, True])[0]


def read_chosen(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield what a reward model, or a judge, made of a chosen and a rejected answer."""
    for row in _unroll(record):
        if isinstance(row.get("scores"), list | tuple):
            yield from _read_best_of(row, source)
        elif "num_correct" in row:
            raise RowFault("the result of several answers, and no 'scores' of each")
        else:
            yield _read_chosen(row, source)


def _read_best_of(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield each right answer against each wrong one: RewardBench 2 scores several of both."""
    scores = [_number(one) for one in list_of(record, "scores")]
    n_right = int(number_of(record.get("num_correct", 1)))
    texts = record.get("text")
    if not isinstance(texts, list):
        texts = [*list_of(record, "chosen"), *list_of(record, "rejected")]
    if len(texts) != len(scores) or not 0 < n_right < len(scores):
        raise RowFault(f"{len(scores)} scores of {len(texts)} texts, {n_right} of them right")
    row = {name: cell for name, cell in record.items() if name not in ("scores", "text", "results")}
    for right, wrong in product(range(n_right), range(n_right, len(scores))):
        yield _read_chosen(
            row
            | {"score_chosen": scores[right], "score_rejected": scores[wrong]}
            | {"chosen": texts[right], "rejected": texts[wrong]},
            source,
        )


def _unroll(record: Record) -> Iterator[Record]:
    """Yield rows of a record that holds columns, as RewardBench writes them."""
    lists = {name: cell for name, cell in record.items() if isinstance(cell, list)}
    ids = lists.get("id") or lists.get("results")
    if ids is None:
        yield record
        return
    for place in range(len(ids)):
        row = {name: cell[place] for name, cell in lists.items() if len(cell) == len(ids)}
        yield {**{name: cell for name, cell in record.items() if name not in lists}, **row}


def _read_chosen(record: Record, source: Source) -> Judgment:
    texts = [_chosen_text(record, kind) for kind in ("chosen", "rejected")]
    question = _question_of(record)
    place = optional_text(record, "id", "prompt_id") or digest(question or "".join(map(str, texts)))
    names = [
        optional_text(record, f"{kind}_model", f"{kind}-model") or name_of_text(kind, text or place)
        for kind, text in zip(("chosen", "rejected"), texts, strict=True)
    ]
    # Of a pair of scores of which one is not there, nobody knows who had the larger one.
    scored = next((pair for pair in SCORES if {*pair} & {*record}), None)
    if scored is not None:
        one, two = (_number(record.get(name)) for name in scored)
        verdict = NO_VERDICT if math.isnan(one - two) else (one > two) - (one < two)
    elif "results" in record:
        verdict = _verdict_of_result(number_of(record["results"]))
    else:
        verdict = FIRST
    is_model = scored is not None or "results" in record
    return Judgment(
        judge=optional_text(record, "model", "judge", "evaluator", "annotator", "rater")
        or source.judge,
        prompt=place,
        first=names[0],
        second=names[1],
        verdict=verdict,
        reason=UNPARSED if verdict == NO_VERDICT else "",
        strength=abs(one - two) if scored is not None else math.nan,
        is_seated=False,
        gold=FIRST if is_model else NO_VERDICT,
        category=optional_text(record, "subset", "source"),
        texts=(texts[0], texts[1]),
        question=question or None,
    )


def _chosen_text(record: Record, kind: str) -> str | None:
    """Return the chosen or the rejected answer; results that keep scores alone have none."""
    told = (_last_message(record.get(name)) for name in (kind, f"text_{kind}"))
    text = next((one for one in told if one is not None), None)
    if text is not None and text.startswith(DIALOGUE) and ANSWER in text:
        return text.rpartition(ANSWER)[2].strip()
    if text is None and not _is_rewardbench(record):
        raise RowFault(f"{kind!r} holds no text")
    return text


def _verdict_of_result(result: float) -> int:
    if math.isnan(result):
        return NO_VERDICT
    if result not in RESULTS:
        raise RowFault(f"'results' is {result:g}, none of 1, 0 and 0.5")
    return RESULTS[result]


def _number(value: Any) -> float:
    """Return a score, which may stand in a list of its own."""
    return number_of(value[0] if isinstance(value, list) and len(value) == 1 else value)


def _question_of(record: Record) -> str:
    """Return the prompt; without one, what stands in the chosen conversation before the answer."""
    told = _last_message(record.get("prompt")) or optional_text(record, "question")
    chosen = record.get("chosen")
    if told or not chosen:
        return told
    if isinstance(chosen, str):
        return chosen.rpartition(ANSWER)[0] if chosen.startswith(DIALOGUE) else ""
    messages = chosen[:-1] if isinstance(chosen, list) else []
    said = [one.get("content") for one in messages if isinstance(one, dict)]
    return "\n".join(one for one in said if isinstance(one, str))


def _last_message(value: Any) -> str | None:
    """Return a text, or the last message of a conversation."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = value[-1].get("content")
    return value if isinstance(value, str) else None


def read_pandalm(record: Record, _: Source) -> Iterator[Judgment]:
    """Yield one judgment for each annotator's column."""
    for name in ("response1", "response2"):
        if name not in record:
            raise RowFault(f"no {name!r}")
    # The published test set has NaN for an empty answer.
    texts = optional_text(record, "response1"), optional_text(record, "response2")
    question = f"{optional_text(record, 'instruction')}\n{optional_text(record, 'input')}"
    # Such as opt-7b_pythia-6.9b: who gave the first answer and the second.
    models = optional_text(record, "cmp_key").split("_")
    names = [
        optional_text(record, f"model{side}")
        or (models[place] if len(models) == 2 else name_of_text(f"response{side}", texts[place]))
        for place, side in enumerate("12")
    ]
    for name in record:
        if not name.startswith("annotator"):
            continue
        cell = record[name]
        empty = cell is None or cell == ""
        yield Judgment(
            judge=name,
            # `idx` numbers the pairs, of which an instruction has several.
            prompt=digest(question) if question.strip() else text_of(record, "idx", "id"),
            first=names[0],
            second=names[1],
            verdict=NO_VERDICT if empty else verdict_of(cell, ANNOTATED, name),
            reason=EMPTY if empty else "",
            is_seated=False,
            category=optional_text(record, "motivation_app", "category"),
            texts=texts,
            question=question,
            is_person=True,
        )


def _is_rewardbench(record: Record) -> bool:
    return "results" in record and (
        has(record, "subset") or any(has(record, *pair) for pair in SCORES)
    )


READERS = (
    Reader(
        name="alpaca eval",
        about="AlpacaEval annotations, seats as recorded or drawn again from its seed",
        matches=lambda record: has(record, "instruction", "output_1", "output_2", "preference"),
        read=read_alpaca,
        is_documented_only=True,
    ),
    Reader(
        name="rewardbench",
        about="RewardBench results",
        matches=lambda record: _is_rewardbench(record) and "input" not in record,
        read=read_chosen,
        is_documented_only=True,
    ),
    Reader(
        name="chosen, rejected",
        about="preference data, chosen and rejected",
        matches=lambda record: (
            has(record, "chosen", "rejected")
            and not _is_rewardbench(record)
            # The web app's own export.
            and "tied" not in record
        ),
        read=read_chosen,
        is_documented_only=True,
    ),
    Reader(
        name="pandalm",
        about="PandaLM annotations",
        matches=lambda record: (
            has(record, "response1", "response2")
            and any(name.startswith("annotator") for name in record)
        ),
        read=read_pandalm,
        is_documented_only=True,
    ),
)
