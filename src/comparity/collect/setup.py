"""How a study is set up: its items, the known pairs, and the booklets that are drawn of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.database import inserted_id
from comparity.collect.joined_judge import Picture, Task, new_public_id
from comparity.collect.pairing import (
    PlannedPair,
    draw_booklets,
    draw_ratings,
    judges_of,
    wave_sizes,
)
from comparity.collect.study import HIGH, LOW, KnownPair, StudyDescription
from comparity.errors import FileAccessError, MissingValueError, Offenders, StudyError

PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
"""What files of images begin with."""
MOST_PICTURE_BYTES = 10 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Items by position.

    Attributes
    ----------
    names : sequence of str
        Their ids, which judges never see.
    shown : sequence of sequence of str
        What is shown of each, in the order of the study's columns.
    sensitive : mapping of str to sequence of str
        Groups, by attribute.
    scores : sequence of float or None
    pictures : mapping of str to Picture
        By the id that `shown` holds in place of a file.
    """

    names: Sequence[str]
    shown: Sequence[Sequence[str]]
    sensitive: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scores: Sequence[float] | None = None
    pictures: Mapping[str, Picture] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)


def read_items(path: str | Path, study: StudyDescription) -> Items:
    """Read the items of a study from a table; images are read from the files it names.

    Parameters
    ----------
    path : path
        Any file that :func:`comparity.tables.files.read_table` reads.
    study : StudyDescription
    """
    from comparity.ranking.items import item_names
    from comparity.ranking.judgments import columns_of
    from comparity.tables.files import read_table
    from comparity.tables.values import numbers

    options, columns = study.options, [one.name for one in study.show]
    wanted = [options.item, *columns, *options.sensitive, options.score]
    held = columns_of(read_table(path), "items", wanted)
    _check_gaps(held, columns)
    pictures: dict[str, Picture] = {}
    texts = [
        [add_picture(str(one), Path(path).parent, pictures) for one in held[column.name]]
        if column.kind == "image"
        else [str(one) for one in held[column.name]]
        for column in study.show
    ]
    scores = None
    if options.score is not None:
        scores = numbers(held[options.score], options.score, "items").tolist()
    return Items(
        names=[str(one) for one in item_names(held[options.item], options.item)],
        shown=[list(row) for row in zip(*texts, strict=True)],
        sensitive={name: [str(one) for one in held[name]] for name in options.sensitive},
        scores=scores,
        pictures=pictures,
    )


def _check_gaps(held: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        rows = [place for place, one in enumerate(held[name]) if one is None or one != one]
        first = tuple(row + 1 for row in rows[:5])
        if rows:
            raise MissingValueError(name, "items", Offenders(len(rows), first))


def add_picture(name: str, folder: Path, pictures: dict[str, Picture]) -> str:
    """Read an image and return the id under which it is kept."""
    file = folder / name
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FileAccessError(str(file), error.strerror or str(error)) from error
    if len(data) > MOST_PICTURE_BYTES:
        hint = f"use images of at most {MOST_PICTURE_BYTES // 2**20} MB."
        raise StudyError(f"image {name!r}", "this is too large.", f"{len(data):,} bytes", hint)
    key = new_public_id()
    pictures[key] = Picture(media_type=_media_type(data, name), data=data)
    return key


def _media_type(data: bytes, name: str) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for start, media_type in PICTURES.items():
        if data.startswith(start):
            return media_type
    # SVG can hold scripts; what an ending says is not what a file is.
    hint = "use PNG, JPEG, GIF or WebP."
    raise StudyError(f"image {name!r}", "this is no image.", repr(data[:8]), hint)


ITEM_ROLE = "item"


def insert_study(
    connection: sa.Connection, study: StudyDescription, items: Items, now: float
) -> None:
    """Keep a new study, its items and the first booklets."""
    study = replace(study, identity=new_public_id())
    values = {"id": 1, "definition": study.to_json(), "created_at": now}
    connection.execute(sa.insert(schema.STUDY), values)
    _insert_items(connection, study, items)
    pictures = [
        {"id": key, "media_type": one.media_type, "data": one.data}
        for key, one in items.pictures.items()
    ]
    if pictures:
        connection.execute(sa.insert(schema.PICTURE), pictures)
    # Practice comes first: pairs of booklets have numbers that no sequence of PostgreSQL knows of.
    for task in study.tasks:
        _insert_practice(connection, study, task)
    for task in study.tasks:
        draw_wave(connection, study, task, now)


def select_study(connection: sa.Connection) -> StudyDescription:
    """Return the study."""
    return StudyDescription.from_json(
        connection.execute(sa.select(schema.STUDY.c.definition)).scalar_one()
    )


def _insert_items(connection: sa.Connection, study: StudyDescription, items: Items) -> None:
    """Keep items under random numbers; known pairs are two items each, the better one first."""
    known = [*(("practice", one) for one in study.practice)]
    known += [("attention", one) for one in study.attention]
    rng = _generator(study, "items")
    ids = (rng.permutation(len(items)) + 1).tolist()
    rows = [
        {
            "id": ids[place],
            "role": ITEM_ROLE,
            "name": name,
            "sensitive": json.dumps({key: one[place] for key, one in items.sensitive.items()}),
            "score": None if items.scores is None else items.scores[place],
            "shown": json.dumps(list(items.shown[place])),
        }
        for place, name in enumerate(items.names)
    ]
    number = len(items)
    for role, pair in known:
        for side in ("better", "worse"):
            number += 1
            shown = [getattr(pair, side)[one.name] for one in study.show]
            facts = {"role": role, "name": f"{role} {side}", "sensitive": "{}", "score": None}
            rows.append({"id": number, **facts, "shown": json.dumps(shown)})
    connection.execute(sa.insert(schema.ITEM), rows)


def _known_items(connection: sa.Connection, role: str) -> list[tuple[int, int]]:
    """Return the numbers of known pairs, better item first."""
    query = sa.select(schema.ITEM.c.id).where(schema.ITEM.c.role == role).order_by(schema.ITEM.c.id)
    ids = connection.execute(query).scalars().all()
    return list(zip(ids[::2], ids[1::2], strict=True))


def _insert_practice(connection: sa.Connection, study: StudyDescription, task: Task) -> None:
    """Keep practice pairs; whoever rates practises with one item of each."""
    rng = _generator(study, "practice")
    answers = ["left", "right"] if task == "compare" else [HIGH, LOW]
    pairs = zip(_known_items(connection, "practice"), study.practice, strict=True)
    rows = [
        _known_row(ids, one, schema.PRACTICE, place, None, str(rng.choice(answers)))
        for place, (ids, one) in enumerate(pairs)
    ]
    if rows:
        connection.execute(sa.insert(schema.PAIR), rows)


def _known_row(
    ids: tuple[int, int], pair: KnownPair, kind: str, place: int, booklet: int | None, answer: str
) -> dict[str, Any]:
    better, worse = ids
    shown = {"left": (better, worse), "right": (worse, better)}
    shown |= {HIGH: (better, better), LOW: (worse, worse)}
    return {
        **_row(kind, booklet, place, *shown[answer]),
        "expected": answer,
        "note": pair.note,
    }


def _row(kind: str, booklet: int | None, place: int, left: int, right: int) -> dict[str, Any]:
    low, high = sorted((left, right))
    facts = dict.fromkeys(("repeats", "probability", "expected", "note"))
    return {
        **{"kind": kind, "booklet": booklet, "place": place, "left_item": left},
        **{"right_item": right, "pair_key": f"{low} {high}", "how": "", "stratum": ""},
        **facts,
    }


def draw_wave(connection: sa.Connection, study: StudyDescription, task: Task, now: float) -> bool:
    """Draw the next booklets of a task, if there are any; return whether there were.

    Later waves take the answers so far into account.
    """
    # Only one request draws; the others wait here and find what it drew.
    lock = sa.select(schema.STUDY.c.id).with_for_update()
    connection.execute(lock)
    booklets = schema.BOOKLET
    fresh = sa.select(sa.func.count()).where(
        booklets.c.holder.is_(None), booklets.c.is_finished.is_(False), booklets.c.task == task
    )
    if connection.execute(fresh).scalar_one():
        return True
    last = sa.select(sa.func.max(booklets.c.wave)).where(booklets.c.task == task)
    wave = connection.execute(last).scalar()
    wave = 0 if wave is None else wave + 1
    sizes = wave_sizes(judges_of(study, task), study.waves)
    if wave >= len(sizes):
        return False
    _insert_booklets(connection, study, task, wave, sizes[wave])
    detail = json.dumps({"wave": wave, "task": task})
    event = {"judge": None, "kind": "drawn", "detail": detail, "at": now}
    connection.execute(sa.insert(schema.EVENT), event)
    return True


def _insert_booklets(
    connection: sa.Connection, study: StudyDescription, task: Task, wave: int, n: int
) -> None:
    query = sa.select(schema.ITEM).where(schema.ITEM.c.role == ITEM_ROLE).order_by(schema.ITEM.c.id)
    items = connection.execute(query).all()
    groups = [json.loads(one.sensitive) for one in items]
    place = {one.id: number for number, one in enumerate(items)}
    if task == "rate":
        drawn = draw_ratings(
            study,
            n,
            groups=[" and ".join(one[name] for name in study.sensitive) for one in groups],
            rated={place[one]: times for one, times in _times_drawn(connection).items()},
            rng=_generator(study, "ratings", wave),
        )
    else:
        drawn = draw_booklets(
            study,
            n,
            n_items=len(items),
            sensitive={name: [one[name] for one in groups] for name in study.sensitive},
            scores=None if study.score is None else [one.score for one in items],
            given=[(place[a], place[b]) for a, b in _decided_pairs(connection)],
            rng=_generator(study, "pairs", wave),
        )
    known = _known_items(connection, "attention")
    ids = [one.id for one in items]
    for booklet in drawn:
        facts = {"wave": wave, "task": task, "holder": None, "active_at": None}
        added = connection.execute(sa.insert(schema.BOOKLET), {**facts, "is_finished": False})
        _insert_pairs(connection, study, inserted_id(added), booklet, ids, known)


def _insert_pairs(
    connection: sa.Connection,
    study: StudyDescription,
    booklet: int,
    pairs: Sequence[PlannedPair],
    ids: Sequence[int],
    known: Sequence[tuple[int, int]],
) -> None:
    first = (connection.execute(sa.select(sa.func.max(schema.PAIR.c.id))).scalar() or 0) + 1
    rows = []
    for place, one in enumerate(pairs):
        if one.expected is not None:
            pair = study.attention[one.left]
            row = _known_row(known[one.left], pair, schema.ATTENTION, place, booklet, one.expected)
        else:
            row = _row(one.kind, booklet, place, ids[one.left], ids[one.right])
            row |= {"how": one.how, "stratum": one.stratum, "probability": one.probability}
            row["repeats"] = None if one.repeats is None else first + one.repeats
        # Attention pairs may come several times, each time as a pair of its own.
        key = row["pair_key"] if one.expected is None else f"{row['pair_key']} at {first + place}"
        rows.append({"id": first + place, **row, "pair_key": key})
    connection.execute(sa.insert(schema.PAIR), rows)


def _times_drawn(connection: sa.Connection) -> dict[int, int]:
    """Return how often each item was drawn to be rated."""
    item = schema.PAIR.c.left_item
    query = sa.select(item, sa.func.count()).where(schema.PAIR.c.kind == schema.RATED)
    return {int(row[0]): int(row[1]) for row in connection.execute(query.group_by(item))}


def _decided_pairs(connection: sa.Connection) -> list[tuple[int, int]]:
    """Return the answers that stand and are no ties, better item first."""
    pair, judgment = schema.PAIR.c, schema.JUDGMENT.c
    query = (
        sa.select(pair.left_item, pair.right_item, judgment.outcome)
        .select_from(schema.ANSWER)
        .join(schema.PAIR, pair.id == schema.ANSWER.c.pair)
        .join(schema.JUDGMENT, judgment.id == schema.ANSWER.c.judgment)
        .where(pair.kind == schema.PAIRED, judgment.outcome.in_(["left", "right"]))
        .order_by(judgment.id)
    )
    return [(a, b) if outcome == "left" else (b, a) for a, b, outcome in connection.execute(query)]


def _generator(study: StudyDescription, *purpose: str | int) -> np.random.Generator:
    """Return random numbers of a purpose, which follow from the study's seed if it has one."""
    if study.seed is None:
        return np.random.default_rng()
    words = [one if isinstance(one, int) else sum(one.encode()) for one in purpose]
    return np.random.default_rng([study.seed, *words])
