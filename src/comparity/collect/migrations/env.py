"""Run migrations on the connection that :func:`comparity.collect.database.migrate` gives."""

from __future__ import annotations

from alembic import context

from comparity.collect.schema import METADATA


def run() -> None:
    """Run what is asked for."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


# Alembic runs this file; whoever imports it runs nothing.
if hasattr(context, "config"):
    run()
