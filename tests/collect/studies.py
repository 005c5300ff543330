"""Small studies for tests."""

from __future__ import annotations

from typing import Any

from comparity.collect.options import CollectOptions
from comparity.collect.setup import Items
from comparity.collect.study import StudyDescription, study_of

NOW = 1_700_000_000.0
PRACTICE = {"better": {"text": "good"}, "worse": {"text": "bad"}, "note": "good is better"}
ATTENTION = {"better": {"text": "pick this"}, "worse": {"text": "not this"}}
CHECK = {"question": "What is asked?", "answers": ["who", "what"], "right": 2}
SECRETS = ("secret-name-", "secret-group-", 0.123456)
"""What no judge may see: how names and groups of items begin, and the fraction of every score."""


def small_study(
    *, practice: int = 0, attention: int = 0, checks: int = 0, **choices: Any
) -> StudyDescription:
    """Return a study of pairs of texts."""
    known = {"question": "Which is better?", "show": ("text",), "sensitive": ("sex",), "score": "s"}
    options = CollectOptions(**{**known, "judges": 3, "each": 6, "seed": 7, **choices})
    return study_of(
        options,
        practice=[PRACTICE] * practice,
        attention=[ATTENTION] * attention,
        checks=[CHECK] * checks,
    )


def small_items(n: int = 20) -> Items:
    """Return items of two groups whose names, groups and scores can be told from what is shown."""
    return Items(
        names=[f"{SECRETS[0]}{place}" for place in range(n)],
        shown=[[f"text number {place}"] for place in range(n)],
        sensitive={"sex": [f"{SECRETS[1]}{'ab'[place % 2]}" for place in range(n)]},
        scores=[place + float(SECRETS[2]) for place in range(n)],
    )
