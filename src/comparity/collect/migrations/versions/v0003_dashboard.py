"""When a study was paused, the password of whoever runs it, and who is logged in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns and the table; nobody is logged in."""
    op.add_column("study", sa.Column("paused_at", sa.Float(), nullable=True))
    op.add_column("study", sa.Column("password", sa.Text(), nullable=True))
    op.create_table(
        "session",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_session")),
    )
