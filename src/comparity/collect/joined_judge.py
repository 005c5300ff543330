"""A judge, the tokens of judges' links, and what a judge is shown."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

State = Literal[
    "consent",
    "comprehension",
    "practice",
    "judging",
    "break",
    "questionnaire",
    "done",
    "paused",
    "closed",
    "excluded",
]
Task = Literal["compare", "rate"]
Outcome = str
"""``left``, ``right``, ``tie``, ``skip``, or a rating such as ``5``."""
TOKEN_BYTES = 16
"""128 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many pairs a judge has judged, of how many; practice is not counted."""

    done: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge, as far as judges' requests know.

    Attributes
    ----------
    id : int
        Number in the database, never shown.
    task : {"compare", "rate"}
    state : str
        What comes next for the judge.
    progress : Progress
    practised : int
        Practice pairs done.
    tries : int
        Tries left at the comprehension check.
    """

    id: int
    task: Task
    state: State
    progress: Progress
    practised: int
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One column of an item: its text, or the id of a picture."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """What judges see of an item."""

    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A pair, or an item to be rated, that is shown to a judge.

    Attributes
    ----------
    public_id : str
        Random; tells nothing of the pair.
    task : {"compare", "rate"}
    kind : {"practice", "pair"}
        Attention pairs are pairs to everyone on this side, and so are items to be rated.
    left, right : ItemView
        Both are the item that is to be rated.
    number, of : int
        Place of the pair in what the judge sees, and how many there are.
    """

    public_id: str
    task: Task
    kind: Literal["practice", "pair"]
    left: ItemView
    right: ItemView
    number: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of an answer.

    Attributes
    ----------
    is_new : bool
        Whether it was stored now; false where it, or another answer to the same pair, was before.
    is_right : bool or None
        Whether an answer to a practice pair is the known one.
    note : str
        What the study says of a practice pair.
    """

    is_new: bool
    is_right: bool | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image that an item shows."""

    media_type: str
    data: bytes


def new_token() -> str:
    """Return a fresh token, safe in an address.

    Examples
    --------
    >>> len(new_token()), new_token() != new_token()
    (22, True)
    """
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_public_id() -> str:
    """Return an id that tells nothing of what it stands for.

    Examples
    --------
    >>> len(new_public_id())
    22
    """
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_sha256(token: str) -> str:
    """Return what is kept of a token.

    Examples
    --------
    >>> token_sha256("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def external_sha256(external: Mapping[str, str]) -> str | None:
    """Return one number for ids of a panel, whatever their order; None for no ids.

    Examples
    --------
    >>> one = external_sha256({"PROLIFIC_PID": "5f", "STUDY_ID": "61"})
    >>> one == external_sha256({"STUDY_ID": "61", "PROLIFIC_PID": "5f"})
    True
    """
    if not external:
        return None
    return token_sha256(json.dumps(dict(sorted(external.items()))))
