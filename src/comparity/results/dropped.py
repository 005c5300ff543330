"""What was dropped on request, in the provenance of any answer and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from comparity.errors.spelling import visible
from comparity.results.options import Options, declared_choices
from comparity.results.plain import as_plain
from comparity.tables.complete import Dropped, Gaps

Answer = TypeVar("Answer")

INNER = ("ranking", "audit", "raw", "standardised", "after", "accuracy", "parity", "answer")
"""Parts of answers that hold the provenance of the whole."""


def with_dropped(answer: Answer, found: Sequence[Dropped]) -> Answer:
    """Return an answer that knows what was dropped before it was made."""
    whole: Any = answer
    names = {one.name for one in fields(whole)}
    if "provenance" in names:
        known = {**whole.provenance, "dropped": as_plain(tuple(found))}
        return cast("Answer", replace(whole, provenance=known))
    inner = {name: getattr(whole, name) for name in INNER if name in names}
    told = {name: with_dropped(one, found) for name, one in inner.items() if is_dataclass(one)}
    if not told:
        raise TypeError(f"{type(answer).__name__} has no provenance")
    return cast("Answer", replace(whole, **told))


def gaps_of(form: type[Options], choices: Mapping[str, Any]) -> Gaps:
    """Return which columns an answer reads: no row may lack a value in any of them.

    A form in which a group may be unknown says so in `MAY_LACK`.
    """
    known = declared_choices(form)
    asked = {name: choices.get(name, one.default) for name, one in known.items() if one.is_column}
    read = [value for name, value in asked.items() if name not in getattr(form, "MAY_LACK", ())]
    names = [(value,) if isinstance(value, str) else value for value in read]
    listed = [one for several in names if isinstance(several, list | tuple) for one in several]
    item = asked.get("item")
    return Gaps(columns=tuple(listed), item=item if isinstance(item, str) else "")


def dropped_sentence(content: Mapping[str, Any]) -> str:
    """Say what was dropped before an answer was made, from its plain data; empty if nothing was.

    Examples
    --------
    >>> one = {"table": "a.csv", "rows": 12, "of": 500, "by_column": {"label": 9, "sex": 3}}
    >>> dropped_sentence({"provenance": {"dropped": [one]}})
    'Dropped, because a value is missing: 12 of 500 rows of a.csv (label 9, sex 3).'
    """
    told = "; ".join(_describe_drop(one) for one in _records(content))
    return f"Dropped, because a value is missing: {told}." if told else ""


def _records(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    provenance = content.get("provenance")
    found = provenance.get("dropped") if isinstance(provenance, Mapping) else None
    if isinstance(found, list | tuple):
        keys = {"table", "rows", "of", "by_column"}
        return [one for one in found if isinstance(one, Mapping) and keys <= set(one)]
    for part in INNER:
        inner = content.get(part)
        if isinstance(inner, Mapping) and _records(inner):
            return _records(inner)
    return []


def _describe_drop(one: Mapping[str, Any]) -> str:
    columns = one["by_column"] if isinstance(one["by_column"], Mapping) else {}
    listed = ", ".join(f"{visible(str(name))} {count}" for name, count in columns.items())
    # A file that was written elsewhere may hold anything there.
    rows, of = (
        f"{n:,}" if isinstance(n, int) else visible(str(n)) for n in (one["rows"], one["of"])
    )
    return f"{rows} of {of} rows of {visible(str(one['table']))} ({listed})"
