"""A choice that is declared once is checked, read and shown everywhere by its declaration."""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Literal

import click
import numpy as np
import pytest

from comparity.cli.options import choice_options
from comparity.comparative.options import ComparativeForm
from comparity.counts.ledger import DESIGNS
from comparity.errors import OptionError
from comparity.gate.notions import Notion
from comparity.metrics.entropy import VARIATIONS
from comparity.metrics.options import MetricsForm
from comparity.relative.options import BridgeForm
from comparity.relative.prediction import REGRESSORS
from comparity.results.options import (
    REQUIRED,
    AuditOptions,
    Options,
    choice,
    column,
    declared_choices,
    shows,
)
from comparity.training.candidates import KINDS as SCORERS
from comparity.training.goals import GOALS
from comparity.training.options import TrainForm, WeightsForm
from comparity.training.weigh import METHODS


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryKind(AuditOptions):
    """One choice of each type."""

    margin: float = choice(0.2, "Declared again.", above=0, below=1)
    label: str = column("Column with the label.")
    sensitive: tuple[str, ...] = column("Columns with groups.")
    word: Literal["one", "other"] = choice("one", "A word.")
    words: tuple[Literal["one", "other"], ...] = choice(("one",), "Several words.")
    share: float | None = choice(None, "A share.", least=0, below=1, allowed="a share")
    folds: int = choice(5, "Parts.", least=2, most=9)
    flag: bool = choice(False, "Whether.")
    anything: Any = choice(None, "Whatever it is.")
    quiet: int = choice(1, "Python alone has it.", least=1, offered=False)


NEEDED: dict[str, Any] = {"label": "y", "sensitive": ("sex",)}


@pytest.mark.parametrize(
    ("name", "wrong", "allowed"),
    [
        ("margin", 1, "a number between 0 and 1, both excluded"),
        ("alpha", float("nan"), "a number between 0 and 1, both excluded"),
        ("alpha", None, "a number between 0 and 1, both excluded"),
        ("word", "none", "'one' or 'other'"),
        ("word", ["one"], "'one' or 'other'"),
        ("words", ("one", "none"), "'one' or 'other'"),
        ("words", (), "'one' or 'other'"),
        ("share", 1.0, "a share"),
        ("folds", 10, "a whole number from 2 to 9"),
        ("folds", 2.0, "a whole number from 2 to 9"),
        ("folds", True, "a whole number from 2 to 9"),
        ("flag", "no", "True or False"),
        ("looks", (1, 2, 3), "two whole numbers, such as (2, 4)"),
        ("looks", (1.0, 2), "two whole numbers, such as (2, 4)"),
        ("seed", -1, "a whole number from 0 on"),
        ("quiet", 0, "a whole number from 1 on"),
        ("label", ["y"], "the name of one column"),
        ("label", 0, "the name of one column"),
    ],
)
def test_what_is_not_allowed_is_refused_with_what_is(name: str, wrong: Any, allowed: str) -> None:
    with pytest.raises(OptionError) as told:
        EveryKind(**{**NEEDED, name: wrong})
    assert str(told.value).startswith(f"{name} cannot be")
    assert str(told.value).endswith(f"choose {allowed}.")


def test_numbers_of_numpy_become_plain_and_one_name_becomes_a_list() -> None:
    given = {"alpha": np.float32(0.25), "folds": np.int64(3), "flag": np.bool_(True)}
    options = EveryKind(label="y", sensitive="sex", words=["other"], looks=[1, 2], **given)
    assert options.sensitive == ("sex",)
    assert (options.words, options.looks) == (("other",), (1, 2))
    assert json.loads(json.dumps(asdict(options)))["alpha"] == 0.25
    assert options.flag is True


def test_own_choices_come_first_and_one_declared_again_keeps_its_place() -> None:
    own = ["label", "sensitive", "word", "words", "share", "folds", "flag", "anything", "quiet"]
    assert [*declared_choices(EveryKind)] == [*own, *declared_choices(AuditOptions)]
    assert declared_choices(EveryKind)["margin"].default == 0.2
    assert declared_choices(EveryKind)["label"].default is REQUIRED


def test_narrow_keeps_what_the_other_class_has() -> None:
    assert EveryKind(**NEEDED, alpha=0.1).narrow(AuditOptions) == AuditOptions(
        alpha=0.1, margin=0.2
    )


def test_one_line_is_an_option_a_key_and_a_parameter() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class WithFloor(EveryKind):
        floor: float = choice(0.5, "Lowest rate that is allowed.", above=0, below=1)

    @shows(WithFloor)
    def audit(rows: Any, **choices: Any) -> Options:
        return WithFloor(**choices)

    command = click.command()(choice_options(lambda **given: click.echo(given["floor"]), WithFloor))
    shown = command.get_help(click.Context(command))
    assert "Lowest rate that is allowed. [default: 0.5; 0<x<1]" in " ".join(shown.split())
    assert "--quiet" not in shown
    keys = Notion(name="x", form=WithFloor)
    assert keys.keys["floor"] == "a number"
    assert keys.required == ("file", "label", "sensitive")
    assert inspect.signature(audit).parameters["floor"].default == 0.5
    assert "label" not in inspect.signature(audit).parameters


@pytest.mark.parametrize(
    ("form", "name", "known"),
    [
        (TrainForm, "goal", GOALS),
        (TrainForm, "scorer", SCORERS),
        (WeightsForm, "method", {*METHODS, "fair-reweighing"}),
        (MetricsForm, "variation", VARIATIONS),
        (BridgeForm, "regressor", REGRESSORS),
        (ComparativeForm, "design", DESIGNS),
    ],
)
def test_the_words_declared_are_those_that_are_understood(
    form: type[Options], name: str, known: Collection[str]
) -> None:
    assert set(declared_choices(form)[name].words) == set(known)
