"""The ranking models, and the choices of a ranking of a panel's comparisons.

A model is a function of this folder that takes comparisons and returns a
:class:`comparity.ranking.result.Ranking`, and a :class:`RankingModel` that describes it, by the
same name in capitals. The command, its errors and the table in ``docs/ranking.md`` are made from
these descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from comparity.errors import Option, OptionError
from comparity.results.options import ComparisonColumns, Options, choice, column, declared_choices

MODULES = {
    "barp": "barp.barp",
    "bt": "simple_models.bradley_terry",
    "crowdbt": "crowd_models.crowd_bt",
    "elo": "simple_models.elo",
    "factorbt": "crowd_models.factor_bt",
    "rankcentrality": "rank_centrality.rank_centrality",
    "winrate": "simple_models.win_rate",
}
"""Module and function of each model by its name on the command line; loaded when asked for."""

COMMANDS = {place.partition(".")[2]: command for command, place in MODULES.items()}
"""Models may be called by their function as well: ``win_rate`` is ``winrate``."""

NEEDS = ("groups", "evaluators", "seats")

OPTIONS = {
    "ties": (),
    "seats": ("seat", "seats"),
    "score_prior": ("score_prior",),
    "seed": (),
    "biases": (
        *("anchor", "trusted", "reference", "bias_prior", "seat_by_evaluator", "own_seats"),
        *("intersections", "suggest", "score_dependent", "corrected", "uncorrected"),
        *("sharpness", "chance_between_groups", "lapse_rate", "anytime"),
    ),
    "cluster": ("cluster",),
    "evaluators": ("evaluator",),
}
"""What a model may accept, and the options that only make sense for a model that does."""

PRIORS = ("score_prior", "bias_prior", "prior")
WHY_NO_AUDIT = "it is about the audit of a score against the panel, and no score is named"
WHY_NOT_RANDOM = "nothing here is random: there is no cross-validation and no audit of a score"

REFUSALS = {
    "seats": "{model} knows no seats; {others} do",
    "score_prior": "it is not for {model}, which has no prior",
    "biases": "it is about biases, of which {model} knows none",
    "cluster": "{model} has no errors that clusters could widen; {others} have",
    "evaluators": "{model} takes all who judged alike; {others} tell them apart",
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
    module, function = MODULES[command].split(".")
    found: RankingModel = getattr(import_module(f"comparity.ranking.{module}"), function.upper())
    return found


def all_models() -> dict[str, RankingModel]:
    """Return every model by its name on the command line."""
    return {command: model_of(command) for command in MODULES}


def check_accepted(command: str, given: Mapping[str, Any]) -> None:
    """Refuse options that a model would leave without effect.

    Parameters
    ----------
    command : str
        The model.
    given : mapping of str to object
        Options by name, with their values.

    Examples
    --------
    >>> check_accepted("elo", {"score_prior": 2.0})
    Traceback (most recent call last):
    comparity.errors.choices.OptionError: score_prior cannot be 2.0; it is not for elo, which ...
      found: score_prior=2.0
      hint:  choose no score_prior=.
    """
    accepts = model_of(command).accepts
    for option, value in given.items():
        for trait, known in OPTIONS.items():
            if option in known and trait not in accepts:
                others = [name for name, other in all_models().items() if trait in other.accepts]
                why = REFUSALS[trait].format(model=command, others=" and ".join(others))
                allowed: list[Any] = [("no {}", Option(option))]
                if trait == "evaluators" and "cluster" in accepts:
                    allowed.append(("that column as {}, for errors", Option("cluster")))
                raise OptionError(option, value, allowed, why)


def check_used(made: Mapping[str, Any]) -> None:
    """Refuse choices of an audit that nobody asked for, and a seed where nothing is random.

    Parameters
    ----------
    made : mapping of str to object
        Options by name, with their values; those left at their defaults do not count.

    Examples
    --------
    >>> check_used({"alpha": 0.1})
    Traceback (most recent call last):
    comparity.errors.choices.OptionError: alpha cannot be 0.1; it is about the audit of a score...
      found: alpha=0.1
      hint:  choose score= beside it or no alpha=.
    """
    declared = declared_choices(RankForm)
    unused = {} if made.get("score") else dict.fromkeys(("alpha", "margin"), WHY_NO_AUDIT)
    if unused and "cross-validation" not in (made.get(name) for name in PRIORS):
        unused["seed"] = WHY_NOT_RANDOM
    for option, why in unused.items():
        if option in made and made[option] != declared[option].default:
            beside = ("{} beside it", Option("score"))
            raise OptionError(option, made[option], [beside, ("no {}", Option(option))], why)


def read_anchor(words: str | None) -> str | dict[str, float] | None:
    """Return an anchor as Python has it, with SDs where the words have equal signs.

    Examples
    --------
    >>> read_anchor("zero mean bias=0.5, equal group means=1")
    {'zero mean bias': 0.5, 'equal group means': 1.0}
    """
    if words is None or "=" not in words:
        return words
    stated = {}
    for part in words.split(","):
        name, _, sd = part.partition("=")
        try:
            stated[name.strip()] = float(sd)
        except ValueError as error:
            allowed = ["a statement and its SD, such as 'zero mean bias=0.5'"]
            raise OptionError("anchor", words, allowed) from error
    return stated


@dataclass(frozen=True, kw_only=True)
class PlacesOptions(Options):
    """What is asked about the places of groups in a ranking.

    Without slots, so that a form can extend this class and another one.
    """

    discount: Literal["singh-joachims", "ferrara"] = choice(
        "singh-joachims", "Weight of a place in exposure."
    )
    top: int | None = choice(None, "Fill this many places by FA*IR.", least=1)
    protected: str | None = choice(
        None, "Group that FA*IR moves up if it is too rare in the first places."
    )
    share: float | None = choice(
        None,
        "Share of that group to test against.  [default: its share of all items]",
        above=0,
        below=1,
    )

    def _check_together(self) -> None:
        self.check_top()

    def check_top(self) -> None:
        """Refuse a fair top without a group to protect, and choices of it without a top."""
        if self.top is not None and self.protected is None:
            raise OptionError("top", self.top, [("{} beside it", Option("protected"))])
        for name in ("protected", "share"):
            if self.top is None and getattr(self, name) is not None:
                beside = ("{} beside it", Option("top"))
                raise OptionError(name, getattr(self, name), [beside])


@dataclass(frozen=True, kw_only=True)
class PlacesForm(PlacesOptions):
    """The same of a file: which columns are what."""

    score: str = column("Column with the model's score.")
    sensitive: str = column("Column with the group.")


@dataclass(frozen=True, kw_only=True)
class RankForm(ComparisonColumns, PlacesOptions):
    """Which model ranks which columns, what fixes its level, and how a score is audited."""

    sensitive: tuple[str, ...] = column("Column with the group; several separated by commas.", ())
    model: str = choice(
        "barp",
        "How to rank; 'bt' does not adjust for evaluators' biases.",
        words=tuple(MODULES),
        aliases=COMMANDS,
    )
    anchor: str | None = choice(
        None,
        "What fixes the common level of the biases, an assumption: 'equal group means', 'zero mean "
        "bias', either with an SD ('zero mean bias=0.5'), 'samples' or 'aligned distributions'.  "
        "[default: equal group means]",
    )
    reference: tuple[str, ...] | None = choice(
        None,
        "Group that biases are measured against, one for each --sensitive column.  "
        "[default: the first in sorted order]",
    )
    trusted: tuple[str, ...] | None = choice(
        None, "Evaluators assumed to be unbiased, instead of --anchor: names, or human-*."
    )
    score_prior: float | str | None = choice(
        None,
        "SD of the scores in logits, 'marginal likelihood', 'cross-validation' or 'none'.  "
        "[default: marginal likelihood; 5 for crowdbt and factorbt]",
    )
    bias_prior: float | str | None = choice(None, "The same for the biases.  [default: 10]")
    score: str | None = column(
        "Column of the items with a model's score, to audit against the panel.", None
    )
    alpha: float = choice(0.05, "False-alarm rate of the audit of --score.", above=0, below=1)
    margin: float = choice(0.05, "Largest harmless gap in that audit.", above=0, below=1)
    seats: bool = choice(False, "Estimate the advantage of the item on the left.")
    own_seats: bool = choice(False, "Estimate that advantage for each evaluator.")
    intersections: tuple[str, ...] = choice(
        (), "Intersections with their own bias, such as 'sex=f & race=b'; separated by commas."
    )
    suggest: bool = choice(False, "Suggest intersections that need a bias of their own.")
    places: bool = choice(False, "Report the exposure of each group in the ranking.")
    reliability: bool = choice(
        False, "Estimate how similar a ranking by other evaluators would be."
    )
    score_dependent: bool = choice(False, "Test whether biases grow with the score of the item.")
    uncorrected: bool = choice(
        False,
        "Do not correct biases for shrinkage toward zero, which errors of the scores cause.",
    )
    sharpness: Literal["auto", "own", "equal"] = choice(
        "auto",
        "Whether all evaluators are equally consistent, or each has its own sharpness; 'auto' "
        "decides by how well sharpness can be estimated.",
    )
    lapse_rate: float | Literal["estimated"] | None = choice(
        None, "Share of judgments that are random, or 'estimated'.  [default: 0]"
    )
    chance_between_groups: bool = choice(
        False,
        "Include chance differences of group means in the errors of scores and ranks.",
    )
    anytime: bool = choice(False, "Keep error rates however often you look while data arrive.")
    cluster: str | None = column(
        "Column that identifies dependent comparisons, such as the prompt.", None
    )
    item: str = column("Column of the items with the id.", "item")
    seed: int = choice(0, "Random seed.", least=0)

    def _check_together(self) -> None:
        """Refuse what the model, or another choice, would leave without effect."""
        declared = declared_choices(RankForm)
        given = {name: getattr(self, name) for name in declared}
        made = {name: one for name, one in given.items() if one != declared[name].default}
        check_accepted(self.model, made)
        check_used(made)
        if self.anchor and self.trusted:
            why = "trusted evaluators are the anchor"
            raise OptionError("anchor", self.anchor, [("no {} beside them", Option("anchor"))], why)
        if self.anytime and self.score:
            why = "the audit of a score against the panel is for a single look"
            raise OptionError("anytime", True, [("no {} beside it", Option("score"))], why)
        self._check_places()
        if self.suggest and self.intersections:
            why = "they are looked for in a fit without any"
            raise OptionError("suggest", True, [("no {} beside it", Option("intersections"))], why)
        if self.suggest and len(self.sensitive) < 2:
            two = ("two {} columns", Option("sensitive"))
            raise OptionError("suggest", True, [two], "it looks at intersections")
        if self.reference and len(self.reference) != len(self.sensitive):
            each = ("one group for each {} column", Option("sensitive"))
            raise OptionError("reference", self.reference, [each])

    def _check_places(self) -> None:
        """Refuse places without groups, and choices about places that nobody asked for."""
        self.check_top()
        asked = self.places or self.top is not None
        if asked and not self.sensitive:
            beside = ("{} beside it", Option("sensitive"))
            raise OptionError("places" if self.places else "top", True, [beside])
        if not asked and self.discount != "singh-joachims":
            raise OptionError("discount", self.discount, [("{} beside it", Option("places"))])

    def layout_of_comparisons(self) -> dict[str, Any]:
        """Return how comparisons are written, and which further column of theirs is needed."""
        written = ("layout", "better", "worse", "evaluator", "left", "right", "winner")
        kept = [self.cluster] if self.cluster else []
        return {"kept": kept, **{name: getattr(self, name) for name in written}}

    def columns_read(self, comparisons: Mapping[str, str]) -> dict[str, Any]:
        """Return the columns of the comparisons, and those of the items that hold groups."""
        groups = {"sensitive": list(self.sensitive)} if self.sensitive else {}
        return dict(comparisons) | groups

    def for_model(self) -> dict[str, Any]:
        """Return the choices made about the model, by the names its function has for them."""
        by_name = dict(zip(self.sensitive, self.reference, strict=True)) if self.reference else None
        made = {
            "anchor": list(self.trusted) if self.trusted else read_anchor(self.anchor),
            "reference": by_name,
            "score_prior": self.score_prior,
            "bias_prior": self.bias_prior,
            "seat_by_evaluator": self.own_seats or None,
            "intersections": "suggest" if self.suggest else self._named_intersections(),
            "score_dependent": self.score_dependent or None,
            "corrected": False if self.uncorrected else None,
            "sharpness": self.sharpness if self.sharpness != "auto" else None,
            "chance_between_groups": self.chance_between_groups or None,
            "lapse_rate": self.lapse_rate,
            "anytime": self.anytime or None,
        }
        known = {name: value for name, value in made.items() if value is not None}
        return {name: None if value == "none" else value for name, value in known.items()}

    def _named_intersections(self) -> list[dict[str, str]] | None:
        """Return intersections as mappings of attribute to group."""
        return [read_intersection(one) for one in self.intersections] or None


def read_intersection(written: str) -> dict[str, str]:
    """Read an intersection of groups as it is written on the command line.

    Examples
    --------
    >>> read_intersection("sex=f & race=b")
    {'sex': 'f', 'race': 'b'}
    """
    parts = [part.strip().partition("=") for part in written.split("&")]
    if not all(name and equals and group for name, equals, group in parts):
        raise OptionError("intersections", written, ["groups such as 'sex=f & race=b'"])
    return {name.strip(): group.strip() for name, _, group in parts}
