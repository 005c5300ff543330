"""Studies to be joined: small ones, with everything that a page can show."""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

from comparity.collect.joined_judge import Picture
from comparity.collect.options import CollectOptions
from comparity.collect.rendering import flat_words, read_words
from comparity.collect.setup import Items
from comparity.collect.store import create_store
from comparity.collect.study import study_of

CHECKS = ({"question": "What do you decide by?", "answers": ["The text", "The order"], "right": 1},)
SECRETS = ("secret-group-a", "secret-group-b", "secret-item", "987654.25")
"""What no page may show: groups, ids of items, scores."""


def practice(**shown: str) -> dict[str, Any]:
    """Return a practice pair whose better item is marked as such in every column."""
    better = {name: f"much better: {text}" for name, text in shown.items()}
    return {"better": better, "worse": shown, "note": "The first one is **longer**."}


def write_study(
    path: Path,
    *,
    texts: list[str] | None = None,
    kind: str = "text",
    pictures: dict[str, Picture] | None = None,
    checks: tuple[dict[str, Any], ...] = (),
    practices: int = 0,
    attention: bool = False,
    **choices: Any,
) -> Path:
    """Write a study with items that are texts, Markdown, HTML or pictures."""
    shown = texts or [f"Text number {place}" for place in range(12)]
    given = {"question": "Which one is better?", "show": f"body:{kind}", "sensitive": "group"}
    given |= {
        "swapped_share": 0.0,
        "heading": "A small study",
        "consent": "Do you **agree**?",
        "each": 6,
        "judges": 4,
    }
    given |= {"instructions": "Choose the better one.", "completion_code": "CODE-7", "seed": 5}
    options = CollectOptions(**{**given, "score": "score", **choices})
    known = [practice(body=f"practice {place}") for place in range(practices)]
    study = study_of(
        options,
        checks=checks,
        practice=known,
        attention=[practice(body="attention")] if attention else [],
    )
    n = len(shown)
    items = Items(
        names=[f"secret-item-{place}" for place in range(n)],
        shown=[[text] for text in shown],
        sensitive={"group": [SECRETS[place % 2] for place in range(n)]},
        scores=[987654.25 + place for place in range(n)],
        pictures=pictures or {},
    )
    create_store(path, study, items, now=0.0)
    return path


def png(red: int, size: int = 8) -> bytes:
    """Return a picture of one colour."""
    rows = b"".join(b"\x00" + bytes((red, 90, 120)) * size for _ in range(size))

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def write_words(path: Path) -> Path:
    """Write words in Hebrew letters, one for each letter of English, from right to left."""
    lines = []
    for name, text in flat_words(read_words("en")):
        section, dot, key = name.rpartition(".")
        if dot and f"[{section}]" not in lines:
            lines.append(f"[{section}]")
        # What stands in braces is filled in.
        parts = re.split(r"(\{\w+\})", text)
        told = "".join(one if one.startswith("{") else _in_hebrew_letters(one) for one in parts)
        lines.append(f"{key} = {json.dumps(RIGHT_TO_LEFT.get(name, told))}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


RIGHT_TO_LEFT = {"language": "he", "direction": "rtl"}


def _in_hebrew_letters(text: str) -> str:
    return "".join(chr(0x5D0 + ord(one.lower()) % 22) if one.isalpha() else one for one in text)
