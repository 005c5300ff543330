"""Cases: files in a folder, and the command that is run there."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from hypothesis import strategies as st

from comparity.gate.notions import NOTIONS
from tests.fuzz.formats import DAMAGES, FORMATS, ODD_FORMATS, PLACES, damaged, encoded
from tests.fuzz.sheets import ODD_VALUES, Sheet, item_sheets, judged_sheets, wide_sheets
from tests.fuzz.words import find_command, is_input, is_output, option_words
from tests.judges.samples import SAMPLES

__all__ = ["Case", "Twin", "cases"]


@dataclass(frozen=True)
class Twin:
    """The same question about the same rows, asked of other files.

    Attributes
    ----------
    what : str
        What is different: the format, or the order of the rows.
    files : dict of str to bytes
        The files, by path.
    words : tuple of str
        The command that reads them.
    """

    what: str
    files: dict[str, bytes] = field(repr=False)
    words: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One run of the command line.

    Attributes
    ----------
    words : tuple of str
        The words after ``comparity``.
    files : dict of str to bytes
        What lies in the folder, by path.
    outputs : tuple of str
        The files that the command is asked to write.
    twins : tuple of Twin
        Runs that must give the same finding.
    """

    words: tuple[str, ...]
    files: dict[str, bytes]
    outputs: tuple[str, ...] = ()
    twins: tuple[Twin, ...] = ()

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{path!r} ({len(content)} bytes)" for path, content in self.files.items()
        )
        return f"comparity {shlex.join(self.words)}   # in a folder with {sizes or 'nothing'}"

    def write(self, folder: Path) -> None:
        """Lay the files out in a folder; what is below ``link`` is reached by a symbolic link."""
        write_files(self.files, folder)


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write files by path; ``link`` becomes a symbolic link to a folder beside it."""
    for path, content in files.items():
        if path.startswith("link/") and not (folder / "link").exists():
            (folder / "target").mkdir()
            (folder / "link").symlink_to("target")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


@dataclass(frozen=True)
class Placed:
    """A table with the file it is put into."""

    stem: str
    ending: str
    sheet: Sheet
    damage: str
    place: int

    @property
    def path(self) -> str:
        return f"{self.stem}.{self.ending}"

    def content(self) -> bytes:
        return damaged(encoded(self.sheet, self.ending), self.damage, self.place)


def cases(path: tuple[str, ...]) -> st.SearchStrategy[Case]:
    """Return the strategy that draws cases of one command."""
    if path[0] == "report":
        # Not while a case is drawn: what runs then must come from the draws alone.
        for name in RECORDED:
            recorded(name)
    return SPECIAL.get(path[0], audit_cases)(path)


ODDITIES = ("cells", "cells", "options", "options", "damage", "place", "output")
"""What may be odd about a case; with too much of it at once, no command would get far."""


@st.composite
def audit_cases(draw: st.DrawFn, path: tuple[str, ...]) -> Case:
    """Draw a command with the tables it reads."""
    command = find_command(path)
    odd = draw(st.lists(st.sampled_from(ODDITIES), max_size=2))
    sheets = draw(_sheets(command, odd="cells" in odd))
    placed = {role: draw(_places(role, sheet, odd)) for role, sheet in sheets.items()}
    options = draw(option_words(path, sheets, odd="options" in odd))
    outputs = draw(_outputs(command, odd="output" in odd))
    paths = {role: one.path for role, one in placed.items()}
    words = (*path, *_named(command, paths), *_named(command, outputs), *options)
    files = {one.path: one.content() for one in placed.values()}
    twins = _twins(words, placed, draw(st.integers(0, 99)))
    return Case(words, files, tuple(outputs.values()), twins)


@st.composite
def _sheets(draw: st.DrawFn, command: click.Command, *, odd: bool) -> dict[str, Sheet]:
    """Draw a table for every file the command reads, by the name of its parameter."""
    names = [str(one.name) for one in command.params if is_input(one)]
    if not names:
        return {}
    if "comparisons" not in names:
        more = [name for name in names[1:] if draw(st.integers(0, 3)) == 3]
        return {name: draw(item_sheets(odd=odd)) for name in (names[0], *more)}
    if command.name == "comparative" and draw(st.integers(0, 5)) == 5:
        return {"comparisons": draw(wide_sheets(odd=odd))}
    items = draw(item_sheets(odd=odd, least=4))
    return {"comparisons": draw(judged_sheets(items, odd=odd)), "items": items}


@st.composite
def _places(draw: st.DrawFn, role: str, sheet: Sheet, odd: list[str]) -> Placed:
    """Draw where a table lies, in which format, and what happened to the file."""
    folder, name, endings = "", role, FORMATS
    if "place" in odd:
        folder = draw(st.sampled_from(PLACES))
        name = f"{draw(st.sampled_from(['', 'a b ', '*', 'x=1', '[a]', '?']))}{role}"
        endings = FORMATS + ODD_FORMATS
    return Placed(
        stem=folder + name,
        ending=draw(st.sampled_from(endings)),
        sheet=sheet.as_text() if draw(st.booleans()) else sheet,
        damage=draw(st.sampled_from(DAMAGES)) if "damage" in odd else "",
        place=draw(st.integers(0, 999)),
    )


@st.composite
def _outputs(draw: st.DrawFn, command: click.Command, *, odd: bool) -> dict[str, str]:
    """Draw where results go: beside the tables or, if `odd`, where nothing can be written."""
    names = (
        ["out", "out put", "\u00fc*", "no such folder/out", "x=1", "x" * 300] if odd else ["out"]
    )
    found = {}
    for parameter in filter(is_output, command.params):
        if parameter.required or draw(st.integers(0, 7)) == 7:
            name = str(parameter.name)
            ending = draw(
                st.sampled_from(ENDINGS.get(name, ["csv", "csv", "parquet", "tsv", "json"]))
            )
            found[name] = f"{draw(st.sampled_from(names))}.{name}.{ending}"
    return found


ENDINGS = {
    "html": ["html"],
    "plot": ["png", "svg", "pdf", "txt"],
    "plot_scores": ["png", "svg", "txt"],
    "junit": ["xml"],
    "sarif": ["sarif"],
    "markdown": ["md"],
}


def _named(command: click.Command, paths: dict[str, str]) -> list[str]:
    """Return the words that name files."""
    words = []
    for parameter in command.params:
        if parameter.name in paths:
            option = isinstance(parameter, click.Option)
            words += [*([parameter.opts[0]] if option else []), paths[parameter.name]]
    return words


def _twins(words: tuple[str, ...], placed: dict[str, Placed], seed: int) -> tuple[Twin, ...]:
    """Return the case with the rows in another order, and as text in another format."""
    tables = placed.values()
    if not placed or any(one.damage for one in tables):
        return ()
    shuffled = {one.path: encoded(one.sheet.reordered(seed), one.ending) for one in tables}
    twins = [Twin("order of rows", shuffled, words)]
    if all(map(_is_alike_in_all_formats, tables)):
        other = ("jsonl", "parquet", "tsv", "json", "csv.gz")[seed % 5]
        moved = {one.path: f"{one.stem}.{other}" for one in tables}
        files = {moved[one.path]: encoded(one.sheet, other) for one in tables}
        twins.append(Twin("format", files, tuple(moved.get(word, word) for word in words)))
    return tuple(twins)


def _is_alike_in_all_formats(table: Placed) -> bool:
    """Say whether all cells are text."""
    return table.sheet == table.sheet.as_text() and table.ending in FORMATS


@st.composite
def policy_cases(draw: st.DrawFn, path: tuple[str, ...]) -> Case:
    """Draw a policy of one or two audits; its keys come from the notions themselves."""
    odd = draw(st.lists(st.sampled_from(ODDITIES), max_size=2))
    items = draw(item_sheets(odd="cells" in odd, least=4))
    judged = draw(judged_sheets(items, odd="cells" in odd))
    tables = {"items.csv": items, "judged.jsonl": judged}
    audits = draw(st.lists(_audits(tables, odd="options" in odd), min_size=1, max_size=2))
    start = draw(st.sampled_from(STARTS)) if "options" in odd else ""
    text = "\n".join([start, *(f"[[audit]]\n{_toml(one)}" for one in audits)]) + "\n"
    damage = draw(st.sampled_from(DAMAGES)) if "damage" in odd else ""
    folder = draw(st.sampled_from(PLACES)) if "place" in odd else ""
    files = {f"{folder}{name}": encoded(s, name.partition(".")[2]) for name, s in tables.items()}
    files[f"{folder}policy.toml"] = damaged(text.encode(), damage, draw(st.integers(0, 999)))
    outputs = draw(_outputs(find_command(path), odd="output" in odd))
    words = (*path, f"{folder}policy.toml", *_named(find_command(path), outputs))
    words += tuple(draw(option_words(path, {}, odd=False)))
    return Case(words, files, tuple(outputs.values()))


STARTS = ("margin = 0.5", "alpha = nan", "name = 3", "x = 1", "undecided = 'allow'", "audit = 3")


@st.composite
def _audits(draw: st.DrawFn, tables: dict[str, Sheet], *, odd: bool) -> dict[str, Any]:
    """Draw one audit: the options of its command, as far as a policy has them."""
    notion = NOTIONS[draw(st.sampled_from(sorted(NOTIONS)))]
    audit: dict[str, Any] = {"name": f"{draw(st.integers(0, 10**6))} \u202e<b>"}
    audit["notion"] = draw(st.sampled_from(["no such", "", notion.name])) if odd else notion.name
    audit |= {"file": "items.csv"} if "file" in notion.files else {}
    audit |= {"logs": ["judged.jsonl"]} if "logs" in notion.files else {}
    if "comparisons" in notion.files:
        audit |= {"comparisons": "judged.jsonl", "items": "items.csv"}
    items = tables["items.csv"]
    path = ({"raters": "relative", "parity": "pairwise"}.get(notion.name, notion.name),)
    words = draw(option_words(path, tables, odd=odd))
    for option, value in pairwise(words):
        key = option.removeprefix("--").replace("-", "_")
        if key in notion.keys and not value.startswith("--"):
            wrong = odd and draw(st.booleans())
            audit[key] = draw(st.sampled_from(WRONG)) if wrong else _typed(value, notion.keys[key])
    if notion.name == "raters":
        audit["raters"] = [*items.names("rating"), *items.names("other rating")]
    return audit


WRONG: tuple[Any, ...] = (["sex"], [], [1], 1, 0.5, True, "", "no such", 10**40)


def _typed(value: str, kind: str) -> Any:
    """Return the value of an option as a policy writes it."""
    if kind == "two whole numbers":
        return [int(part) for part in re.findall("[0-9]+", value)]
    if kind in ("a number", "a whole number") and re.fullmatch("[0-9]+|[0-9]*[.][0-9]+", value):
        return json.loads(value)
    return value


def _toml(audit: dict[str, Any]) -> str:
    # Texts, numbers, lists, true and false are written in TOML as in JSON.
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in audit.items())


@st.composite
def report_cases(draw: st.DrawFn, path: tuple[str, ...]) -> Case:
    """Draw recorded results, each with some of its values replaced or left out."""
    names = draw(st.lists(st.sampled_from(sorted(RECORDED)), min_size=1, max_size=2))
    files = {}
    for place, name in enumerate(names):
        content = json.loads(recorded(name))
        for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
            content = draw(_spoilt(content))
        text = json.dumps(content).encode()
        damage = draw(st.sampled_from(("",) * 20 + DAMAGES))
        files[f"{place}.json"] = damaged(text, damage, draw(st.integers(0, 999)))
    outputs = draw(_outputs(find_command(path), odd=False))
    words = (*path, *files, *_named(find_command(path), outputs))
    words += tuple(draw(option_words(path, {}, odd=False)))
    return Case(words, files, tuple(outputs.values()))


@st.composite
def _spoilt(draw: st.DrawFn, content: Any) -> Any:
    """Replace, or leave out, one value somewhere in a JSON document."""
    here, holder, key = content, None, None
    while isinstance(here, dict | list) and here and draw(st.integers(0, 4)):
        holder, keys = here, sorted(here) if isinstance(here, dict) else range(len(here))
        key = draw(st.sampled_from(keys))
        here = here[key]
    if holder is None:
        return content
    new = draw(st.sampled_from([*ODD_VALUES, [], {}, [[]], {"a": 1}, "left out"]))
    if new == "left out":
        del holder[key]
    else:
        holder[key] = new
    return content


ITEMS = "items.csv --sensitive sex"
JUDGED = "judged.csv --items items.csv --sensitive sex"
RECORDED = {
    "separation": f"separation {ITEMS} --label hired --prediction model",
    "comparative": f"comparative {JUDGED} --score score",
    "pairwise": f"pairwise {ITEMS} --label merit --score score",
    "relative": f"relative {ITEMS} --first ann --second bob --permutations 19",
    "raters": f"relative {ITEMS} --raters ann,bob,age --permutations 0",
    "bridge": f"relative {ITEMS} --on items.csv --subject item --first ann --second bob "
    "--features score,age",
    "rank": f"rank {JUDGED} --evaluator judge --score score",
    "bt": "rank judged.csv --model bt",
    "metrics": f"metrics {ITEMS} --label hired --prediction model --privileged f --select",
    "weights": f"weights {ITEMS} --label hired --output w.csv",
    "train": f"train {ITEMS} --label merit --features score,age --steps 3 --output m.json",
    "plan": "plan separation --tpr 0.8,0.84 --fpr 0.4,0.44 --shares 0.5,0.5 --base-rates 0.5,0.5 "
    "--power 0.8",
    "gate": "gate policy.toml",
    "judges": "judges judged.csv",
}
POLICY = """[[audit]]
name = "one"
notion = "separation"
file = "items.csv"
label = "hired"
prediction = "model"
sensitive = "sex"
"""


@cache
def recorded(name: str) -> str:
    """Return the JSON of one command on plain tables."""
    import random
    from tempfile import TemporaryDirectory

    from tests.fuzz.trials import run_here

    rng = random.Random(5)
    ids = [f"i{k}" for k in range(40)]
    quality = [rng.gauss(0, 1) for _ in ids]
    items = {"item": ids, "sex": ["f", "m"] * 20, "merit": [round(q) for q in quality]}
    items |= {"hired": [int(q > 0) for q in quality], "age": [30 + k for k in range(40)]}
    items |= {"score": [q + rng.gauss(0, 1) for q in quality]}
    items |= {"model": [int(s > 0) for s in items["score"]]}
    items |= {who: [rng.randint(1, 5) for _ in ids] for who in ("ann", "bob")}
    pairs = [rng.sample(ids, 2) for _ in range(200)]
    judged = {"better": [b for b, _ in pairs], "worse": [w for _, w in pairs]}
    judged["judge"] = [f"j{k % 4}" for k in range(200)]
    files = {"items.csv": encoded(Sheet(items, {}), "csv"), "policy.toml": POLICY.encode()}
    files["judged.csv"] = encoded(Sheet(judged, {}), "csv")
    with TemporaryDirectory() as folder:
        write_files(files, Path(folder))
        outcome = run_here((*shlex.split(RECORDED[name]), "--json"), Path(folder))
    assert outcome.status in (0, 1, 3), outcome.err
    return outcome.out


@st.composite
def refused_cases(draw: st.DrawFn, path: tuple[str, ...]) -> Case:
    """Draw a command that runs for minutes, with a word that keeps it from running."""
    words = draw(option_words(path, {}, odd=True))
    return Case((*path, *words, draw(st.sampled_from(["--help", "--no-such"]))), {})


@st.composite
def log_cases(draw: st.DrawFn, path: tuple[str, ...]) -> Case:
    """Draw logs of judges, some of their values replaced or left out, or a table of judgments."""
    odd = draw(st.lists(st.sampled_from(ODDITIES), max_size=2))
    items = draw(item_sheets(odd="cells" in odd, least=4))
    judged = draw(judged_sheets(items, odd="cells" in odd))
    files = {}
    for place in range(draw(st.sampled_from([1, 1, 2, 3]))):
        damage = draw(st.sampled_from(DAMAGES)) if "damage" in odd else ""
        if draw(st.integers(0, 4)) == 4:
            name, content = f"{place}.csv", encoded(judged, "csv")
        else:
            rows = json.loads(json.dumps(SAMPLES[draw(st.sampled_from(sorted(SAMPLES)))]))
            for _ in range(draw(st.sampled_from([0, 1, 2, 3])) if "cells" in odd else 0):
                rows = draw(_spoilt(rows))
            lines = draw(st.booleans())
            content = (
                "\n".join(map(json.dumps, rows)).encode() if lines else json.dumps(rows).encode()
            )
            name = f"{place}.json{'l' if lines else ''}"
        files[name] = damaged(content, damage, draw(st.integers(0, 999)))
    outputs = draw(_outputs(find_command(path), odd="output" in odd))
    words = (*path, *files, *_named(find_command(path), outputs))
    words += tuple(draw(option_words(path, {"logs": judged}, odd="options" in odd)))
    return Case(words, files, tuple(outputs.values()))


SPECIAL = {
    "gate": policy_cases,
    "report": report_cases,
    "demo": refused_cases,
    "judges": log_cases,
}
"""Strategies of commands that read no table, or not directly."""
