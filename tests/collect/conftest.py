"""Stores of small studies, in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from comparity.collect.store import Store, create_store, open_store
from tests.collect.postgres import Cluster, running_cluster, why_not
from tests.collect.studies import NOW, small_items, small_study

MakeStore = Callable[..., Store]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    with running_cluster() as found:
        yield found


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "study.db")
        return
    found: Cluster = request.getfixturevalue("cluster")
    with found.empty_database() as name:
        yield name


@pytest.fixture
def make_store(address: str) -> Iterator[MakeStore]:
    with ExitStack() as opened:

        def make(*, n_items: int = 20, **choices: Any) -> Store:
            create_store(address, small_study(**choices), small_items(n_items), now=NOW)
            return opened.enter_context(open_store(address))

        yield make
