"""What is read from a study: comparison tables, with a manifest of hashes."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from comparity import __version__
from comparity.collect import schema
from comparity.collect.options import ExportOptions
from comparity.collect.participation import SURVEYED
from comparity.collect.result import (
    ExportedFile,
    StudyExport,
)
from comparity.collect.store import Store
from comparity.collect.study import StudyDescription
from comparity.errors import EmptyTableError
from comparity.tables.files import file_sha256, read_table, write_table
from comparity.tables.outputs import write_csv, write_text

COMPARISONS, ITEMS, JUDGES, OTHERS = "comparisons", "items", "judges", "other_answers"
RATINGS, QUESTIONNAIRE = "ratings", "questionnaire"
MANIFEST = "manifest.json"
JUDGED = (schema.PAIRED, schema.RATED)
RATING_COLUMNS = ("item", "rating", "evaluator", "time", "milliseconds", "repeated", "flagged")
HEADERS = {
    OTHERS: ("evaluator", "kind", "outcome"),
    RATINGS: RATING_COLUMNS,
    QUESTIONNAIRE: ("evaluator", "task", "question", "answer"),
}
"""Columns of tables that may have no rows."""
ARENA = {"left": "model_a", "right": "model_b", "tie": "tie"}


def export_study(store: Store, folder: str | Path, **choices: Any) -> StudyExport:
    """Write what a study has collected into a folder.

    ``comparisons`` has one row for each judgment that stands, ``ratings`` one for each rating, if
    judges rated, ``other_answers`` skipped pairs, attention and practice, ``items`` the groups and
    scores, ``judges`` how far each judge is and how they did at attention pairs, ``questionnaire``
    what they said of the effort, if that was asked. ``manifest.json`` names every file with its
    hash.

    Parameters
    ----------
    store : Store
    folder : path
        Made if it is not there; files of the same names are replaced.
    **choices
        Those of :class:`~comparity.collect.options.ExportOptions`.

    Raises
    ------
    EmptyTableError
        There is no judgment.
    """
    options = ExportOptions(**choices)
    with store.owner.begin() as connection:
        rows = select_answers(connection)
        items = connection.execute(
            sa.select(schema.ITEM).where(schema.ITEM.c.role == "item").order_by(schema.ITEM.c.name)
        ).all()
        judges = select_judges(connection, store.study)
        effort = select_efforts(connection)
    flagged = {one["evaluator"] for one in judges if one["flagged"]}
    is_judged = [one["kind"] in JUDGED and one["outcome"] != "skip" for one in rows]
    judged = [one for one, is_so in zip(rows, is_judged, strict=True) if is_so]
    kept = [one for one in judged if not (options.drop_flagged and one["evaluator"] in flagged)]
    if not kept:
        raise EmptyTableError("judgments")
    compared = [one for one in kept if one["kind"] == schema.PAIRED]
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    files: dict[Path, int] = {}
    if compared or "compare" in store.study.tasks:
        file = home / f"{COMPARISONS}.{options.file_format}"
        _write_comparisons(file, [_comparison(one, options.form, flagged) for one in compared])
        files[file] = len(compared)
    tables: dict[str, list[dict[str, Any]]] = {
        ITEMS: [_item(one, store) for one in items],
        JUDGES: judges,
        OTHERS: [_other(one) for one, is_so in zip(rows, is_judged, strict=True) if not is_so],
    }
    if "rate" in store.study.tasks:
        rated = [one for one in kept if one["kind"] == schema.RATED]
        tables[RATINGS] = [_rating(one, flagged) for one in rated]
    if store.study.questionnaire:
        tables[QUESTIONNAIRE] = effort
    for name, table in tables.items():
        _write_rows(home / f"{name}.csv", table, HEADERS.get(name))
        files[home / f"{name}.csv"] = len(table)
    found = StudyExport(
        folder=str(home),
        form=options.form,
        files=tuple(
            ExportedFile(name=one.name, rows=n, sha256=file_sha256(one)) for one, n in files.items()
        ),
        n_judgments=len(kept),
        n_ratings=len(kept) - len(compared),
        n_ties=sum(one["outcome"] == "tie" for one in kept),
        n_flagged=len(flagged),
        n_dropped=len(judged) - len(kept),
        item=store.study.item,
        sensitive=store.study.sensitive,
        score=store.study.score,
    )
    manifest = {"comparity": __version__, **found.to_dict(), "study": asdict(store.study)}
    manifest.pop("folder")
    write_text(home / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return found


def select_answers(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return all answers that stand, in the order in which they were given."""
    left, right = schema.ITEM.alias("left_one"), schema.ITEM.alias("right_one")
    pair, judgment = schema.PAIR.c, schema.JUDGMENT.c
    query = (
        sa.select(
            *(left.c.name.label("left"), right.c.name.label("right"), judgment.outcome),
            *(schema.JUDGE.c.name.label("evaluator"), judgment.at, judgment.milliseconds),
            *(pair.kind, pair.how, pair.stratum, pair.probability, pair.expected),
            pair.repeats.is_not(None).label("swapped"),
        )
        .select_from(schema.ANSWER)
        .join(schema.JUDGMENT, judgment.id == schema.ANSWER.c.judgment)
        .join(schema.JUDGE, schema.JUDGE.c.id == schema.ANSWER.c.judge)
        .join(schema.PAIR, pair.id == schema.ANSWER.c.pair)
        .join(left, left.c.id == pair.left_item)
        .join(right, right.c.id == pair.right_item)
        .order_by(judgment.id)
    )
    return [dict(one) for one in connection.execute(query).mappings()]


def select_efforts(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return what judges said of the effort, a row for each answer."""
    event = schema.EVENT.c
    query = (
        sa.select(schema.JUDGE.c.name, schema.PROGRESS.c.task, event.detail)
        .join(schema.JUDGE, schema.JUDGE.c.id == event.judge)
        .join(schema.PROGRESS, schema.PROGRESS.c.judge == event.judge)
        .where(event.kind == SURVEYED)
        .order_by(event.id)
    )
    return [
        {"evaluator": one.name, "task": one.task, "question": name, "answer": answer}
        for one in connection.execute(query)
        for name, answer in json.loads(one.detail).items()
    ]


def select_judges(connection: sa.Connection, study: StudyDescription) -> list[dict[str, Any]]:
    """Return a row for each judge, with what is known of their attention."""
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for one in select_answers(connection):
        if one["kind"] == schema.ATTENTION:
            is_passed = study.is_expected(one["outcome"], one["expected"])
            (passed if is_passed else failed)[one["evaluator"]] += 1
    query = (
        sa.select(schema.JUDGE, schema.PROGRESS)
        .join(schema.PROGRESS, schema.PROGRESS.c.judge == schema.JUDGE.c.id)
        .order_by(schema.JUDGE.c.id)
    )
    return [
        {
            "evaluator": one["name"],
            "task": one["task"],
            "joined": as_time(one["created_at"]),
            "answered": one["answered"],
            "finished": one["finished_at"] is not None,
            "erased": one["erased_at"] is not None,
            "attention_passed": passed[one["name"]],
            "attention_failed": failed[one["name"]],
            # As many failed as passed is what guessing gives.
            "flagged": failed[one["name"]] > 0 and failed[one["name"]] >= passed[one["name"]],
            "external": one["external"],
        }
        for one in connection.execute(query).mappings()
    ]


def as_time(seconds: float) -> str:
    """Return a time as text, in UTC.

    Examples
    --------
    >>> as_time(1700000000.25)
    '2023-11-14T22:13:20.250Z'
    """
    told = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")


def _comparison(one: Mapping[str, Any], form: str, flagged: set[str]) -> dict[str, Any]:
    """Return a row of the comparison table."""
    winner, who = one["outcome"], one["evaluator"]
    if form == "chosen":
        # The items of a tie stand as they were shown.
        best, other = ("right", "left") if winner == "right" else ("left", "right")
        row = {"chosen": one[best], "rejected": one[other], "tied": winner == "tie", "side": best}
    elif form == "arena":
        row = {"model_a": one["left"], "model_b": one["right"], "winner": ARENA[winner]}
    else:
        row = {"left": one["left"], "right": one["right"], "winner": winner}
    return {
        **row,
        "evaluator": who,
        "time": as_time(one["at"]),
        "milliseconds": one["milliseconds"],
        "how": one["how"],
        "swapped": one["swapped"],
        "stratum": one["stratum"],
        "flagged": who in flagged,
        "probability": one["probability"],
    }


def _rating(one: Mapping[str, Any], flagged: set[str]) -> dict[str, Any]:
    """Return a row of the table of ratings."""
    who = one["evaluator"]
    values = (one["left"], int(one["outcome"]), who, as_time(one["at"]), one["milliseconds"])
    return dict(
        zip(RATING_COLUMNS, (*values, one["swapped"], who in flagged), strict=True),
    )


def _item(one: Any, store: Store) -> dict[str, Any]:
    study = store.study
    row = {study.item: one.name, **json.loads(one.sensitive)}
    return row if study.score is None else {**row, study.score: one.score}


def _other(one: Mapping[str, Any]) -> dict[str, Any]:
    named = ("evaluator", "kind", "outcome", "expected", "left", "right", "milliseconds")
    return {**{name: one[name] for name in named}, "time": as_time(one["at"])}


def _write_comparisons(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows in the format of the file's ending; ids stay text in all of them."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "rows.jsonl"
        named = [{k: v for k, v in row.items() if k != "probability"} for row in rows]
        write_text(plain, "".join(json.dumps(row) + "\n" for row in named))
        chances = np.array([row["probability"] for row in rows], dtype=float)
        write_table(read_table(plain, typed=True), file, {"probability": chances})


def _write_rows(
    file: Path, rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None
) -> None:
    header = list(rows[0] if rows else names or ())
    columns = [["" if row[name] is None else row[name] for row in rows] for name in header]
    write_csv(file, header, columns)
