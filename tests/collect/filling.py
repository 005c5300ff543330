"""Studies that are full already: rows as judges' requests leave them, written all at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.options import CollectOptions
from comparity.collect.setup import Items
from comparity.collect.store import Store, create_store
from comparity.collect.study import study_of

AT_ONCE = 50_000


def make_large(address: str, n_items: int, **choices: Any) -> None:
    """Make a study of texts whose score agrees with the texts' order less for one group."""
    rng = np.random.default_rng(1)
    given = {"question": "Which is better?", "show": "text", "sensitive": "sex", "score": "model"}
    study = study_of(CollectOptions(**{**given, "judges": 1, "each": 1, "seed": 1, **choices}))
    groups = np.array(["f", "m"])[np.arange(n_items) % 2]
    items = Items(
        names=[f"item {place}" for place in range(n_items)],
        shown=[["text"]] * n_items,
        sensitive={"sex": groups.tolist()},
        scores=rng.normal(size=n_items).round(4).tolist(),
    )
    create_store(address, study, items, now=time.time())


def fill(store: Store, n: int, *, judges: int, gap: float, seed: int = 0) -> None:
    """Add judges, each with one list of random pairs, and an answer to every pair.

    Where the better item by score is of the second group, it wins less often, by `gap`.
    """
    rng = np.random.default_rng(seed)
    with store.owner.begin() as connection:
        first = {
            table.name: (connection.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0) + 1
            for table in (schema.BOOKLET, schema.PAIR, schema.ASSIGNMENT, schema.JUDGMENT)
        }
        item = schema.ITEM.c
        query = sa.select(item.id, item.score, item.sensitive).where(item.role == "item")
        known = connection.execute(query).all()
    store.insert_judges(judges, now=1.0)
    with store.owner.begin() as connection:
        who = connection.execute(
            sa.select(schema.JUDGE.c.id).order_by(schema.JUDGE.c.id.desc()).limit(judges)
        ).scalars()
        people = sorted(who)
        booklets = [
            {"id": first["booklet"] + k, "wave": 0, "task": "compare", "is_finished": True}
            for k in range(judges)
        ]
        connection.execute(sa.insert(schema.BOOKLET), booklets)
        for table, rows in _rows(known, n, people, first, gap, rng):
            connection.execute(sa.insert(table), rows)
        for k, judge in enumerate(people):
            done = len(range(k, n, judges))
            mine = sa.update(schema.PROGRESS).where(schema.PROGRESS.c.judge == judge)
            connection.execute(mine.values(answered=done, wanted=done, finished_at=2.0))


def _rows(
    known: Any, n: int, people: list[int], first: dict[str, int], gap: float, rng: Any
) -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    ids = np.array([one.id for one in known])
    score = np.array([one.score for one in known])
    is_second = np.array(['"m"' in one.sensitive for one in known])
    left = rng.integers(0, len(ids), n)
    right = (left + rng.integers(1, len(ids), n)) % len(ids)
    higher = np.where(score[left] > score[right], left, right)
    agrees = rng.random(n) < 0.75 - gap * is_second[higher]
    outcome = np.where((higher == left) == agrees, "left", "right")
    outcome[rng.random(n) < 0.03] = "tie"
    taken = rng.lognormal(8, 0.5, n).astype(int)
    for start in range(0, n, AT_ONCE):
        rows = range(start, min(start + AT_ONCE, n))
        yield (
            schema.PAIR,
            [
                {
                    "id": first["pair"] + k,
                    "kind": "pair",
                    "booklet": first["booklet"] + k % len(people),
                    "place": k // len(people),
                    "left_item": int(ids[left[k]]),
                    "right_item": int(ids[right[k]]),
                    "pair_key": f"filled {first['pair'] + k}",
                    "how": "random",
                    "stratum": STRATA[int(is_second[left[k]]) + int(is_second[right[k]])],
                    "probability": 0.5,
                }
                for k in rows
            ],
        )
        who = [people[k % len(people)] for k in rows]
        given = [
            {
                "id": first["assignment"] + k,
                "public_id": f"filled {first['assignment'] + k}",
                "judge": judge,
                "pair": first["pair"] + k,
                "shown_at": 1.0,
            }
            for k, judge in zip(rows, who, strict=True)
        ]
        yield schema.ASSIGNMENT, given
        yield (
            schema.JUDGMENT,
            [
                {
                    "id": first["judgment"] + k,
                    "assignment": first["assignment"] + k,
                    "judge": judge,
                    "turn": 0,
                    "outcome": str(outcome[k]),
                    "milliseconds": int(taken[k]),
                    "client_id": f"filled {first['judgment'] + k}",
                    "at": 2.0,
                }
                for k, judge in zip(rows, who, strict=True)
            ],
        )
        yield (
            schema.ANSWER,
            [
                {
                    "pair": first["pair"] + k,
                    "scope": 0,
                    "judge": judge,
                    "judgment": first["judgment"] + k,
                }
                for k, judge in zip(rows, who, strict=True)
            ],
        )


STRATA = ("f and f", "f and m", "m and m")
