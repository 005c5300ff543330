"""Broken copies of files: bytes flipped, values swapped, numbers that no program expects."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

# As JSON writes them: NaN and whole numbers of any length are JSON for Python, and more besides.
AWKWARD = (
    *(0, 1, -1, 2, -2, 3, 10**6, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 10**400, -(10**400)),
    *(0.5, -0.0, 1e-320, 1e300, -1e308, float("nan"), float("inf"), -float("inf")),
    *(None, True, False, "", "x", "nan", "1e999", "\x00", "\ud800", "é" * 50, [], {}, [[]]),
    *([None], ["x"], {"": None}, [0] * 20, [[[[[[[[0]]]]]]]], {"gap": {"gap": []}}),
)
AWKWARD_TOML = (
    *("0", "-1", "1", "0.5", "nan", "-inf", "1e300", "9" * 400, "9" * 5000, "true", '""', "'x'"),
    *("[]", "['x']", "[[1]]", "{}", "{ x = 1 }", "1979-05-27", "07:32:00", "[" * 3000, "'é'"),
)
INSERTED = (
    b"",
    b"0",
    b"-",
    b"e9",
    b"9" * 30,
    b",",
    b"[",
    b"]",
    b"{}",
    b'"',
    b"\xff",
    b"\n",
    b"\x00",
)


def json_mutants(text: str, many: int, seed: int = 0) -> Iterator[bytes]:
    """Yield broken copies of a JSON file, in turn by its values and by its bytes."""
    rng = random.Random(seed)
    for place in range(many):
        yield (change_values(text, rng) if place % 2 else change_bytes(text.encode(), rng))


def toml_mutants(text: str, many: int, seed: int = 0) -> Iterator[bytes]:
    """Yield broken copies of a TOML file, in turn by its values and by its bytes."""
    rng = random.Random(seed)
    for place in range(many):
        yield (_change_lines(text, rng) if place % 2 else change_bytes(text.encode(), rng))


def change_values(text: str, rng: random.Random) -> bytes:
    """Return a JSON file with values replaced, swapped, repeated, nested or left out."""
    content = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        holders = [one for one in _holders(content) if one]
        if not holders:
            break
        _change(rng.choice(holders), rng)
    return json.dumps(content).encode("utf-8")


def change_bytes(found: bytes, rng: random.Random) -> bytes:
    """Return a file with a few bytes replaced, put in or left out, or with its end cut off."""
    changed = bytearray(found)
    for _ in range(rng.choice((1, 1, 2, 8))):
        start = rng.randrange(len(changed) + 1)
        end = rng.choice((start, start + 1, start + 1, start + 9, len(changed)))
        changed[start:end] = rng.choice(INSERTED)
    return bytes(changed)


def _change_lines(text: str, rng: random.Random) -> bytes:
    """Return a TOML file with values replaced, and lines left out or repeated elsewhere."""
    lines = text.splitlines()
    for _ in range(rng.choice((1, 1, 2, 4))):
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        key, equals, _ = lines[one].partition(" = ")
        if equals and rng.random() < 0.7:
            lines[one] = key + equals + rng.choice(AWKWARD_TOML)
        else:
            lines[one] = rng.choice(("", lines[other], f"{lines[one]} {lines[other]}"))
    return "\n".join(lines).encode()


def _holders(content: Any) -> Iterator[Any]:
    """Yield every list and object of a JSON file."""
    if isinstance(content, list | dict):
        yield content
        for one in content.values() if isinstance(content, dict) else content:
            yield from _holders(one)


def _change(holder: Any, rng: random.Random) -> None:
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    one, other = rng.choice(keys), rng.choice(keys)
    how = rng.randrange(6)
    if how == 0:
        del holder[one]
    elif how == 1:
        holder[one], holder[other] = holder[other], holder[one]
    elif how == 2:
        holder[one] = [copy.deepcopy(holder[one])]
    elif how == 3 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[one]))
    else:
        holder[one] = copy.deepcopy(rng.choice(AWKWARD))
