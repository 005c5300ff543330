"""Logs of arena-hard: two games a question, with the baseline first and then second.

``score`` is in raw seats. In the first game A is the baseline and B the model, in the second A is
the model. The file does not name the baseline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from comparity.judges.readers import (
    EMPTY,
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
    has,
    list_of,
    text_of,
)

GRADES = {
    "A>>B": (FIRST, 2.0),
    "A>B": (FIRST, 1.0),
    "A=B": (TIE, 0.0),
    "B=A": (TIE, 0.0),
    "B>A": (SECOND, 1.0),
    "B>>A": (SECOND, 2.0),
    "A<B": (SECOND, 1.0),
    "A<<B": (SECOND, 2.0),
}
ANSWER = re.compile(
    r"[<\[]\|?The Start of Assistant ([AB])'s (?:Answer|Conversation)[^>\]\n]*[>\]]\n"
    r"(.*?)\n[<\[]\|?The End of Assistant \1's (?:Answer|Conversation)",
    re.DOTALL,
)
QUESTION = re.compile(
    r"[<\[]\|?User (?:Prompt|Question)\|?[>\]]\n(.*?)\n\n[<\[]\|?The Start", re.DOTALL
)


def shown_answers(prompt: Any) -> tuple[str | None, str | None]:
    """Return the two answers that a judge was shown, from the prompt it was given."""
    if not isinstance(prompt, str):
        return None, None
    found = dict(ANSWER.findall(prompt))
    return found.get("A"), found.get("B")


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
        judgment = game.get("judgment")
        return NO_VERDICT, UNPARSED if judgment or judgment is None else EMPTY, 0.0
    if score not in GRADES:
        raise RowFault(f"'score' is {str(score)[:40]!r}, none of {', '.join(map(repr, GRADES))}")
    verdict, strength = GRADES[score]
    return verdict, "", strength


def read(record: Record, source: Source) -> Iterator[Judgment]:
    """Yield one judgment for each game."""
    model, games = text_of(record, "model"), list_of(record, "games")
    if len(games) > 2:
        raise RowFault(f"{len(games)} games, where arena-hard has two")
    for place, game in enumerate(games):
        verdict, reason, strength = read_game(game)
        shown = game.get("user_prompt") if isinstance(game, dict) else None
        seats = (source.baseline, model) if place == 0 else (model, source.baseline)
        yield Judgment(
            judge=text_of(record, "judge"),
            prompt=text_of(record, "question_id"),
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
        name="arena-hard",
        about="arena-hard games",
        matches=lambda record: has(record, "question_id", "model", "games"),
        read=read,
    ),
)
