"""The migrations make the tables that the code describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine.default import DefaultDialect

from comparity.collect import schema
from comparity.collect.migrations import STEPS
from comparity.collect.sql_statements import STATEMENTS
from comparity.collect.store import open_store
from tests.collect.conftest import MakeStore
from tests.collect.filling import fill, make_large


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


def rows_read(plan: dict[str, Any]) -> float:
    """Return how many rows the steps of a plan of PostgreSQL looked at."""
    here = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    return here * plan["Actual Loops"] + sum(map(rows_read, plan.get("Plans", ())))


def test_the_next_pair_is_found_without_reading_all_pairs(address: str) -> None:
    if not address.startswith("postgresql"):
        pytest.skip("SQLite begins with the judge's own answers")
    make_large(address, 50)
    asked = STATEMENTS["open pairs"].compile(dialect=DefaultDialect(paramstyle="named"))
    with open_store(address) as store:
        fill(store, 2000, judges=8, gap=0.1)
        with store.owner.begin() as connection:
            booklet = sa.text("UPDATE booklet SET holder = 1 WHERE id = 2")
            connection.execute(booklet)
            connection.execute(sa.text("ANALYZE"))
            query = sa.text(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}")
            values = {**asked.params, "me": 1, "booklet": 2, "most": 2}
            (plan,) = connection.execute(query, values).scalar_one()
    # Of each of 250 pairs in the list a few rows, and not 2,000.
    assert 250 <= rows_read(plan["Plan"]) < 250 * 20
