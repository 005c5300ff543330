"""Items that are rated, judges who rate, and when a judge answered the questionnaire."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns; whoever was there before compares."""
    for table in ("booklet", "progress"):
        task = sa.Column("task", sa.String(length=10), nullable=False, server_default="compare")
        op.add_column(table, task)
    op.add_column("progress", sa.Column("surveyed_at", sa.Float(), nullable=True))
