"""How the tables of a study came to be what they are, step by step (Alembic).

A study keeps the version of its tables in a table of Alembic's. A step that was published is never
changed: studies that went through it are out there.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from alembic.migration import MigrationContext
from alembic.operations import Operations

REACHED = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def upgrade_tables(connection: sa.Connection) -> None:
    """Take the steps that the tables of a study have not gone through yet."""
    REACHED.create(connection, checkfirst=True)
    found = connection.execute(sa.select(REACHED.c.version_num)).scalar()
    ahead = [version for version in STEPS if found is None or version > found]
    if not ahead:
        return
    with Operations.context(MigrationContext.configure(connection)):
        for version in ahead:
            STEPS[version]()
    connection.execute(sa.delete(REACHED))
    connection.execute(sa.insert(REACHED), {"version_num": ahead[-1]})


def _make_first_tables() -> None:
    """Make the tables."""
    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sensitive", sa.Text(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
    )
    op.create_table(
        "judge",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("external", sa.Text(), nullable=False),
        sa.Column("external_sha256", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("erased_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judge")),
        sa.UniqueConstraint("external_sha256", name=op.f("uq_judge_external_sha256")),
        sa.UniqueConstraint("name", name=op.f("uq_judge_name")),
    )
    op.create_table(
        "picture",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("media_type", sa.String(length=40), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_picture")),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("closed_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
    )
    op.create_table(
        "booklet",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Integer(), nullable=True),
        sa.Column("active_at", sa.Float(), nullable=True),
        sa.Column("is_finished", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["holder"], ["judge.id"], name=op.f("fk_booklet_holder")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_booklet")),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("judge", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["judge"], ["judge.id"], name=op.f("fk_event_judge")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index(op.f("ix_event_judge"), "event", ["judge"], unique=False)
    op.create_table(
        "token",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("judge", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["judge"], ["judge.id"], name=op.f("fk_token_judge")),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_token")),
    )
    op.create_index(op.f("ix_token_judge"), "token", ["judge"], unique=False)
    op.create_table(
        "pair",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("booklet", sa.Integer(), nullable=True),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("left_item", sa.Integer(), nullable=False),
        sa.Column("right_item", sa.Integer(), nullable=False),
        sa.Column("pair_key", sa.Text(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=True),
        sa.Column("how", sa.String(length=10), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("expected", sa.String(length=5), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["booklet"], ["booklet.id"], name=op.f("fk_pair_booklet")),
        sa.ForeignKeyConstraint(["left_item"], ["item.id"], name=op.f("fk_pair_left_item")),
        sa.ForeignKeyConstraint(["repeats"], ["pair.id"], name=op.f("fk_pair_repeats")),
        sa.ForeignKeyConstraint(["right_item"], ["item.id"], name=op.f("fk_pair_right_item")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pair")),
        sa.UniqueConstraint("booklet", "place", name=op.f("uq_pair_booklet_place")),
    )
    op.create_table(
        "progress",
        sa.Column("judge", sa.Integer(), nullable=False),
        sa.Column("consented_at", sa.Float(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("passed_at", sa.Float(), nullable=True),
        sa.Column("practised", sa.Integer(), nullable=False),
        sa.Column("answered", sa.Integer(), nullable=False),
        sa.Column("rested", sa.Integer(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("booklet", sa.Integer(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["booklet"], ["booklet.id"], name=op.f("fk_progress_booklet")),
        sa.ForeignKeyConstraint(["judge"], ["judge.id"], name=op.f("fk_progress_judge")),
        sa.PrimaryKeyConstraint("judge", name=op.f("pk_progress")),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_id", sa.String(length=32), nullable=False),
        sa.Column("judge", sa.Integer(), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=False),
        sa.Column("shown_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["judge"], ["judge.id"], name=op.f("fk_assignment_judge")),
        sa.ForeignKeyConstraint(["pair"], ["pair.id"], name=op.f("fk_assignment_pair")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment")),
        sa.UniqueConstraint("judge", "pair", name=op.f("uq_assignment_judge_pair")),
        sa.UniqueConstraint("public_id", name=op.f("uq_assignment_public_id")),
    )
    op.create_index(op.f("ix_assignment_pair"), "assignment", ["pair"], unique=False)
    op.create_table(
        "judgment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("assignment", sa.Integer(), nullable=False),
        sa.Column("judge", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=5), nullable=False),
        sa.Column("milliseconds", sa.Integer(), nullable=True),
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment"], ["assignment.id"], name=op.f("fk_judgment_assignment")
        ),
        sa.ForeignKeyConstraint(["judge"], ["judge.id"], name=op.f("fk_judgment_judge")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgment")),
        sa.UniqueConstraint("assignment", "turn", name=op.f("uq_judgment_assignment_turn")),
        sa.UniqueConstraint("judge", "client_id", name=op.f("uq_judgment_judge_client_id")),
    )
    op.create_table(
        "answer",
        sa.Column("pair", sa.Integer(), nullable=False),
        sa.Column("scope", sa.Integer(), nullable=False),
        sa.Column("judge", sa.Integer(), nullable=False),
        sa.Column("judgment", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["judge"], ["judge.id"], name=op.f("fk_answer_judge")),
        sa.ForeignKeyConstraint(["judgment"], ["judgment.id"], name=op.f("fk_answer_judgment")),
        sa.ForeignKeyConstraint(["pair"], ["pair.id"], name=op.f("fk_answer_pair")),
        sa.PrimaryKeyConstraint("pair", "scope", name=op.f("pk_answer")),
    )
    op.create_index(op.f("ix_answer_judge"), "answer", ["judge"], unique=False)


def _add_ratings() -> None:
    """Let items be rated, and judges rate; whoever was there before compares."""
    for table in ("booklet", "progress"):
        task = sa.Column("task", sa.String(length=10), nullable=False, server_default="compare")
        op.add_column(table, task)
    op.add_column("progress", sa.Column("surveyed_at", sa.Float(), nullable=True))


def _add_dashboard() -> None:
    """Let a study be paused, and whoever runs it log in; nobody is logged in."""
    op.add_column("study", sa.Column("paused_at", sa.Float(), nullable=True))
    op.add_column("study", sa.Column("password", sa.Text(), nullable=True))
    op.create_table(
        "session",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_session")),
    )


def _add_index_of_pairs() -> None:
    """Find the same pair in other lists without reading all: each next pair asks for that."""
    op.create_index(op.f("ix_pair_pair_key"), "pair", ["pair_key"], unique=False)


STEPS = {
    "0001": _make_first_tables,
    "0002": _add_ratings,
    "0003": _add_dashboard,
    "0004": _add_index_of_pairs,
}
"""What leads to each version, in order."""
