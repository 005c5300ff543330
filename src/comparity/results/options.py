"""Choices: each is declared once, with its type, default, bounds and one line of help.

The options of a command, the keys of a policy, the parameters a Python function shows, and the
checks at every door are made from the declaration (see *How to add an option* in CONTRIBUTING.md).
Nothing heavy is imported here, because ``--help`` reads it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from functools import cache, reduce
from numbers import Integral, Real
from operator import or_
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from comparity import __version__
from comparity.errors import Option, OptionError

REQUIRED: Any = MISSING
"""The default of a choice that has none."""

KEY = "choice"
Function = TypeVar("Function", bound=Callable[..., Any])
Chosen = TypeVar("Chosen", bound="Options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Between which numbers a choice lies, and what an error says is allowed.

    Attributes
    ----------
    above, below : float, optional
        Limits that are excluded.
    least, most : float, optional
        Limits that are included.
    allowed : str
        What to choose, where it is said in other words than those made from the limits.
    """

    above: float | None = None
    below: float | None = None
    least: float | None = None
    most: float | None = None
    allowed: str = ""

    def hold(self, number: Any) -> bool:
        """Return whether a number lies between the limits."""
        return (
            (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
            and (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
        )

    def words(self, kind: str) -> str:
        """Return what is allowed, as an error says it."""
        if self.allowed:
            return self.allowed
        if self.above is not None and self.below is not None:
            return f"{kind} between {self.above:g} and {self.below:g}, both excluded"
        if self.least is None:
            return kind
        return f"{kind} from {self.least:g} {'on' if self.most is None else f'to {self.most:g}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One declared choice.

    Attributes
    ----------
    name : str
        What it is called in Python and in a policy; ``score_ties`` is ``--score-ties``.
    kind : type
        Its type, without None.
    optional : bool
        Whether it may be None.
    is_open : bool
        Whether it may be anything in Python; the question itself checks it.
    default : object
        What it is if it is not given; :data:`REQUIRED` where it has to be.
    says : str
        One line of help.
    bounds : Bounds
        Where a number may lie.
    is_column : bool
        Whether it names a column of a table, or several.
    option : str
        Its name on the command line, without dashes.
    shown : str
        What help calls the default, where it is chosen later.
    offered : bool
        Whether commands and policies have it, too, or Python alone.
    listed : tuple of str
        The words to choose from, where the type does not say.
    aliases : mapping of str to str
        Other words, and those they stand for.
    """

    name: str
    kind: Any
    optional: bool
    is_open: bool
    default: Any
    says: str
    bounds: Bounds
    is_column: bool
    option: str
    shown: str
    offered: bool
    listed: tuple[str, ...]
    aliases: Mapping[str, str]

    @property
    def words(self) -> tuple[str, ...]:
        """The words to choose from; none where any will do."""
        kind = get_args(self.kind)[0] if self.is_list else self.kind
        return self.listed or (get_args(kind) if get_origin(kind) is Literal else ())

    @property
    def is_list(self) -> bool:
        """Whether it holds any number of values."""
        return get_origin(self.kind) is tuple and get_args(self.kind)[-1] is Ellipsis

    def read(self, found: Any) -> Any:
        """Return a value as plain Python has it, or raise an error that says what is allowed."""
        if self.is_open or (found is None and self.optional):
            return found
        if self.is_list:
            return self._read_list(found)
        if self.words:
            found = self.aliases.get(found, found) if isinstance(found, str) else found
            if not isinstance(found, str) or found not in self.words:
                raise OptionError(self.name, found, [repr(word) for word in self.words])
        elif self.kind is bool:
            # Numpy's truth values are no bool.
            if type(found).__name__ not in ("bool", "bool_"):
                raise OptionError(self.name, found, ["True", "False"])
            return bool(found)
        elif self.kind is int:
            return int(self._check_number(found, Integral, "a whole number"))
        elif self.kind is float:
            return float(self._check_number(found, Real, "a number"))
        elif self.kind == tuple[int, int]:
            return _read_looks(self.name, found)
        elif self.kind is str and self.is_column and not isinstance(found, str):
            raise OptionError(self.name, found, ["the name of one column"])
        return found

    def _read_list(self, found: Any) -> tuple[Any, ...]:
        single = isinstance(found, str) or not isinstance(found, Iterable)
        values = (found,) if single else tuple(found)
        if get_args(self.kind)[0] is float:
            return tuple(float(self._check_number(one, Real, "numbers")) for one in values)
        allowed = [repr(word) for word in self.words]
        for value in values if allowed else ():
            if value not in self.words:
                raise OptionError(self.name, value, allowed)
        if allowed and not values and self.default != ():
            raise OptionError(self.name, values, allowed)
        return values

    def _check_number(self, found: Any, kind: type, called: str) -> Any:
        number = isinstance(found, kind) and not isinstance(found, bool)
        if not number or not math.isfinite(found) or not self.bounds.hold(found):
            raise OptionError(self.name, found, [self.bounds.words(called)])
        return found


def _read_looks(name: str, found: Any) -> tuple[int, int]:
    # Imported here because levels of looks are worked out with scipy.
    from comparity.inference.looks import check_looks

    pair = isinstance(found, tuple | list) and len(found) == 2
    if not pair or not all(isinstance(n, Integral) and not isinstance(n, bool) for n in found):
        raise OptionError(name, found, ["two whole numbers, such as (2, 4)"])
    check_looks(*found)
    return int(found[0]), int(found[1])


def choice(
    default: Any,
    says: str,
    *,
    option: str = "",
    shown: str = "",
    column: bool = False,
    offered: bool = True,
    words: tuple[str, ...] = (),
    aliases: Mapping[str, str] | None = None,
    **bounds: Any,
) -> Any:
    """Declare a choice in the body of an options class.

    Parameters
    ----------
    default : object
        What it is if it is not given; :data:`REQUIRED` where it has to be.
    says : str
        One line of help.
    option : str
        Its name on the command line, where that is not the one in Python.
    shown : str
        What help calls the default, where the value itself is chosen later.
    column : bool
        Whether it names a column of a table, or several.
    offered : bool
        Whether commands and policies have it, too, or Python alone.
    words, aliases
        The words to choose from, where they are listed elsewhere, and others that stand for them.
    **bounds
        Of a number, see :class:`Bounds`.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True, kw_only=True)
    ... class FloorOptions(Options):
    ...     floor: float = choice(0.5, "Lowest rate that is allowed.", above=0, below=1)
    >>> FloorOptions(floor=0.25).floor
    0.25
    >>> FloorOptions(floor=2)
    Traceback (most recent call last):
    comparity.errors.choices.OptionError: floor cannot be 2.
      found: floor=2
      hint:  choose a number between 0 and 1, both excluded.
    """
    facts = {
        "says": says,
        "bounds": Bounds(**bounds),
        "is_column": column,
        "option": option,
        "shown": shown,
        "offered": offered,
        "listed": words,
        "aliases": aliases or {},
    }
    return field(default=default, metadata={KEY: facts})


def column(says: str, default: Any = REQUIRED, **facts: Any) -> Any:
    """Declare a choice that names a column, or several, of a frame or a file."""
    return choice(default, says, column=True, **facts)


def cluster_columns(such_as: str) -> Any:
    """Declare the columns that say which rows are not independent of each other."""
    says = "Column that identifies dependent rows, such as the {}; several separated by commas."
    return column(says.format(such_as), ())


def declared_choices(options: type[Options]) -> Mapping[str, Choice]:
    """Return the choices of a class by name: its own first, then those of what it extends.

    One that is declared again, with another default, keeps its place.
    """
    kind: Any = options
    return _find_choices(kind)


@cache
def _find_choices(options: Any) -> Mapping[str, Choice]:
    known = {one.name: one for one in fields(options) if KEY in one.metadata}
    types = get_type_hints(options)
    own = [inspect.get_annotations(home) for home in options.__mro__]
    places = {name: depth for depth, names in enumerate(own) for name in names}
    order = [n for depth, names in enumerate(own) for n in names if places[n] == depth]
    return {name: _choice_of(known[name], types[name]) for name in order if name in known}


def _choice_of(one: Field[Any], hint: Any) -> Choice:
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    facts = dict(one.metadata[KEY])
    facts["option"] = facts["option"] or one.name.replace("_", "-")
    known = [kind for kind in kinds if kind not in (NoneType, Any)] or [Any]
    return Choice(
        name=one.name,
        kind=reduce(or_, known),
        optional=NoneType in kinds,
        is_open=Any in kinds,
        default=one.default,
        **facts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Choices, checked by what is declared of each when an object is made."""

    def __post_init__(self) -> None:
        for name, one in declared_choices(type(self)).items():
            object.__setattr__(self, name, one.read(getattr(self, name)))
        self._check_together()

    def _check_together(self) -> None:
        """Refuse choices that do not go with each other."""

    def narrow(self, kind: type[Chosen]) -> Chosen:
        """Return those of the choices that another class has."""
        return kind(**{one.name: getattr(self, one.name) for one in fields(kind)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(Options):
    """How every audit judges."""

    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=1)
    rule: Literal["holm", "paper"] = choice(
        "holm", "Correction for several tests; 'paper' makes none."
    )
    margin: float = choice(0.05, "Largest gap that is harmless.", above=0, below=1)
    looks: tuple[int, int] | None = choice(
        None, "Number of this look and of all planned looks, such as 2/4."
    )
    seed: int | None = choice(None, "Random seed.", least=0)

    JUDGING: ClassVar[tuple[str, ...]] = ("alpha", "margin", "rule", "looks")

    @property
    def judging(self) -> dict[str, Any]:
        """What a family of tests is judged by, as an audit records it."""
        return {name: getattr(self, name) for name in self.JUDGING}

    def check_clusters(self, cluster: tuple[str, ...]) -> None:
        """Refuse clusters where the rule takes all rows to be independent."""
        if cluster and self.rule == "paper":
            why = "the rule of the paper takes all rows to be independent"
            raise OptionError("rule", self.rule, ["'holm'", "no clusters"], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimeOptions(AuditOptions):
    """How audits judge whose findings may be read at any moment."""

    anytime: bool = choice(False, "Keep error rates however often you look while data arrive.")

    JUDGING: ClassVar[tuple[str, ...]] = (*AuditOptions.JUDGING, "anytime")

    def __post_init__(self) -> None:
        AuditOptions.__post_init__(self)
        for name, single, word in (("looks", None, "no looks"), ("rule", "holm", "'holm'")):
            if self.anytime and (found := getattr(self, name)) != single:
                why = "it is for findings that are read once, or as often as planned"
                raise OptionError(name, found, [word, Option("anytime", False)], why)


@dataclass(frozen=True, kw_only=True)
class ComparisonColumns(Options):
    """How comparisons are written in a table.

    Without slots, so that a form can extend this class and another one.
    """

    evaluator: str | None = column("Column of the comparisons with who judged.", None)
    layout: str = choice(
        "auto", "Layout of the comparisons, such as 'left, right, winner'; 'auto' recognises it."
    )
    better: str | None = column("Column with the better item, if it has another name.", None)
    worse: str | None = column("Column with the worse item, if it has another name.", None)
    left: str | None = column("Column with one item; needs --winner.", None)
    right: str | None = column("Column with the other item; needs --winner.", None)
    winner: str | None = column(
        "Column that says which of --left and --right won: left, right, tie or an id.", None
    )


def provenance(options: Options, **data: Any) -> Mapping[str, Any]:
    """Return what is needed to repeat an audit: version, seed, options and facts about the data."""
    choices = asdict(options)
    return {
        "comparity": __version__,
        "seed": choices.pop("seed"),
        "options": choices,
        "data": data,
    }


def shows(options: type[Options]) -> Callable[[Function], Function]:
    """Let a function that takes ``**choices`` show every choice of a class in its signature."""

    def decorate(function: Function) -> Function:
        asked = inspect.signature(function)
        own = [one for one in asked.parameters.values() if one.kind is not one.VAR_KEYWORD]
        taken = {one.name for one in own}
        types = get_type_hints(options)
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=types[name]
            )
            for name, one in declared_choices(options).items()
            if name not in taken and not one.is_column
        ]
        function.__signature__ = asked.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate
