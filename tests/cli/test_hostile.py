"""Names that would run, hide, reorder or fill the screen, through every command and every form."""

import csv
import json
import re
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

Run = Callable[..., Any]

HOSTILE = (
    "<script>alert(1)</script>"
    "\"'><img src=x onerror=alert(2)>"
    "\x1b[2J\x1b]0;title\x07\r\n\t\x7f\x9b31m"
    "\u202e\u2066\u200f\u05e9\u05dc\u05d5\u05dd\u202c"
    "\u200b\xad\ufeff\U0001f600\ufe0f @everyone [a](http://x.example) {0} `| $x^2$ %s"
    "=cmd|'/c calc'!A1"
    "\u2028]]>--><!--"
)
LONG = "=long" * 400
COLUMN = "<b>se\x1bx"
# Names of columns as a shell takes them: no comma, no quote, no line break that CSV would turn.
PLAIN = HOSTILE.replace('"', "").replace("\r\n", "")
ONE, TWO = f"<i>1{PLAIN}", f"<i>2{PLAIN}"
ALLOWED = {"\n"}
N = 240


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Write decisions, items and judgments whose groups, ids and columns are hostile."""
    rng = np.random.default_rng(3)
    group = rng.choice([HOSTILE, LONG], N).tolist()
    quality = rng.normal(size=N)
    ids = [f"{HOSTILE}{k}" for k in range(N)]
    rows = [
        [one, name, int(q > 0), int(q + e > 0), q + e, q - e, q + 2 * e]
        for one, name, q, e in zip(ids, group, quality, rng.normal(size=N), strict=True)
    ]
    header = ["item", COLUMN, "label", "model", "score", ONE, TWO]
    pairs = [rng.choice(N, 2, replace=False) for _ in range(600)]
    judged = [[ids[i], ids[j], f"{HOSTILE}{k % 12}"] for k, (i, j) in enumerate(pairs)]
    found = {"items": tmp_path / "items.csv", "judged": tmp_path / "judged.csv"}
    for path, lines in ((found["items"], [header, *rows]), (found["judged"], [JUDGED, *judged])):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)
    return found


JUDGED = ["better", "worse", "judge"]
TRUSTED = '"{}1"'.format(HOSTILE.replace('"', '""'))
COMMANDS: dict[str, list[str]] = {
    "separation": ["items", "--label", "label", "--prediction", "model"],
    "comparative": ["judged", "--items", "items", "--score", "score", "--evaluator", "judge"],
    "pairwise": ["items", "--label", "label", "--score", "score"],
    "relative": ["items", "--first", ONE, "--second", TWO, "--permutations", "19"],
    "relative --raters": ["items", "--raters", "score,<i>*"],
    "relative --on": [
        "items",
        "--on",
        "items",
        "--subject",
        "item",
        "--features",
        "score,label",
        "--first",
        ONE,
        "--second",
        TWO,
    ],
    "rank": ["judged", "--items", "items", "--evaluator", "judge"],
    "rank --trusted": ["judged", "--items", "items", "--evaluator", "judge", "--trusted", TRUSTED],
    "metrics": ["items", "--label", "label", "--prediction", "model", "--privileged", LONG],
    "metrics --features": [
        "items",
        "--label",
        "label",
        "--prediction",
        ONE,
        "--threshold",
        "0.5",
        "--privileged",
        LONG,
        "--features",
        f"score,{TWO}",
        "--select",
    ],
}


def harmless(text: str) -> bool:
    """Say whether nothing in a text steers a terminal, reorders a line or is not seen."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    unseen = {c for c in text if unicodedata.category(c) == "Cf"}
    return not (control - ALLOWED) and not unseen


class Tags(HTMLParser):
    """Notes the tags of a page, the names of their attributes, and where links lead."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.links: set[str] = set()
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"@{name}" for name, _ in attrs)}
        self.links |= {str(value) for name, value in attrs if name == "href"}


def check_page(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert harmless(source)
    tags = Tags(source)
    assert not {"script", "img", "b", "i", "@onerror", "@src"} & tags.found
    # The contents of a page lead to its own sections, which are numbered, not named.
    assert all(re.fullmatch(r"#([a-z]+-\d+|reading)", link) for link in tags.links)
    assert "&lt;script&gt;alert(1)" in source


@pytest.mark.parametrize("command", COMMANDS)
def test_hostile_names_are_shown_harmlessly(
    run: Run, files: dict[str, Path], tmp_path: Path, command: str
) -> None:
    words = [str(files.get(word, word)) for word in COMMANDS[command]]
    page = tmp_path / "page.html"
    asked = [command.split()[0], *words, "--sensitive", COLUMN, "--html", page]
    outcome = run(*asked)
    assert outcome.status in (0, 1, 3), outcome.err
    assert harmless(outcome.out)
    assert harmless(outcome.err)
    assert LONG not in outcome.out.replace("\n", "")
    assert len(outcome.out.splitlines()) < 400
    check_page(page)
    # Data for machines are the names as they are.
    printed = run(*asked, "--json").out
    assert HOSTILE in _strings(json.loads(printed))
    recorded = tmp_path / f"{PLAIN.replace('/', '')[:80]}.json"
    recorded.write_text(printed, encoding="utf-8")
    check_report(run, recorded, page)


def check_report(run: Run, recorded: Path, page: Path) -> None:
    assert harmless(run("report", recorded).out)
    outcome = run("report", recorded, recorded, "--html", page, "--title", HOSTILE)
    assert outcome.status == 0
    assert harmless(outcome.err)
    check_page(page)


def _strings(content: Any) -> str:
    """Return all texts of a JSON document, one after the other."""
    if isinstance(content, dict):
        return "".join(_strings(one) for pair in content.items() for one in pair)
    if isinstance(content, list):
        return "".join(map(_strings, content))
    return content if isinstance(content, str) else ""


def test_a_plan_of_hostile_groups_is_shown_harmlessly(run: Run, tmp_path: Path) -> None:
    page, name = tmp_path / "page.html", HOSTILE.replace('"', "").replace(",", "").replace("\r", "")
    rates = ["--tpr", "0.8,0.84", "--fpr", "0.4,0.44", "--shares", "0.5,0.5"]
    groups = ["--base-rates", "0.5,0.5", "--groups", f'"{name}",b', "--power", "0.8"]
    outcome = run("plan", "separation", *rates, *groups, "--html", page)
    assert outcome.status == 0, outcome.err
    assert harmless(outcome.out)
    check_page(page)


def test_a_gate_of_hostile_names_is_harmless_in_every_form(
    run: Run, files: dict[str, Path], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    audit = {"name": HOSTILE, "notion": "separation", "file": str(files["items"])}
    audit |= {"label": "label", "prediction": "model", "sensitive": COLUMN}
    escaped = {key: "".join(f"\\U{ord(c):08x}" for c in value) for key, value in audit.items()}
    lines = [f'{key} = "{value}"' for key, value in escaped.items()]
    policy.write_text("\n".join(["[[audit]]", *lines]), encoding="utf-8")
    forms = {form: tmp_path / f"out.{form}" for form in ("junit", "sarif", "markdown", "html")}
    outcome = run("gate", policy, *[w for form, path in forms.items() for w in (f"--{form}", path)])
    assert outcome.status in (0, 1, 3), outcome.err
    assert harmless(outcome.out)
    check_page(forms["html"])
    for form in ("junit", "sarif", "markdown"):
        assert harmless(forms[form].read_text(encoding="utf-8")), form
    ElementTree.parse(forms["junit"])
    assert json.loads(forms["sarif"].read_text(encoding="utf-8"))["version"] == "2.1.0"
    summary = forms["markdown"].read_text(encoding="utf-8")
    assert "\n<" not in summary
    tables = [line for line in summary.splitlines() if line.startswith("|")]
    # A name with a bar would make another column.
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in tables}) == 1


def test_weights_of_hostile_groups_are_shown_harmlessly(
    run: Run, files: dict[str, Path], tmp_path: Path
) -> None:
    words = ["weights", files["items"], "--label", "label", "--sensitive", COLUMN]
    outcome = run(*words, "--output", tmp_path / "w.csv", "--name", PLAIN)
    assert outcome.status == 0, outcome.err
    assert harmless(outcome.out)
    with (tmp_path / "w.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[-1] == PLAIN
    assert {row[1] for row in rows} == {HOSTILE, LONG}


@pytest.mark.parametrize("broken", ["file", "column"])
def test_a_gate_that_cannot_audit_says_so_harmlessly(
    run: Run, files: dict[str, Path], tmp_path: Path, broken: str
) -> None:
    name = "".join(f"\\U{ord(c):08x}" for c in PLAIN.replace("/", ""))
    file = f"{name}.csv" if broken == "file" else "items.csv"
    lines = ["[[audit]]", f'name = "{name}"', 'notion = "separation"', 'label = "label"']
    lines += [f'file = "{file}"', f'prediction = "{name}"', 'sensitive = "label"']
    policy = files["items"].with_name("policy.toml")
    policy.write_text("\n".join(lines), encoding="utf-8")
    outcome = run("gate", policy, "--junit", tmp_path / "out.xml")
    assert (outcome.status, outcome.out) == (2, "")
    assert "alert(2)" in outcome.err
    assert harmless(outcome.err)


ERRORS: dict[str, list[str]] = {
    "a file": ["separation", "\x1b[2J\u202eno.csv", "--label", "a", "--prediction", "b"],
    "a column": ["separation", "items", "--label", f"{PLAIN}2", "--prediction", "model"],
    "a column that is there": ["separation", "items", "--label", ONE, "--prediction", "model"],
    "an option": ["separation", "items", f"--{PLAIN[:40]}", "--label", "label"],
    "a value": ["separation", "items", "--label", COLUMN, "--prediction", "model"],
    "a group": [
        "metrics",
        "items",
        "--label",
        "label",
        "--prediction",
        "model",
        "--privileged",
        PLAIN,
    ],
    "an evaluator": [
        "rank",
        "judged",
        "--items",
        "items",
        "--evaluator",
        "judge",
        "--trusted",
        PLAIN,
    ],
    "a command": [f"separ\x1b[2J{PLAIN}"],
    "a plan": ["plan", f"separation\x1b[2J{PLAIN}"],
    "a notion": ["pairwise", "items", "--label", "label", "--score", "score", "--notions", PLAIN],
    "a rater": ["relative", "items", "--raters", f"score,{PLAIN}"],
    "another file": ["comparative", "judged", "--items", "\u2028\x1b[2J.csv", "--score", "score"],
    "a page": [
        "separation",
        "items",
        "--label",
        "label",
        "--prediction",
        "model",
        "--html",
        "no/\x1b[2J\u202e.html",
    ],
    "a picture": ["relative", "items", "--first", ONE, "--second", TWO, "--plot", "\x1b[2J.txt"],
    "a data set": ["data", PLAIN],
    "a paper": ["reproduce", PLAIN],
    "a part": ["reproduce", "000", "--part", PLAIN],
    "a seed": ["separation", "items", "--seed", PLAIN],
}


@pytest.mark.parametrize("where", ERRORS)
def test_an_error_quotes_hostile_names_harmlessly(
    run: Run, files: dict[str, Path], where: str
) -> None:
    words = [str(files.get(word, word)) for word in ERRORS[where]]
    audits = words[0] in COMMANDS and "--seed" not in words
    outcome = run(*words, *(["--sensitive", COLUMN] if audits else []))
    assert (outcome.status, outcome.out) == (2, "")
    assert harmless(outcome.err)
    # One of these names is nearly two thousand letters long.
    assert len(outcome.err) < 4000
