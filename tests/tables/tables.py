"""Random judgments and items, and the tables that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.plain.counting import Item, Judgment

IDS = ["007", "NA", "é", "b", "10", "2"]

items = st.fixed_dictionaries(
    {
        name: st.builds(
            Item,
            score=st.sampled_from([-1.0, 0.0, 0.25, 2.0]),
            groups=st.fixed_dictionaries(
                {"sex": st.sampled_from(["f", "m"]), "race": st.sampled_from(["x", "y", "z"])}
            ),
            age=st.sampled_from([1.0, 2.0, 3.5]),
        )
        for name in IDS
    }
).filter(lambda known: all(len({value(i) for i in known.values()}) > 1 for value in VALUES))

VALUES = (
    lambda item: item.groups["sex"],
    lambda item: item.groups["race"],
    lambda item: item.age,
)

pairs = st.permutations(IDS).map(lambda names: names[:2])
judgments = st.lists(
    st.tuples(pairs, st.sampled_from("uvw"), st.booleans()).map(
        lambda drawn: Judgment(drawn[0][0], drawn[0][1], drawn[1], drawn[2])
    ),
    min_size=1,
    max_size=12,
)


def comparison_columns(rows: Sequence[Judgment]) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in Judgment._fields}


def item_columns(known: Mapping[str, Item]) -> dict[str, list[Any]]:
    return {
        "item": list(known),
        "score": [item.score for item in known.values()],
        "sex": [item.groups["sex"] for item in known.values()],
        "race": [item.groups["race"] for item in known.values()],
        "age": [item.age for item in known.values()],
    }


def wide_columns(rows: Sequence[Judgment], known: Mapping[str, Item]) -> dict[str, list[Any]]:
    columns = comparison_columns(rows)
    for side in ("better", "worse"):
        chosen = [known[name] for name in columns[side]]
        for name, values in item_columns(dict(enumerate(chosen))).items():  # type: ignore[arg-type]
            if name != "item":
                columns[f"{side}_{name}"] = values
    return columns
