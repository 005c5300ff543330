"""Small tables, plain and odd: what people put into columns, and what they call them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

__all__ = ["ODD_NAMES", "ODD_VALUES", "Sheet", "item_sheets", "judged_sheets", "wide_sheets"]

ODD_NAMES = (
    "a b",
    " a",
    'say "hi"',
    "it's",
    "two\nlines",
    "a=1",
    "=1+1",
    "a,b",
    "a;b\t",
    "select",
    "rowid",
    "order by 1 --",
    "sex",
    "\u0455ex",
    "SEX",
    "stra\u00dfe",
    "e\u0301",
    "\u00e9",
    "\u202eabc",
    "\u05e9\u05dc\u05d5\u05dd",
    "a\u200bb",
    "\U0001f600",
    "*",
    "score*",
    "$1",
    "{0}",
    "%s",
    "[red]",
    "<b>",
    "-",
    "--label",
    "column0",
    "filename",
    "better",
    "first",
    "count",
    "index",
    "1",
    "nan",
    "x" * 300,
    "",
)
ODD_VALUES: tuple[Any, ...] = (
    float("nan"),
    float("inf"),
    float("-inf"),
    -0.0,
    1e308,
    -1e308,
    5e-324,
    2**53 + 1,
    2**63,
    10**40,
    "007",
    "NA",
    "NaN",
    "None",
    "null",
    "",
    " ",
    "\u00a0",
    "yes",
    "1,5",
    "1e5",
    "0x10",
    "1_000",
    "\u0661",
    "2024-02-30",
    "2024-01-01 00:00",
    "line\nbreak",
    'say "hi"',
    "#",
    "=1+1",
    "\U0001f600",
    "\u202eabc",
    "v" * 500,
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    0.5,
)


@dataclass(frozen=True)
class Sheet:
    """A table before it is a file.

    Attributes
    ----------
    columns : dict of str to list
        Cells by column; what a column is meant for is in `roles`.
    roles : dict of str to str
        What the column of that name was made as: an item, a group, a yes or no, a number.
    """

    columns: dict[str, list[Any]]
    roles: dict[str, str]

    def names(self, role: str) -> list[str]:
        """Return the columns made for a role."""
        return [name for name, one in self.roles.items() if one == role]

    def cells(self, role: str) -> list[Any]:
        """Return the different cells of the columns made for a role, in their order."""
        found = (cell for name in self.names(role) for cell in self.columns[name])
        return list({str(cell): cell for cell in found}.values())

    def as_text(self) -> Sheet:
        """Return the same table with every cell as text, so that formats cannot differ in types."""
        columns = {
            name: ["" if cell is None else str(cell) for cell in cells]
            for name, cells in self.columns.items()
        }
        return replace(self, columns=columns)

    def reordered(self, seed: int) -> Sheet:
        """Return the same rows in another order, so that other groups come first."""
        size = len(next(iter(self.columns.values()), []))
        order = random.Random(seed).sample(range(size), size)
        columns = {name: [cells[k] for k in order] for name, cells in self.columns.items()}
        return replace(self, columns=columns)


GROUPS = st.sampled_from(
    [
        ("f", "m"),
        ("f", "m"),
        ("f", "m"),
        (0, 1),
        (True, False),
        ("a", "b", "c"),
        ("only",),
        ("007", "7"),
        ("NA", "None", ""),
        tuple(f"g{k}" for k in range(30)),
        "each its own",
    ]
)
CLASSES = st.sampled_from(
    [(0, 1)] * 4 + [("no", "yes"), (True, False), (1,), (0, 1, 2), (-1, 1), ("0", "1"), (0.0, 1.0)]
)
SPREADS = st.sampled_from([1.0, 1.0, 1.0, 0.0, 1e-300, 1e150, 1e308])


@st.composite
def item_sheets(draw: st.DrawFn, *, odd: bool, least: int = 2) -> Sheet:
    """Draw a table of items: ids, groups, labels, decisions, scores, ratings and weights."""
    rng = random.Random(draw(st.integers(0, 2**20)))
    size = draw(st.integers(least, 60))
    groups, classes, spread = ("f", "m"), (0, 1), 1.0
    if odd:
        groups, classes, spread = draw(GROUPS), draw(CLASSES), draw(SPREADS)
    lean = draw(st.sampled_from([0.0, 1.0, 9.0]))
    group = list(range(size)) if groups == "each its own" else rng.choices(groups, k=size)
    merit = [rng.gauss(0, 1) for _ in range(size)]
    seen = [m + lean * (g == group[0]) + rng.gauss(0, 1) for m, g in zip(merit, group, strict=True)]
    columns: dict[str, list[Any]] = {
        "item": [f"i{k}" for k in range(size)],
        "sex": group,
        "town": rng.choices(["x", "y", "z"], k=size),
        "hired": [classes[min(int(m > 0) + int(m > 1.5), len(classes) - 1)] for m in merit],
        "model": [classes[min(int(s > 0) + int(s > 1.5), len(classes) - 1)] for s in seen],
        "rival": rng.choices(classes[:2], k=size),
        "merit": [round(m) for m in merit],
        "score": [s * spread for s in seen],
        "age": [rng.randint(20, 60) for _ in range(size)],
        "ann": [rng.randint(1, 5) for _ in range(size)],
        "bob": [rng.randint(1, 5) for _ in range(size)],
        "mass": [rng.random() + 0.1 for _ in range(size)],
    }
    sheet = Sheet(columns, dict(ITEM_ROLES))
    return draw(_spoilt_sheets(sheet, rng)) if odd else sheet


ITEM_ROLES = {
    "item": "item",
    "sex": "group",
    "town": "other group",
    "hired": "class",
    "model": "decision",
    "rival": "rival",
    "merit": "quality",
    "score": "score",
    "age": "number",
    "ann": "rating",
    "bob": "other rating",
    "mass": "mass",
}
LAYOUTS = st.sampled_from(
    [("better", "worse", None)] * 4
    + [
        ("winner", "loser", None),
        ("chosen", "rejected", None),
        ("model_a", "model_b", "winner"),
        ("left", "right", "winner"),
        ("left", "right", "label"),
        ("text1", "text2", "pw"),
    ]
)


@st.composite
def judged_sheets(draw: st.DrawFn, items: Sheet, *, odd: bool) -> Sheet:
    """Draw judgments about the items of another table, in one of the known layouts."""
    rng = random.Random(draw(st.integers(0, 2**20)))
    known = items.columns[names[0]] if (names := items.names("item")) else ["i0", "i1"]
    size = draw(st.integers(2, 60))
    first, second, winner = draw(LAYOUTS)
    pairs = [rng.sample(known, 2) for _ in range(size)]
    if draw(st.booleans()) and 2 * size <= len(known):
        fresh = rng.sample(known, 2 * size)
        pairs = [fresh[2 * k : 2 * k + 2] for k in range(size)]
    columns: dict[str, list[Any]] = {
        first: [one for one, _ in pairs],
        second: [other for _, other in pairs],
    }
    roles = {first: "better", second: "worse"}
    if winner is not None:
        roles = {first: "left", second: "right"}
        words = ("left", "right", "tie") if first != "model_a" else ("model_a", "model_b", "tie")
        columns[winner] = rng.choices(words, weights=(5, 4, 1), k=size)
        roles[winner] = "winner"
    if draw(st.integers(0, 4)) < 4:
        judges = draw(st.sampled_from([2, 5, 30]))
        columns["judge"] = [f"j{rng.randrange(judges)}" for _ in range(size)]
        roles["judge"] = "evaluator"
    sheet = Sheet(columns, roles)
    return draw(_spoilt_sheets(sheet, rng)) if odd else sheet


@st.composite
def wide_sheets(draw: st.DrawFn, *, odd: bool) -> Sheet:
    """Draw judgments with the score and group of both items in every row."""
    items = draw(item_sheets(odd=odd))
    known = Sheet({"item": [f"i{k}" for k in range(60)]}, {"item": "item"})
    judged = draw(judged_sheets(known, odd=odd))
    rng = random.Random(draw(st.integers(0, 2**20)))
    size = len(next(iter(judged.columns.values())))
    columns = dict(judged.columns)
    for side in ("better", "worse"):
        for name in ("sex", "score"):
            if name in items.columns:
                columns[f"{side}_{name}"] = rng.choices(items.columns[name], k=size)
    roles = {name: judged.roles.get(name, "wide") for name in columns}
    return Sheet(columns, roles)


@st.composite
def _spoilt_sheets(draw: st.DrawFn, sheet: Sheet, rng: random.Random) -> Sheet:
    """Spoil some cells and some names of a table."""
    columns, roles = dict(sheet.columns), dict(sheet.roles)
    names = list(columns)
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        share = draw(st.sampled_from([0.0, 0.0, 0.5, 1.0]))
        values = draw(st.lists(st.sampled_from(ODD_VALUES), min_size=1, max_size=3))
        cells = [rng.choice(values) if rng.random() < share else cell for cell in columns[name]]
        cells[rng.randrange(len(cells))] = values[0]
        columns[name] = cells
    for name in draw(st.lists(st.sampled_from(names), max_size=2, unique=True)):
        new = draw(st.sampled_from(ODD_NAMES))
        if new not in columns:
            columns = {new if one == name else one: cells for one, cells in columns.items()}
            roles = {new if one == name else one: role for one, role in roles.items()}
    return Sheet(columns, roles)
