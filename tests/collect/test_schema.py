"""The migrations make the tables that the code describes."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from comparity.collect import schema
from comparity.collect.migrations import STEPS
from tests.collect.conftest import MakeStore


def test_migrations_and_description_agree(make_store: MakeStore) -> None:
    store = make_store()
    with store.owner.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.METADATA) == []
        views = {*sa.inspect(connection).get_view_names()}
    assert views == {*schema.VIEWS}


def test_the_version_is_the_last_migration() -> None:
    assert [*STEPS][-1] == max(STEPS) == schema.VERSION


def test_every_column_is_hidden_or_in_a_view() -> None:
    """A new column has to be put on one side or the other."""
    from tests.collect.test_blindness import HIDDEN

    shown = {
        (one.table.name, one.name) for q in schema.VIEWS.values() for one in q.selected_columns
    }
    written = {(table, one) for table, names in schema.KEYS.items() for one in names}
    logged = {("event", "kind"), ("event", "at"), ("event", "id"), ("event", "judge")}
    logged |= {(t, "created_at") for t in ("study", "judge", "token")} | {("judge", "erased_at")}
    logged |= {("judge", "external_sha256"), ("assignment", "shown_at"), ("judgment", "at")}
    logged |= {("booklet", "wave")}
    known = {(t.name, c.name) for t in schema.METADATA.sorted_tables for c in t.columns}
    assert known - HIDDEN - shown - written - logged == set()
    assert Path(schema.__file__).is_file()
