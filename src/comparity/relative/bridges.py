"""Differential parity across different subjects, through a model of the first decision maker.

Last year's committee and this year's decided about different people. A model of the one predicts
what it would have decided about the people of the other; the errors of the model on both sides say
how far the two lean apart (section 2.3 of Yu and Xi, "Differential Parity").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from comparity.errors import OptionError, PairOfSidesError
from comparity.relative.bridged_slopes import numbered_subjects
from comparity.relative.diagnosis import audit_sides, build_bridge
from comparity.relative.options import BridgeForm, BridgeOptions
from comparity.relative.prediction import Foretold, Predictions
from comparity.relative.result import BridgedParity
from comparity.relative.subjects import (
    SIDES,
    DecidedSubjects,
    decided_subjects,
    feature_names,
    match_columns,
    match_features,
    names_of_columns,
)
from comparity.results.options import shows
from comparity.tables.columns import labelled_columns
from comparity.tables.features import (
    as_array,
    check_apart,
    check_reference,
    check_two_names,
    named_attributes,
    one_attribute,
)
from comparity.tables.files import file_sha256, read_table
from comparity.tables.frames import Columns
from comparity.tables.typing import Attributes, Column, Matrix
from comparity.tables.values import bounded_numbers, check_lengths


@shows(BridgeOptions)
def biased_bridge(
    first: Column,
    second: Column,
    *,
    sensitive_features: tuple[Attributes, Attributes],
    features: tuple[Matrix, Matrix] | None = None,
    regressor: Any = "ridge",
    predictions: tuple[Column, Column] | None = None,
    subjects: tuple[Column, Column] | None = None,
    names: tuple[str, str] = SIDES,
    reference: Any = None,
    **choices: Any,
) -> BridgedParity:
    r"""Test whether two decision makers lean differently, from decisions about different subjects.

    A model :math:`f` of the first is fitted to its decisions. With its errors
    :math:`E_0 = f - R_0` on the first's subjects and :math:`E_1 = f - R_1` on the second's,

    .. math:: \bar R_\Delta(A = a) \approx \bar E_1(A = a) - \bar E_0(A = a)

    so that whatever leaning :math:`f` has of its own cancels (Algorithm 2 of [1]_).

    Parameters
    ----------
    first, second : array-like
        Decisions of the first about its subjects, and of the second about its own, as numbers on
        one scale.
    sensitive_features : pair of array-like
        The group of each subject, of the first and of the second; two groups, or any number with
        `continuous`.
    features : pair of array-like or frame, optional
        What is known about each subject, on both sides alike. The group may be among them.
    regressor : scikit-learn regressor or {"ridge", "forest"}
        What predicts the first's decisions from features; copied, never changed.
    predictions : pair of array-like, optional
        Predictions already made, for the first's subjects and the second's, in place of features.
    subjects : pair of array-like, optional
        Ids; subjects whom both decided about are compared directly and joined with the others.
    names : (str, str)
        What to call the decision makers.
    reference : optional
        The group that the other is compared with; the first in sorted order by default.
    continuous : bool
        Whether `sensitive_features` are numbers, such as ages: is the difference of the two a line
        over them without a slope? Not together with `subjects`.
    errors : {"cross-fitted", "held-out", "training"}
        Take :math:`E_0` on each part from a model of the others (ours), on a part held out (the
        authors' code), or on the data the model was fitted to (the paper; wrong for a flexible
        model).
    folds : int
        Parts of cross-fitting.
    held_out : float
        Share of the first's subjects held out.
    alpha, margin, rule
        As in :func:`comparity.differential_parity`.
    seed : int
        Seed of the parts, and of a regressor that has none of its own.

    Returns
    -------
    BridgedParity
        With ``.dpt .dof .p_value .p_one_sided .dpd .magnitude .direction .diagnosis .finding``.
        A bridge too poor to carry a finding keeps its numbers and leaves the question open.

    References
    ----------
    .. [1] Yu and Xi, "Differential Parity: Relative Fairness Between Two Sets of Decisions",
       section 2.3.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sex = [rng.choice(["f", "m"], n) for n in (600, 500)]
    >>> grade = [rng.normal(size=(n, 1)) for n in (600, 500)]
    >>> lenient = grade[0][:, 0] + 0.5 * (sex[0] == "f") + rng.normal(0, 0.7, 600)
    >>> strict = grade[1][:, 0] + rng.normal(0, 0.7, 500)
    >>> result = biased_bridge(lenient, strict, sensitive_features=sex, features=grade)
    >>> result.finding, result.direction
    ('violated', 'Compared with second, first favours group f over group m')
    """
    options = BridgeOptions(**choices)
    given = {"features": features, "predictions": predictions, "subjects": subjects}
    return _audit_arrays(
        (first, second),
        sensitive_features,
        given,
        regressor,
        options,
        names=names,
        reference=reference,
        bridge="biased",
    )


def unbiased_bridge(
    first: Column,
    second: Column,
    *,
    sensitive_features: tuple[Attributes, Attributes],
    features: tuple[Matrix, Matrix] | None = None,
    regressor: Any = "ridge",
    predictions: tuple[Column, Column] | None = None,
    names: tuple[str, str] = SIDES,
    reference: Any = None,
    alpha: float = 0.05,
    margin: float = 0.2,
    rule: Literal["holm", "paper"] = "holm",
    seed: int = 0,
) -> BridgedParity:
    """Test predictions of the first's decisions against the second's, as if they were decisions.

    Algorithm 1 of the same paper, kept for comparison: a model of the first is fitted to all its
    decisions, and what it predicts for the second's subjects is compared with what the second
    decided there. It is right only if the model leans exactly as the first does and has no error of
    its own, and is refused otherwise (see ``.diagnosis``). Without the group among the features it
    found a leaning that is not there in every one of 1,500 simulated cases, with it in one of five.

    Parameters
    ----------
    first, second, sensitive_features, features, regressor, predictions, names, reference
        As in :func:`biased_bridge`.
    alpha, margin, rule, seed
        As in :func:`biased_bridge`.

    Returns
    -------
    BridgedParity

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sex = [rng.choice(["f", "m"], n) for n in (600, 500)]
    >>> grade = [rng.normal(size=(n, 1)) for n in (600, 500)]
    >>> one, other = (
    ...     x[:, 0] + 0.5 * (a == "f") + rng.normal(0, 0.7, len(a)) for x, a in zip(grade, sex)
    ... )
    >>> result = unbiased_bridge(one, other, sensitive_features=sex, features=grade)
    >>> result.p_value < 0.001, result.finding, result.diagnosis.carries
    (True, 'undecided', False)
    """
    options = BridgeOptions(alpha=alpha, margin=margin, rule=rule, seed=seed, errors="training")
    given = {"features": features, "predictions": predictions}
    return _audit_arrays(
        (first, second),
        sensitive_features,
        given,
        regressor,
        options,
        names=names,
        reference=reference,
        bridge="unbiased",
    )


def audit_frames(decisions: Any, others: Any, **choices: Any) -> BridgedParity:
    """Test across a bridge between two frames of any engine.

    Parameters
    ----------
    decisions, others : frame of any engine
        Subjects of the first and of the second, one row for each.
    **choices
        Those of :class:`BridgeForm`; `first` is a column of `decisions`, `second` one of `others`,
        all other columns are in both.
    """
    form = BridgeForm(**choices)
    return audit_columns(*read_sides(decisions, others, form), form)


def read_sides(decisions: Any, others: Any, form: BridgeForm) -> tuple[Columns, Columns]:
    """Return the columns of both frames that a bridge needs."""
    check_apart([form.sensitive], (form.first, form.second))
    needed = [*form.features, *(name for name in (form.prediction, form.subject) if name)]
    one = labelled_columns(decisions, [form.first, form.sensitive, *needed], table="first's")
    two = labelled_columns(others, [form.second, form.sensitive, *needed], table="second's")
    return one, two


def audit_columns(one: Columns, two: Columns, form: BridgeForm) -> BridgedParity:
    """Test across a bridge between the columns of two frames."""
    if form.bridge == "unbiased":
        form = replace(form, errors="training")
    first, second, sensitive, features = form.first, form.second, form.sensitive, form.features
    names = (first, second) if first != second else (f"{first} (first)", f"{second} (second)")
    check_reference(form.reference, continuous=form.continuous)
    decisions, about = (one[first], two[second]), (one[sensitive], two[sensitive])
    numbers = None
    if form.continuous:
        sides, numbers = numbered_subjects(decisions, about, names=names, attribute=sensitive)
    else:
        sides = decided_subjects(
            decisions,
            about,
            (one[form.subject], two[form.subject]) if form.subject else None,
            names=names,
            attribute=sensitive,
            reference=form.reference,
        )
    known = tuple({name: columns[name] for name in features} for columns in (one, two))
    made = (one[form.prediction], two[form.prediction]) if form.prediction else None
    foretold = Foretold(
        features=match_columns(*known) if features else None,
        predictions=None if made is None else _check_predictions(sides, made),
        names=names_of_columns(known[0]),
    )
    columns = {"first": first, "second": second, "sensitive": sensitive, "features": [*features]}
    options = form.narrow(BridgeOptions)
    return audit_sides(
        sides,
        build_bridge(sides, foretold, form.regressor, options),
        options,
        names=names,
        attribute=sensitive,
        bridge=form.bridge,
        numbers=numbers,
        columns=columns,
    )


def audit_files(decisions: str | Path, others: str | Path, **choices: Any) -> BridgedParity:
    """Test across a bridge between two files; `choices` as in :func:`audit_frames`."""
    check_other_file(decisions, others, choices.get("subject"))
    result = audit_frames(read_table(decisions), read_table(others), **choices)
    return replace(result, audit=result.audit.with_files(decisions, others))


def check_other_file(decisions: str | Path, others: str | Path, subject: str | None) -> None:
    """Refuse one file twice: its subjects need no bridge."""
    if file_sha256(decisions) == file_sha256(others) and not subject:
        why = "both files hold the same subjects, who are compared directly without a bridge"
        raise OptionError(
            "on", Path(others).name, ["the file of other subjects", "name the ids as subject"], why
        )


def _audit_arrays(
    decisions: tuple[Any, Any],
    sensitive: Any,
    given: Mapping[str, Any],
    regressor: Any,
    options: BridgeOptions,
    *,
    names: tuple[str, str],
    reference: Any,
    bridge: str,
) -> BridgedParity:
    """Check what is given of both sides, and test across the bridge."""
    check_two_names(names)
    groups = _pair("sensitive_features", sensitive)
    known = {option: _pair(option, one) for option, one in given.items() if one is not None}
    check_reference(reference, continuous=options.continuous)
    ids, attribute = known.get("subjects"), next(iter(named_attributes(groups[0])))
    decided = as_array(decisions[0]), as_array(decisions[1])
    about = one_attribute(groups[0]), one_attribute(groups[1])
    numbers = None
    if options.continuous:
        if ids is not None:
            why = "a number is compared across different subjects alone"
            raise OptionError("subjects", "ids", ["no ids"], why)
        sides, numbers = numbered_subjects(decided, about, names=names, attribute=attribute)
    else:
        sides = decided_subjects(
            decided,
            about,
            None if ids is None else (as_array(ids[0]), as_array(ids[1])),
            names=names,
            reference=reference,
        )
    features, made = known.get("features"), known.get("predictions")
    foretold = Foretold(
        features=None if features is None else match_features(*features, sizes=sides.sizes),
        predictions=None if made is None else _check_predictions(sides, made),
        names=() if features is None else feature_names(features[0]),
    )
    built = build_bridge(sides, foretold, regressor, options)
    return audit_sides(
        sides,
        built,
        options,
        names=names,
        attribute=attribute,
        bridge=bridge,
        numbers=numbers,
    )


def _pair(option: str, given: Any) -> tuple[Any, Any]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise PairOfSidesError(option, given)
    return given[0], given[1]


def _check_predictions(sides: DecidedSubjects, predictions: tuple[Any, Any]) -> Predictions:
    first, second = (
        bounded_numbers(as_array(one), "predictions", "predictions") for one in predictions
    )
    for own, decided, side in zip((first, second), sides.decisions, SIDES, strict=True):
        check_lengths({f"{side} decisions": decided, "predictions": own})
    return Predictions(first=first, second=second, judged=np.ones(len(first), dtype=bool))
