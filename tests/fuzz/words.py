"""Words of a command line, drawn from the commands themselves: a new option is tried unasked."""

from __future__ import annotations

from typing import Any

import click
from hypothesis import strategies as st

from comparity.cli import commands
from comparity.cli.deciders import EXCLUDED, OWN
from comparity.cli.options import Column
from tests.fuzz.sheets import ODD_NAMES, ODD_VALUES, Sheet

__all__ = ["find_command", "is_input", "is_output", "option_words", "paths_of_commands"]

# What each option is for, so that most tables fit most commands. An option that is not here gets
# any column, or any word.
ROLES = {
    "label": ("class",),
    "prediction": ("decision",),
    "selected": ("decision",),
    "compare": ("rival",),
    "score": ("score",),
    "reference": ("group",),
    "sensitive": ("group", "other group"),
    "query": ("other group",),
    "weight": ("mass",),
    "features": ("score", "number"),
    "numeric": ("number",),
    "item": ("item",),
    "subject": ("item",),
    "better": ("better",),
    "worse": ("worse",),
    "evaluator": ("evaluator",),
    "first": ("rating",),
    "second": ("other rating",),
    "raters": ("rating", "other rating", "number"),
    "order": ("rating",),
    "positive": ("class",),
    "privileged": ("group",),
    "no_group": ("group",),
    "trusted": ("evaluator",),
}
OWN_ROLES = {
    ("pairwise", "label"): ("quality",),
    ("train", "label"): ("quality",),
    ("comparative", "reference"): ("quality",),
    ("metrics", "sensitive"): ("group",),
}
# What a command cannot do without, though click does not know.
USUAL = {
    ("impact",): ("selected",),
    ("rank",): ("sensitive", "evaluator"),
    ("relative",): ("first", "second", "permutations"),
    ("plan", "separation"): ("power",),
    ("plan", "comparative"): ("power",),
    ("plan", "rank"): ("power",),
    ("train",): ("steps",),
}
BRIDGE = ("first", "second", "features")
WORDS = tuple(
    ["auto", "better, worse", "arena", "crowd", "cross-group", "within-group", "marginal", "group"]
    + ["individual", "all cells", "symmetric", "statistical parity", "table 1", "german", "000"]
    + [name for name in ODD_NAMES if name]
    + [str(value) for value in ODD_VALUES]
)
# Options that say how much work is to be done get little of it, always: whoever asks for a million
# steps waits for them. Those that would use the network or run for minutes are left out.
WORK = {"steps": st.integers(1, 8).map(str), "permutations": st.integers(0, 19).map(str)}
# A state is written and added to; tests/comparative/test_state.py tries it.
LEFT_OUT = {"fetch", "everything", "table", "figure", "part", "state"}
# Right values of options whose type does not say which are right.
RIGHT = {
    "hidden": ["2", "2,2"],
    "shares": ["0.5,0.5", "0.3,0.7", "0.01,0.99"],
    "numbers": ["0.5,0.5", "0.8,0.84", "0.4,0.44", "0,1", "0.999,1"],
    "looks": ["1/2", "2/4", "1/1", "30/30"],
    "layout": ["auto", "better, worse"],
    "notions": ["cross-group", "within-group,marginal", "symmetric", "all cells"],
    "goal": ["cross-group", "within-group", "marginal", "symmetric", "statistical parity"],
    "kinds": ["group", "individual", "false negatives,false positives"],
    "score_prior": ["1", "0.01", "100"],
    "bias_prior": ["1", "0.01", "100"],
    "lean": ["0.8", "0.1", "-0.4", "5"],
    "preparation": ["default"],
    "separator": [";", "|"],
}
ODD_NUMBERS = [
    "0",
    "1",
    "-1",
    "1e-300",
    "1e308",
    "nan",
    "inf",
    "-inf",
    "",
    "x",
    "0,5",
    "1e5",
    "5e-324",
]
ODD_SIZES = ["0", "1", "-1", "1.5", "", "x", "9" * 30, "\u0663", "1e3", " 2", "2_0"]
ODD_LISTS = [
    "",
    ",",
    "1",
    "1,x",
    "nan,nan",
    "1/0",
    "0/1",
    "3/2",
    "x",
    "1/" + "9" * 30,
    "1,2,3,4",
    "inf,0",
]


NONE: st.SearchStrategy[str] = st.nothing()


def paths_of_commands() -> list[tuple[str, ...]]:
    """Return every command, those of groups of commands too, as the words that call it."""
    found: list[tuple[str, ...]] = []

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        if not isinstance(command, click.Group):
            found.append(path)
            return
        with click.Context(command) as context:
            for name in command.list_commands(context):
                # A study is made, changed and served for hours; tests/collect/ tries these.
                if name != "collect":
                    walk(command.get_command(context, name), (*path, name))  # type: ignore[arg-type]

    walk(commands, ())
    return found


def find_command(path: tuple[str, ...]) -> click.Command:
    """Return the command that these words call."""
    command: click.Command = commands
    for name in path:
        assert isinstance(command, click.Group)
        with click.Context(command) as context:
            found = command.get_command(context, name)
        assert found is not None, path
        command = found
    return command


def is_input(parameter: click.Parameter) -> bool:
    """Say whether a parameter names a file to be read."""
    return isinstance(parameter.type, click.Path) and parameter.type.exists


def is_output(parameter: click.Parameter) -> bool:
    """Say whether a parameter names a file to be written."""
    kind = parameter.type
    return isinstance(kind, click.Path) and not kind.exists and not kind.dir_okay


@st.composite
def option_words(
    draw: st.DrawFn, path: tuple[str, ...], sheets: dict[str, Sheet], *, odd: bool
) -> list[str]:
    """Draw the words of all parameters but files: right ones or, if `odd`, now and then wrong."""
    words: list[str] = []
    usual = BRIDGE if "on" in sheets else USUAL.get(path, ())
    known = [
        one
        for one in find_command(path).params
        if one.name not in LEFT_OUT and not is_input(one) and not is_output(one)
    ]
    # A bridge to another file has options of its own, and cannot have some of the others.
    idle = {*EXCLUDED} if "on" in sheets else {"on", *OWN} if path == ("relative",) else set()
    useful = [str(one.name) for one in known if odd or one.name not in idle]
    further = draw(st.lists(st.sampled_from(useful), max_size=3))
    for parameter in known:
        name = str(parameter.name)
        rarely = 2 if name == "as_json" else 40
        wanted = parameter.required or name in usual or name in ("as_json", "seed")
        # The simplest draw is zero, and much of what is drawn is near it: that is to be right.
        # Without a seed some commands draw one, and answer otherwise each time.
        kept = wanted and (name == "seed" or draw(st.integers(0, rarely)) < rarely)
        if name in further or kept:
            wrong = odd and draw(st.integers(0, 3)) == 3
            words += draw(_parameter_words(parameter, path, list(sheets.values()), wrong=wrong))
    return [*words, *(draw(WRONG) if odd else ())]


WRONG = st.sampled_from([()] * 20 + [("--no-such",), ("extra",), ("--",), ("--help",), ("-",)])


@st.composite
def _parameter_words(
    draw: st.DrawFn,
    parameter: click.Parameter,
    path: tuple[str, ...],
    sheets: list[Sheet],
    *,
    wrong: bool,
) -> list[str]:
    if not isinstance(parameter, click.Option):
        return [draw(st.sampled_from(WORDS))]
    if parameter.is_flag:
        return [parameter.opts[0]]
    values = _wrong_values(parameter) if wrong else _right_values(parameter, path, sheets)
    return [] if values.is_empty else [parameter.opts[0], draw(values)]


def _wrong_values(parameter: click.Option) -> st.SearchStrategy[str]:
    """Return what may stand behind an option by mistake."""
    kind, name = parameter.type, parameter.name or ""
    if name in WORK:
        return st.sampled_from(["-1", "x", "", "1.5"])
    if isinstance(kind, click.Choice):
        return st.sampled_from([str(kind.choices[0]).upper(), "x", "", " "])
    if kind.name in ("integer", "integer range"):
        return st.sampled_from(ODD_SIZES)
    if kind.name in ("float", "float range"):
        return st.sampled_from(ODD_NUMBERS)
    return st.sampled_from([*WORDS, *ODD_NUMBERS, *ODD_LISTS, "no such column"])


def _right_values(
    parameter: click.Option, path: tuple[str, ...], sheets: list[Sheet]
) -> st.SearchStrategy[str]:
    """Return what usually stands behind an option."""
    kind, name = parameter.type, parameter.name or ""
    if name in WORK:
        return WORK[name]
    roles = OWN_ROLES.get((path[0], name), ROLES.get(name, ()))
    if isinstance(parameter, Column):
        return _lists(_columns(roles, sheets), kind)
    if isinstance(kind, click.Choice):
        return st.sampled_from(list(map(str, kind.choices)))
    if name in RIGHT or kind.name in RIGHT:
        return st.sampled_from(RIGHT.get(name) or RIGHT[kind.name])
    if isinstance(kind, click.IntRange) or kind.name == "integer":
        least = int(getattr(kind, "min", None) or 0)
        return st.integers(least, least + 40).map(str)
    if kind.name in ("float", "float range"):
        return st.sampled_from(["0.5", "0.05", "0.2", "0.9", "0.01", "1e-12", "0.9999999999"])
    return _lists(_cells(roles, sheets), kind)


def _columns(roles: tuple[str, ...], sheets: list[Sheet]) -> st.SearchStrategy[str]:
    known = [column for sheet in sheets for column in sheet.columns]
    if not roles:
        return st.sampled_from(known)
    fitting = [column for role in roles for sheet in sheets for column in sheet.names(role)]
    return st.sampled_from(fitting * (20 * len(known) // len(fitting)) + known) if fitting else NONE


def _cells(roles: tuple[str, ...], sheets: list[Sheet]) -> st.SearchStrategy[str]:
    if not roles:
        return st.sampled_from(WORDS)
    cells = [str(cell) for role in roles for sheet in sheets for cell in sheet.cells(role)]
    return st.sampled_from(cells) if cells else NONE


def _lists(one: st.SearchStrategy[str], kind: Any) -> st.SearchStrategy[str]:
    """Return a value, or several between commas where an option takes them."""
    if kind.name != "names":
        return one
    several = st.lists(one, min_size=1, max_size=3, unique=True)
    return st.one_of(one.map(lambda name: [name]), several).map(lambda n: ",".join(map(_quoted, n)))


def _quoted(name: str) -> str:
    if set(name) & set(',"\n') or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name
