"""The ranking models: what each is called, what it needs and what it accepts.

A model is one module of this folder: a function that takes comparisons and returns a
:class:`comparity.ranking.result.Ranking`, and a `MODEL` that describes it. The command, its errors
and the table in ``docs/ranking.md`` are made from these descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

__all__ = [
    "COMMANDS",
    "MODULES",
    "OPTIONS",
    "RankingModel",
    "all_models",
    "model_of",
    "why_refused",
]

MODULES = {
    "barp": "barp",
    "bt": "bradley_terry",
    "crowdbt": "crowd_bt",
    "elo": "elo",
    "factorbt": "factor_bt",
    "rankcentrality": "rank_centrality",
    "winrate": "win_rate",
}
"""Module of each model by its name on the command line; loaded when it is asked for."""

COMMANDS = {module: command for command, module in MODULES.items()}
"""Models may be called by their function as well: ``win_rate`` is ``winrate``."""

NEEDS = ("groups", "evaluators", "seats")

OPTIONS = {
    "ties": (),
    "seats": ("seat",),
    "score_prior": ("score_prior",),
    "seed": (),
    "biases": (
        *("anchor", "trusted", "reference", "bias_prior", "seat_by_evaluator", "own_seats"),
        *("intersections", "suggest", "score_dependent", "corrected", "uncorrected"),
    ),
}
"""What a model may accept, and the options that only make sense for a model that does."""

REFUSALS = {
    "seats": "{model} knows no seats; {others} do",
    "score_prior": "{option} is not for {model}, which has no prior",
    "biases": "{option} is about biases, of which {model} knows none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingModel:
    """Description of a ranking model.

    Attributes
    ----------
    name : str
        What results call it.
    fit : callable
        Takes comparisons, as arrays, a frame or :class:`comparity.ranking.judgments.Judgments`, and
        choices by keyword; returns a ranking. Where groups are needed they are
        `sensitive_features`.
    about, source : str
        How it ranks, and who published it: a line of the documentation.
    needs : tuple of str
        Some of :data:`NEEDS`.
    accepts : tuple of str
        Some of the keys of :data:`OPTIONS`.
    keywords : mapping of str to str
        What `fit` calls an option, where it has another name for it.
    """

    name: str
    fit: Callable[..., Any]
    about: str
    source: str
    needs: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    keywords: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert {*self.needs} <= {*NEEDS}, self.needs
        assert {*self.accepts} <= {*OPTIONS}, self.accepts


def model_of(command: str) -> RankingModel:
    """Return the model with this name on the command line."""
    found: RankingModel = import_module(f"comparity.ranking.{MODULES[command]}").MODEL
    return found


def all_models() -> dict[str, RankingModel]:
    """Return every model by its name on the command line."""
    return {command: model_of(command) for command in MODULES}


def why_refused(command: str, option: str, written: str = "") -> str | None:
    """Say why a model takes no such option, or nothing if it takes it.

    Parameters
    ----------
    command : str
        The model.
    option : str
        Name of the option in Python.
    written : str
        How the caller writes it; the same by default.

    Examples
    --------
    >>> why_refused("rankcentrality", "score_prior", "--score-prior")
    '--score-prior is not for rankcentrality, which has no prior'
    """
    about = next((trait for trait, known in OPTIONS.items() if option in known), None)
    if about is None or about in model_of(command).accepts:
        return None
    others = [other for other, model in all_models().items() if about in model.accepts]
    return REFUSALS[about].format(
        option=written or option, model=command, others=" and ".join(others)
    )
