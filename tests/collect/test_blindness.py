"""Contract: nothing that judges' requests can ask of the database tells what they must not know.

Statements are tried on the real databases: SQLite says which columns of which tables a statement
reads when it is prepared, PostgreSQL refuses what the role of judges' requests has no right to.
"""

from __future__ import annotations

import re
import sqlite3

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from comparity.collect import database, schema
from comparity.collect.schema import VIEWS
from comparity.collect.sql_statements import STATEMENTS
from tests.collect.conftest import MakeStore
from tests.collect.studies import NOW, SECRETS
from tests.collect.test_store import answer, judge_of, shown, tokens

HIDDEN = {
    ("item", "name"),
    ("item", "sensitive"),
    ("item", "score"),
    ("item", "role"),
    ("pair", "kind"),
    ("pair", "stratum"),
    ("pair", "how"),
    ("pair", "probability"),
    ("judge", "name"),
    ("judge", "external"),
    ("judgment", "outcome"),
    ("judgment", "milliseconds"),
    ("study", "definition"),
    ("study", "password"),
    ("session", "sha256"),
    ("session", "created_at"),
    ("session", "expires_at"),
    ("event", "detail"),
}
PERSONAL = {"judge_progress", "judge_assignment", "judge_judgment"}
"""Views with rows about one judge each: queries bind which."""


def columns_read(path: str, statement: str) -> set[tuple[str, str, str]]:
    """Return table, column and view of all that SQLite reads for a statement."""
    found: set[tuple[str, str, str]] = set()

    def note(action: int, first: str, second: str, _: str, through: str) -> int:
        if action == sqlite3.SQLITE_READ:
            found.add((first, second, through or ""))
        return sqlite3.SQLITE_OK

    connection = sqlite3.connect(path)
    connection.set_authorizer(note)
    connection.execute(f"EXPLAIN {statement}", dict.fromkeys(re.findall(r":(\w+)", statement)))
    connection.close()
    return found


def as_sql(statement: sa.Executable, dialect: sa.Dialect) -> str:
    return str(statement.compile(dialect=dialect))  # type: ignore[attr-defined]


NAMED = sqlite.dialect(paramstyle="named")
ON_SQLITE = {name: as_sql(one, NAMED) for name, one in STATEMENTS.items() if name != "lock judge"}


@pytest.fixture
def sqlite_study(make_store: MakeStore, address: str) -> str:
    if database.is_postgresql(address):
        pytest.skip("of SQLite")
    make_store(practice=1, attention=1)
    return address


def test_no_statement_of_judges_reads_what_is_hidden(sqlite_study: str) -> None:
    read = {name: columns_read(sqlite_study, sql) for name, sql in ON_SQLITE.items()}
    told = {(table, column) for found in read.values() for table, column, _ in found}
    assert ("item", "shown") in told
    assert not told & HIDDEN - {("pair", "kind")}
    # What a practice pair expects, and that it is one, is read through one view alone.
    for secret in ("expected", "kind", "note"):
        through = {via for found in read.values() for _, column, via in found if column == secret}
        assert through <= {"judge_practice", ""}
    direct = {(t, c) for found in read.values() for t, c, via in found if via == "" and t == "pair"}
    assert direct <= {("pair", "id")}


def test_a_statement_that_reads_what_is_hidden_would_be_noticed(sqlite_study: str) -> None:
    for table, column in HIDDEN:
        assert (table, column, "") in columns_read(sqlite_study, f"SELECT {column} FROM {table}")


def test_queries_about_people_are_about_one_judge() -> None:
    for name, sql in ON_SQLITE.items():
        if not sql.startswith("SELECT") or name == "judge of token":
            continue
        for view in PERSONAL:
            assert (view not in sql) or ":me" in sql, name


def test_judges_requests_issue_no_other_statement(make_store: MakeStore, address: str) -> None:
    store = make_store(practice=1, attention=1, consent="yes", checks=1, open_link=True)
    dialect = store.owner.dialect
    known = {" ".join(as_sql(one, dialect).split()) for one in STATEMENTS.values()}
    issued: set[str] = set()
    for engine in {store._judges, store._readers}:
        sa.event.listen(
            engine,
            "before_cursor_execute",
            lambda _c, _k, sql, *_: issued.add(" ".join(sql.split())),
        )
    token = store.insert_judge(external={"a": "b"}, now=NOW)
    store.record_consent(judge_of(store, token), now=NOW)
    store.record_comprehension(judge_of(store, token), passed=True, now=NOW)
    for _ in range(4):
        answer(store, token)
    store.insert_undo(judge_of(store, token), client_id="u", now=NOW)
    store.insert_event(judge_of(store, token), kind="rested", detail={}, now=NOW)
    store.select_picture("none")
    issued = {one for one in issued if not re.match(r"(BEGIN|SAVEPOINT|ROLLBACK|RELEASE)", one)}
    assert len(issued) > 15
    # Inserts name the columns they are given; tables and verbs are what matters of them.
    kinds = {re.sub(r"\(.*", "", one) for one in known}
    for one in issued:
        assert one in known or re.sub(r"\(.*", "", one) in kinds, one


REFUSED = r"prohibited|not authorized|permission|owner"
HOSTILE = [
    "SELECT name FROM item",
    "SELECT score FROM item",
    "SELECT sensitive FROM item",
    "SELECT * FROM item",
    "SELECT count(*) FROM item WHERE score > 3",
    "SELECT judge_item.shown FROM judge_item JOIN item USING (id) ORDER BY item.score",
    "SELECT stratum FROM pair",
    "SELECT expected FROM pair",
    "SELECT outcome FROM judgment",
    "SELECT external FROM judge",
    "SELECT name FROM judge",
    "SELECT definition FROM study",
    "SELECT detail FROM event",
    "SELECT password FROM study",
    "SELECT sha256 FROM session",
    "INSERT INTO session VALUES ('a', 0, 1e12)",
    "UPDATE study SET password = NULL",
    "UPDATE study SET paused_at = NULL",
    "UPDATE judgment SET outcome = 'left'",
    "UPDATE item SET score = 1",
    "UPDATE pair SET expected = 'left'",
    "UPDATE study SET closed_at = NULL",
    "UPDATE token SET revoked_at = NULL",
    "DELETE FROM judgment",
    "DELETE FROM event",
    "INSERT INTO item SELECT * FROM item",
    "DROP VIEW judge_item",
    "CREATE TABLE mine (id INTEGER)",
]


@pytest.mark.parametrize("sql", HOSTILE)
def test_the_database_refuses_judges_what_is_hidden(make_store: MakeStore, sql: str) -> None:
    store = make_store()
    for engine in {store._judges, store._readers}:
        refused = pytest.raises(sa.exc.DBAPIError, match=REFUSED)
        with refused, engine.begin() as connection:
            connection.exec_driver_sql(sql)


@pytest.mark.parametrize("sql", ["ATTACH 'other.db' AS o", "PRAGMA table_info(item)", "VACUUM"])
def test_sqlite_refuses_judges_what_is_no_query(sqlite_study: str, sql: str) -> None:
    engine = database.judge_engine(sqlite_study)
    with pytest.raises(sa.exc.DBAPIError), engine.begin() as connection:
        connection.exec_driver_sql(sql)
    engine.dispose()


def test_what_pages_get_holds_no_secret(make_store: MakeStore) -> None:
    store = make_store(practice=1, attention=1, attention_share=0.3)
    (token,) = tokens(store, 1)
    seen = [repr(store.study)]
    for _ in range(6):
        seen += [repr(judge_of(store, token)), repr(shown(store, token))]
        seen.append(repr(answer(store, token)))
    text = " ".join(seen)
    assert "text number" in text
    for secret in map(str, SECRETS):
        assert secret.removeprefix("0") not in text
    assert "attention'" not in text


def test_numbers_of_items_tell_nothing_of_their_order(make_store: MakeStore) -> None:
    store = make_store(n_items=40)
    with store.owner.begin() as connection:
        rows = connection.execute(sa.select(schema.ITEM.c.id, schema.ITEM.c.name)).all()
    order = [int(name.rpartition("-")[2]) for _, name in sorted(rows)]
    assert sorted(order) == list(range(40)) != order


def test_views_are_what_the_grants_are_of() -> None:
    granted = " ".join(database.grant_statements())
    assert all(f"GRANT SELECT ON {name} TO" in granted for name in VIEWS)
    for table, column in HIDDEN:
        found = re.findall(rf"GRANT SELECT \(([^)]*)\) ON {table} TO", granted)
        assert not any(column in one.split(", ") for one in found)
        assert f"GRANT SELECT ON {table} TO" not in granted
