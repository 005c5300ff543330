"""Every judgment that was acknowledged survives ``kill -9``, on both databases."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter

import pytest
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.store import create_store, open_store
from comparity.collect.visits import cookie_name
from tests.collect.crowd import Crowd, gather_crowd, running_server
from tests.collect.studies import small_items, small_study
from tests.collect.test_machine import check_counts

JUDGES = 12


def kill_and_compare(address: str, kills: int) -> int:
    """Kill the server again and again under load; return how many judgments were acknowledged."""
    study = small_study(judges=JUDGES, each=400 + 10 * kills, lease_minutes=100)
    create_store(address, study, small_items(200), now=time.time())
    with open_store(address) as store:
        tokens = [token for _, token in store.insert_judges(JUDGES, now=time.time())]
        cookie = cookie_name(store.study)
    with running_server(address) as server:
        crowd = Crowd(port=server.port, cookie=cookie)
        asyncio.run(gather_crowd(crowd, tokens, server=server, kills=kills, most=40))
    assert not crowd.faults
    with open_store(address) as store:
        with store.owner.begin() as connection:
            kept = connection.execute(
                sa.select(schema.JUDGMENT.c.client_id, schema.JUDGMENT.c.outcome)
            ).all()
        check_counts(store.owner)
    found = dict(kept)
    # An answer that was on the disk when the server died, before it could say so, is there, too.
    assert {one.client_id: one.outcome for one in crowd.acknowledged}.items() <= found.items()
    assert max(Counter(one.client_id for one in kept).values()) == 1
    assert len(kept) - len(crowd.acknowledged) <= JUDGES * (kills + 1)
    return len(crowd.acknowledged)


@pytest.fixture(autouse=True)
def tell_seed() -> None:
    random.seed(seed := int.from_bytes(os.urandom(4)))
    print(f"seed {seed}")


@pytest.mark.long
def test_five_kills_lose_nothing(address: str) -> None:
    assert kill_and_compare(address, 5) >= 5


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(address: str) -> None:
    assert kill_and_compare(address, 200) > 1000
