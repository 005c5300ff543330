"""Differential parity of many decision makers at once: every two of them, one family of tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import named_clusters
from comparity.counts.decision_sets import Decisions, decision_arrays, decision_table
from comparity.errors import MissingColumnError, TooFewRatersError
from comparity.relative.judge import (
    Question,
    audit_of,
    compare_groups,
    judge_questions,
    null_of,
    range_notes,
    show_progress,
)
from comparity.relative.options import RatersForm, RatersOptions, RelativeOptions
from comparity.relative.result import RaterContrast, RaterParity
from comparity.results.judging import cluster_notes
from comparity.results.options import shows
from comparity.tables.features import named_attributes
from comparity.tables.files import read_table
from comparity.tables.frames import open_frame
from comparity.tables.typing import Attributes, Raters
from comparity.tables.values import check_groups

# Below this many subtractions no progress is shown.
LONG = 50_000_000


@shows(RatersOptions)
def compare_raters(
    decisions: Raters,
    *,
    sensitive_features: Attributes,
    reference: Any = None,
    order: Sequence[Any] | None = None,
    cluster: Attributes | None = None,
    **choices: Any,
) -> RaterParity:
    """Test differential parity of every two of many decision makers.

    Parameters
    ----------
    decisions : mapping, frame or array
        One column for each decision maker, one row for each subject.
    sensitive_features : array-like, mapping or frame
        The group of each subject; several attributes as a mapping or as columns of a frame.
    cluster : array-like, mapping or frame, optional
        What makes rows dependent, such as the subject, where the same one was rated repeatedly.
    reference, order, intersection, alpha, margin, rule, looks
        As in :func:`comparity.differential_parity`. `alpha` is shared by all pairs of raters.

    Returns
    -------
    RaterParity
        With the matrix of DPD of every rater over every other, and a finding for each pair. Raters
        who decide alike about everybody are named in the notes.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> sex = np.array(["f", "m"] * 400)
    >>> merit = rng.normal(size=800)
    >>> ratings = {name: merit + rng.normal(size=800) for name in "abc"}
    >>> ratings["c"] += 0.8 * (sex == "m")
    >>> result = compare_raters(ratings, sensitive_features=sex)
    >>> list(result.mean_dpd())[0], result.dpd.shape
    ('c', (3, 3))
    """
    clusters = named_clusters(cluster)
    options = RatersOptions(cluster=tuple(clusters), **choices)
    found = decision_arrays(
        named_attributes(decisions),
        named_attributes(sensitive_features),
        order=order,
        intersection=options.intersection,
        reference=reference,
        clusters=clusters,
    )
    return audit_raters(found, options)


def audit_rater_frame(frame: Any, **choices: Any) -> RaterParity:
    """Test differential parity of every two raters in a frame of any engine.

    Parameters
    ----------
    frame : frame of any engine
        One row for each subject.
    **choices
        Those of :class:`RatersForm`. Of `raters`, ``P*`` is every column that begins with P
        (unless one has that very name).
    """
    form = RatersForm(**choices)
    columns = _columns_named(frame, form.raters, (*form.sensitive, *form.cluster))
    with _show_reading():
        found = decision_table(
            frame,
            raters=columns,
            sensitive=list(form.sensitive),
            order=form.order,
            intersection=form.intersection,
            reference=form.reference,
            clusters=form.cluster,
        )
    known = {"raters": columns, "sensitive": list(form.sensitive)}
    return audit_raters(found, form.narrow(RatersOptions), columns=known)


def audit_rater_file(path: str | Path, **choices: Any) -> RaterParity:
    """Test differential parity of every two raters in a file, see :func:`audit_rater_frame`."""
    result = audit_rater_frame(read_table(path), **choices)
    return replace(result, audit=result.audit.with_files(path))


def audit_raters(decisions: Decisions, options: RelativeOptions, **data: Any) -> RaterParity:
    """Test differential parity of every two raters over every two groups of every attribute."""
    check_groups({name: names for name, (_, names) in decisions.groups.items()})
    pairs = list(combinations(range(len(decisions.raters)), 2))
    work = len(pairs) * len(decisions.weights) * len(decisions.groups)
    questions = [
        question
        for first, second in (show_progress(pairs, "pairs of raters") if work > LONG else pairs)
        for question in _ask(decisions, first, second)
    ]
    tests = judge_questions(questions, options, decisions.n)
    contrasts = tuple(map(Question.with_finding, questions, tests))
    groups = [f"{name}={one}" for name, (_, names) in decisions.groups.items() for one in names]
    clusters = {name: kind.n for name, kind in decisions.clusters.items()}
    notes = [*range_notes(decisions), *_notes_on_copies(decisions)]
    notes += cluster_notes(clusters, options.cluster)
    n_raters = len(decisions.raters)
    matrices, findings = _matrices(decisions.raters, contrasts)
    return RaterParity(
        raters=decisions.raters,
        matrices=matrices,
        findings=findings,
        contrasts=contrasts,
        audit=audit_of(
            tests,
            options,
            data,
            n=decisions.n,
            groups=groups,
            notes=notes,
            raters=n_raters,
            clusters=clusters,
        ),
    )


def _notes_on_copies(decisions: Decisions) -> list[str]:
    """Warn of raters who decide alike about everybody: one column twice, as a rule."""
    alike: dict[bytes, list[str]] = {}
    for place, name in enumerate(decisions.raters):
        # Adding zero makes one number of 0 and -0.
        alike.setdefault((decisions.values[:, place] + 0.0).tobytes(), []).append(name)
    return [
        f"WARNING: {', '.join(names[:-1])} and {names[-1]} decide alike about everybody; if one is "
        "a copy of the other, leave it out."
        for names in alike.values()
        if len(names) > 1
    ]


def _ask(decisions: Decisions, first: int, second: int) -> Iterator[Question]:
    who = {"first": decisions.raters[first], "second": decisions.raters[second], "label": ""}
    for attribute in decisions.groups:
        differences = decisions.differences(first, second, attribute)
        known = {**who, "attribute": attribute}
        clustered = None
        if decisions.clusters:
            clustered = partial(decisions.clustered_rows, attribute, raters=(first, second))
        word_null = partial(null_of, known, several=True)
        yield from compare_groups(differences, known, word_null, clustered)


def _matrices(
    raters: Sequence[str], contrasts: Sequence[RaterContrast]
) -> tuple[dict[str, NDArray[np.float64]], dict[str, tuple[tuple[str, ...], ...]]]:
    """Arrange DPD and findings by rater, for each contrast of groups."""
    place = {name: number for number, name in enumerate(raters)}
    k = len(raters)
    dpd: dict[str, NDArray[np.float64]] = {}
    found: dict[str, list[list[str]]] = {}
    for one in contrasts:
        key = f"{one.attribute}: {one.group} over {one.reference}"
        matrix = dpd.setdefault(key, np.zeros((k, k)))
        words = found.setdefault(key, [[""] * k for _ in range(k)])
        row, column = place[one.first], place[one.second]
        matrix[row, column], matrix[column, row] = one.dpd, -one.dpd
        words[row][column] = words[column][row] = one.finding
    return dpd, {key: tuple(map(tuple, words)) for key, words in found.items()}


def _columns_named(frame: Any, raters: Sequence[str], sensitive: Sequence[str]) -> list[str]:
    """Return the columns that names and patterns stand for."""
    _, known = open_frame(frame, "decisions")
    columns: list[str] = []
    for name in raters:
        matches = [name] if name in known else [one for one in known if fnmatchcase(one, name)]
        matches = [one for one in matches if one not in sensitive or one == name]
        if not matches:
            raise MissingColumnError(name, "decisions", known)
        columns += [one for one in matches if one not in columns]
    if len(columns) < 2:
        raise TooFewRatersError(columns, known)
    return columns


def _show_reading() -> AbstractContextManager[object]:
    """Show on a terminal that decisions are being read."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.status("reading decisions ...") if console.is_terminal else nullcontext()
