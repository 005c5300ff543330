"""The tables of a study, and the views of them that judges' requests use.

Answers are only ever added: ``judge``, ``assignment``, ``judgment`` and ``event`` are logs, and
triggers refuse to change a row of the last three. What stands at present (who holds which booklet,
which answers have not been taken back, how far a judge is) is kept beside them in ``booklet``,
``answer`` and ``progress``, changes in the same transaction, and follows from the logs.

Requests of judges use the views named ``judge_...``. None of them has groups, scores, names of
items, strata, what an attention pair expects, or what anybody answered. In SQLite an authorizer
refuses every other read (:mod:`comparity.collect.database`), in PostgreSQL the role that judges'
requests use has no other right.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, LargeBinary, String, Text

VERSION = "0004"
"""The last of the migrations."""

METADATA = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)


def _refers(table: str) -> Any:
    return ForeignKey(f"{table}.id")


STUDY = sa.Table(
    "study",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("closed_at", Float),
    Column("paused_at", Float),
    Column("password", Text),
)

# Who is logged in to the dashboard; only hashes of tokens are kept.
SESSION = sa.Table(
    "session",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
)

# Rows are numbered at random, so that a number tells nothing of the order in the file.
ITEM = sa.Table(
    "item",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("role", String(10), nullable=False),
    Column("name", Text, nullable=False),
    Column("sensitive", Text, nullable=False),
    Column("score", Float),
    Column("shown", Text, nullable=False),
)

PICTURE = sa.Table(
    "picture",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("media_type", String(40), nullable=False),
    Column("data", LargeBinary, nullable=False),
)

BOOKLET = sa.Table(
    "booklet",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("wave", Integer, nullable=False),
    Column("task", String(10), nullable=False, server_default="compare"),
    Column("holder", Integer, _refers("judge")),
    Column("active_at", Float),
    Column("is_finished", Boolean, nullable=False),
)

# An item that is to be rated is a pair whose two sides are the same item.
PAIR = sa.Table(
    "pair",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("booklet", Integer, _refers("booklet")),
    Column("place", Integer, nullable=False),
    Column("left_item", Integer, _refers("item"), nullable=False),
    Column("right_item", Integer, _refers("item"), nullable=False),
    Column("pair_key", Text, nullable=False, index=True),
    Column("repeats", Integer, _refers("pair")),
    Column("how", String(10), nullable=False),
    Column("stratum", Text, nullable=False),
    Column("probability", Float),
    Column("expected", String(5)),
    Column("note", Text),
    sa.UniqueConstraint("booklet", "place"),
)

JUDGE = sa.Table(
    "judge",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("external", Text, nullable=False),
    Column("external_sha256", String(64), unique=True),
    Column("created_at", Float, nullable=False),
    Column("erased_at", Float),
)

TOKEN = sa.Table(
    "token",
    METADATA,
    Column("sha256", String(64), primary_key=True),
    Column("judge", Integer, _refers("judge"), nullable=False, index=True),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("revoked_at", Float),
)

PROGRESS = sa.Table(
    "progress",
    METADATA,
    Column("judge", Integer, _refers("judge"), primary_key=True),
    Column("consented_at", Float),
    Column("tries", Integer, nullable=False),
    Column("passed_at", Float),
    Column("practised", Integer, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("rested", Integer, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("booklet", Integer, _refers("booklet")),
    Column("finished_at", Float),
    Column("task", String(10), nullable=False, server_default="compare"),
    Column("surveyed_at", Float),
)

ASSIGNMENT = sa.Table(
    "assignment",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("public_id", String(32), nullable=False, unique=True),
    Column("judge", Integer, _refers("judge"), nullable=False),
    Column("pair", Integer, _refers("pair"), nullable=False, index=True),
    Column("shown_at", Float, nullable=False),
    sa.UniqueConstraint("judge", "pair"),
)

# Answers to an assignment have even turns, and what takes them back has odd ones.
JUDGMENT = sa.Table(
    "judgment",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("assignment", Integer, _refers("assignment"), nullable=False),
    Column("judge", Integer, _refers("judge"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("outcome", String(5), nullable=False),
    Column("milliseconds", Integer),
    Column("client_id", String(64), nullable=False),
    Column("at", Float, nullable=False),
    sa.UniqueConstraint("assignment", "turn"),
    sa.UniqueConstraint("judge", "client_id"),
)

# The scope is 0 for the whole study, and the judge for practice, which everyone does.
ANSWER = sa.Table(
    "answer",
    METADATA,
    Column("pair", Integer, _refers("pair"), primary_key=True),
    Column("scope", Integer, primary_key=True),
    Column("judge", Integer, _refers("judge"), nullable=False, index=True),
    Column("judgment", Integer, _refers("judgment"), nullable=False),
)

EVENT = sa.Table(
    "event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("judge", Integer, _refers("judge"), index=True),
    Column("kind", String(40), nullable=False),
    Column("detail", Text, nullable=False),
    Column("at", Float, nullable=False),
)

LOGS = (ASSIGNMENT, JUDGMENT, EVENT)
"""Tables whose rows are never changed."""

PRACTICE, PAIRED, RATED, ATTENTION = "practice", "pair", "rating", "attention"


def _columns(table: sa.Table, *names: str) -> sa.Select[Any]:
    return sa.select(*(table.c[name] for name in names))


VIEWS: dict[str, sa.Select[Any]] = {
    "judge_study": _columns(STUDY, "id", "closed_at", "paused_at"),
    "judge_item": _columns(ITEM, "id", "shown"),
    "judge_picture": _columns(PICTURE, "id", "media_type", "data"),
    "judge_pair": _columns(
        *(PAIR, "id", "booklet", "place", "left_item", "right_item", "pair_key", "repeats")
    ),
    "judge_practice": _columns(PAIR, "id", "place", "expected", "note").where(
        PAIR.c.kind == sa.literal_column(f"'{PRACTICE}'")
    ),
    "judge_token": _columns(TOKEN, "sha256", "judge", "expires_at", "revoked_at"),
    "judge_progress": _columns(
        *(PROGRESS, "judge", "consented_at", "tries", "passed_at", "practised", "answered"),
        *("rested", "wanted", "booklet", "finished_at", "task", "surveyed_at"),
    ),
    "judge_assignment": _columns(ASSIGNMENT, "id", "public_id", "judge", "pair"),
    "judge_judgment": _columns(JUDGMENT, "id", "assignment", "judge", "turn", "client_id"),
    "judge_answer": _columns(ANSWER, "pair", "scope", "judge", "judgment"),
}
"""What judges' requests may read."""

WRITES: dict[str, tuple[str, ...]] = {
    "booklet": ("holder", "active_at", "is_finished"),
    "progress": (
        *("consented_at", "tries", "passed_at", "practised", "answered", "rested", "wanted"),
        *("booklet", "finished_at", "surveyed_at"),
    ),
}
"""What judges' requests may change, by table and column."""

ADDS = ("judge", "token", "progress", "assignment", "judgment", "answer", "event")
"""Tables that judges' requests may add rows to."""

REMOVES = ("answer",)
"""Tables that judges' requests may remove rows from: an answer that is taken back."""

KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("judge", "pair", "assignment", "judgment"), ("id",)),
    "event": ("id",),
    "booklet": ("id", "task", "holder", "active_at", "is_finished"),
    "progress": ("judge", "tries", "answered", "practised"),
    "answer": ("pair", "scope"),
}
"""Columns that rows are found by where they are changed, or that others refer to."""


def view(name: str) -> sa.Table:
    """Return a view as a table of its own, whose columns queries can name."""
    return _SEEN.tables[name]


_SEEN = sa.MetaData()
for _name, _query in VIEWS.items():
    sa.Table(_name, _SEEN, *(Column(one.name, one.type) for one in _query.selected_columns))


def view_sql(name: str, dialect: sa.Dialect) -> str:
    """Return the statement that makes a view."""
    query = VIEWS[name].compile(dialect=dialect)
    return f"CREATE VIEW {name} AS {query}"
