"""Battles of Chatbot Arena, judges who saw them again, and games of arena-hard.

==================  ==========================================================================
format              what is read
==================  ==========================================================================
``arena``           model_a, model_b, winner (model_a, model_b, tie, tie (bothbad)), with or
                    without judge, conversations and ``conv_metadata``
``arena one-hot``   winner_model_a, winner_model_b, winner_tie as 0 and 1 (Kaggle)
``arena judges``    human_winner beside judge_pick (A, B, null): the people's vote is the gold
``arena-hard``      two games a question, ``score`` in raw seats: in the first A is the baseline, in
                    the second the model. Version 0.1 does not name the baseline, version 2 does
==================  ==========================================================================

Arena assigns seats at random; model_a stood first, or on the left.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from comparity.judges.readers import (
    CROWD,
    ERROR,
    FIRST,
    NO_VERDICT,
    SECOND,
    TIE,
    UNPARSED,
    Judgment,
    Reader,
    Record,
    RowFault,
    Source,
    digest,
    has,
    list_of,
    number_of,
    optional_text,
    text_of,
    verdict_in,
    why_missing,
)

WINNERS = {
    "model_a": FIRST,
    "model_b": SECOND,
    "tie": TIE,
    "tie (bothbad)": TIE,
    "both_bad": TIE,
    "bothbad": TIE,
}
PICKS = {"A": FIRST, "B": SECOND, "C": TIE, "tie": TIE}
ONE_HOT = {"winner_model_a": FIRST, "winner_model_b": SECOND, "winner_tie": TIE}
IDS = ("question_id", "id", "conversation_id", "prompt_id")
# What only files of the arena's own votes have.
VOTED = {"anony", "conv_metadata", "evaluation_session_id"}
# These files are called by both models, and then by the judge.
AFTER_MODELS = re.compile(r"^.*_vs_.*_")
GRADES = {
    "A>>B": (FIRST, 2.0),
    "A>B": (FIRST, 1.0),
    "A=B": (TIE, 0.0),
    "B=A": (TIE, 0.0),
    "B>A": (SECOND, 1.0),
    "B>>A": (SECOND, 2.0),
    "A<B": (SECOND, 1.0),
    "A<<B": (SECOND, 2.0),
    "B<A": (FIRST, 1.0),
    "B<<A": (FIRST, 2.0),
}
START = re.compile(
    r"[<\[]\|?The Start of Assistant ([AB])'s (?:Answer|Conversation)[^>\]\n]*[>\]]\n"
)
END = r"\n[<\[]\|?The End of Assistant {}'s (?:Answer|Conversation)"
ENDS = {seat: re.compile(END.format(seat)) for seat in "AB"}
# Who speaks next in a conversation, in which the user's words stand, too.
SPEAKER = re.compile(r"^### (User|Assistant [AB]):\n", re.MULTILINE)
QUESTION = re.compile(
    r"[<\[]\|?User (?:Prompt|Question)\|?[>\]]\n(.*?)\n\n[<\[]\|?The Start", re.DOTALL
)


def _judge_of(source: Source) -> str:
    """Return who judged where no record says: voters, if the user does not say, either."""
    return source.judge if source.is_judge_given else CROWD


def read_battle(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield one battle."""
    word, names = record.get("winner"), [text_of(record, name) for name in ("model_a", "model_b")]
    if word in names and word not in WINNERS:
        raise RowFault(f"'winner' is {word!r}, a model's name, which the format 'table' reads")
    verdict = verdict_in(record, "winner", WINNERS)
    # Items are answers to one prompt: of a longer conversation that is the first turn.
    texts = answer_text(record, "a", 1), answer_text(record, "b", 1)
    named = optional_text(record, "judge", "user", "voter")
    yield Judgment(
        judge=named or _judge_of(source),
        # Without an id every battle is of a prompt of its own.
        prompt=optional_text(record, *IDS) or digest(str(record)),
        first=names[0],
        second=names[1],
        verdict=verdict,
        reason=UNPARSED if word is None else "",
        turn=optional_text(record, "turn"),
        category=optional_text(record, "category", "language"),
        texts=texts,
        measured=_told_measures(record),
        # Files of the arena's own votes name voters by numbers or hashes, too.
        is_person=not (named or source.is_judge_given)
        or named.startswith("arena_user")
        or bool(named and VOTED & set(record)),
    )


def _told_measures(record: Record) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return tokens and marks of style of both answers, where the log counts them."""
    told = record.get("conv_metadata")
    if not isinstance(told, dict):
        return (), ()
    one, two = (_measures_of_side(told, side) for side in "ab")
    return one, two


def _measures_of_side(told: Record, side: str) -> tuple[float, ...]:
    tokens = number_of(told.get(f"sum_assistant_{side}_tokens"))
    if math.isnan(tokens):
        return ()
    marks = [_total(told.get(f"{kind}_count_{side}")) for kind in ("header", "list", "bold")]
    return (tokens, math.nan, *marks, math.nan, math.nan)


def _total(counts: Any) -> float:
    """Return how many of a kind there are, of which the log counts several."""
    if not isinstance(counts, dict):
        return number_of(counts)
    return sum(map(number_of, counts.values()))


def is_battle(record: Record) -> bool:
    """Say whether a record is a battle; MT-bench has the same fields and says less of them."""
    if not has(record, "model_a", "model_b", "winner"):
        return False
    if not any(name in record for name in IDS):
        return bool(VOTED & set(record))
    if "winner_ab" in record or "judge_pick" in record:
        return False
    own = {"anony", "conv_metadata", "language", "is_code", "tstamp"} & set(record)
    # A winner by name is any table's, or a vote with its judge.
    word = record["winner"]
    is_named = word in (record["model_a"], record["model_b"]) and str(word) not in WINNERS
    return bool(own) or not (is_named or has(record, "question_id", "judge"))


def read_one_hot(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield one battle whose result is written in three columns."""
    told = {name: number_of(record.get(name)) for name in ONE_HOT}
    for name, mark in told.items():
        if name not in record:
            raise RowFault(f"no {name!r}")
        if record[name] is not None and mark not in (0, 1):
            raise RowFault(f"{name!r} is {str(record[name])[:40]!r}, neither 0 nor 1")
    marks = [ONE_HOT[name] for name, mark in told.items() if mark == 1]
    if len(marks) > 1:
        raise RowFault("more than one of winner_model_a, winner_model_b and winner_tie is 1")
    texts = [_last_of_list(record.get(f"response_{side}")) for side in "ab"]
    yield Judgment(
        judge=_judge_of(source),
        prompt=text_of(record, *IDS),
        first=text_of(record, "model_a"),
        second=text_of(record, "model_b"),
        verdict=marks[0] if marks else NO_VERDICT,
        reason="" if marks else UNPARSED,
        texts=(texts[0], texts[1]),
        question=_last_of_list(record.get("prompt")),
        is_person=not source.is_judge_given,
    )


def read_judged_battle(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield what a judge said of a battle, with the people's vote as gold."""
    pick = verdict_in(record, "judge_pick", PICKS)
    yield Judgment(
        judge=optional_text(record, "judge") or AFTER_MODELS.sub("", source.judge),
        prompt=text_of(record, *IDS),
        first=text_of(record, "model_a"),
        second=text_of(record, "model_b"),
        verdict=pick,
        reason=UNPARSED if pick == NO_VERDICT else "",
        gold=verdict_in(record, "human_winner", WINNERS),
    )


def answer_text(record: Record, side: str, last: int | None = None) -> str | None:
    """Return what a model answered in a conversation, all of it or up to a turn."""
    turns = record.get(f"conversation_{side}")
    if isinstance(turns, str) and turns.startswith("["):
        turns = _parse(turns)
    if isinstance(turns, list | tuple):
        said = [
            _content(turn.get("content"))
            for turn in turns
            if isinstance(turn, dict) and turn.get("role") == "assistant"
        ]
        return "".join(said[:last])
    text = record.get(f"response_{side}")
    return text if isinstance(text, str) else None


def _content(content: Any) -> str:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, list | tuple):
        parts = (one.get("text") for one in content if isinstance(one, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _last_of_list(cell: Any) -> str | None:
    """Return the texts of a cell that holds a JSON list of turns."""
    if not isinstance(cell, str):
        return None
    turns = _parse(cell)
    return "".join(one for one in turns if one is not None) if isinstance(turns, list) else cell


def _parse(text: str) -> Any:
    """Return what a cell of JSON holds; the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def shown_answers(prompt: Any) -> tuple[str | None, str | None]:
    """Return the two answers that a judge was shown, from the prompt it was given."""
    if not isinstance(prompt, str):
        return None, None
    found = dict(_marked_parts(prompt))
    return found.get("A"), found.get("B")


def _marked_parts(prompt: str) -> Iterator[tuple[str, str]]:
    """Yield each seat and its answer; a mark without an end, of which a text may hold many, not."""
    unended: set[str] = set()
    at = 0
    while start := START.search(prompt, at):
        at, seat = start.end(), start[1]
        end = None if seat in unended else ENDS[seat].search(prompt, at)
        if end is None:
            unended.add(seat)
            continue
        yield seat, _words_of_assistant(prompt[start.end() : end.start()])
        at = end.end()


def _words_of_assistant(shown: str) -> str:
    """Return an answer, or all that the assistant said in a conversation."""
    before, *turns = SPEAKER.split(shown)
    said = [
        text.strip()
        for speaker, text in zip(turns[::2], turns[1::2], strict=True)
        if speaker != "User"
    ]
    return "".join(said) if said and not before.strip() else shown


def shown_question(prompt: Any) -> str | None:
    """Return the question that a judge was shown."""
    found = QUESTION.search(prompt) if isinstance(prompt, str) else None
    return found[1] if found else None


def read_game(game: Any) -> tuple[int, str, float]:
    """Return the verdict of a game, why there is none, and how decided it is."""
    if not isinstance(game, dict):
        return NO_VERDICT, ERROR, 0.0
    score = game.get("score")
    if score is None:
        said = game.get("judgment")
        said = said.get("answer") if isinstance(said, dict) else said
        return NO_VERDICT, why_missing(said), 0.0
    if score not in GRADES:
        raise RowFault(f"'score' is {str(score)[:40]!r}, none of {', '.join(map(repr, GRADES))}")
    verdict, strength = GRADES[score]
    return verdict, "", strength


def _user_prompt(game: Record) -> Any:
    """Return what the judge was asked: version 2 keeps all messages."""
    messages = game.get("prompt")
    if not isinstance(messages, list):
        return game.get("user_prompt")
    asked = [one for one in messages if isinstance(one, dict) and one.get("role") == "user"]
    return asked[0].get("content") if asked else None


def read_games(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield one judgment for each game."""
    model, games = text_of(record, "model"), list_of(record, "games")
    baseline = optional_text(record, "baseline") or source.baseline
    if len(games) > 2:
        raise RowFault(f"{len(games)} games, where arena-hard has two")
    for place, game in enumerate(games):
        verdict, reason, strength = read_game(game)
        shown = _user_prompt(game) if isinstance(game, dict) else None
        seats = (baseline, model) if place == 0 else (model, baseline)
        yield Judgment(
            judge=text_of(record, "judge"),
            prompt=text_of(record, "question_id", "uid"),
            first=seats[0],
            second=seats[1],
            verdict=verdict,
            reason=reason,
            strength=strength,
            category=str(record.get("category") or ""),
            texts=shown_answers(shown),
            question=shown_question(shown),
        )


READERS = (
    Reader(
        name="arena",
        about="arena battles",
        matches=is_battle,
        read=read_battle,
    ),
    Reader(
        name="arena one-hot",
        about="arena battles, one column a result",
        matches=lambda record: has(record, "model_a", "model_b", *ONE_HOT),
        read=read_one_hot,
        is_documented_only=True,
    ),
    Reader(
        name="arena judges",
        about="arena battles judged again",
        matches=lambda record: has(record, "model_a", "model_b", "human_winner", "judge_pick"),
        read=read_judged_battle,
    ),
    Reader(
        name="arena-hard",
        about="arena-hard games",
        matches=lambda record: (
            has(record, "model", "games") and ("question_id" in record or "uid" in record)
        ),
        read=read_games,
    ),
)
