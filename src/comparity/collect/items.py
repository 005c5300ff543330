"""The items of a study: what is shown of them, and what only whoever runs it may know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comparity.collect.judge import Picture, new_public_id
from comparity.collect.study import StudyDescription
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
    from comparity.ranking.judgments import columns_of
    from comparity.ranking.names import item_names
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
