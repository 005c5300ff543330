"""Names that would run, hide, reorder or fill the screen, through every command and every form."""

import csv
import json
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
    "\U0001f600\ufe0f @everyone [a](http://x.example) {0} `| $x^2$ %s"
    "=cmd|'/c calc'!A1"
    "\u2028]]>--><!--"
)
LONG = "=long" * 400
COLUMN = "<b>se\x1bx"
ALLOWED = {"\n", "\u200f"}
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
    header = ["item", COLUMN, "label", "model", "score", "<i>one", "<i>two"]
    pairs = [rng.choice(N, 2, replace=False) for _ in range(600)]
    judged = [[ids[i], ids[j], f"{HOSTILE}{k % 12}"] for k, (i, j) in enumerate(pairs)]
    found = {"items": tmp_path / "items.csv", "judged": tmp_path / "judged.csv"}
    for path, lines in ((found["items"], [header, *rows]), (found["judged"], [JUDGED, *judged])):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)
    return found


JUDGED = ["better", "worse", "judge"]
COMMANDS: dict[str, list[str]] = {
    "separation": ["items", "--label", "label", "--prediction", "model"],
    "comparative": ["judged", "--items", "items", "--score", "score", "--evaluator", "judge"],
    "pairwise": ["items", "--label", "label", "--score", "score"],
    "relative": ["items", "--first", "<i>one", "--second", "<i>two", "--permutations", "19"],
    "relative --raters": ["items", "--raters", "score,<i>one,<i>two"],
    "rank": ["judged", "--items", "items", "--evaluator", "judge"],
    "metrics": ["items", "--label", "label", "--prediction", "model", "--privileged", LONG],
}


def harmless(text: str) -> bool:
    """Say whether nothing in a text steers a terminal or reorders a line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    reordering = set(text) & {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c"}
    return not (control - ALLOWED) and not reordering


class Tags(HTMLParser):
    """Notes the tags of a page and the names of their attributes."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"@{name}" for name, _ in attrs)}


def check_page(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert harmless(source)
    found = Tags(source).found
    assert not {"script", "img", "b", "i", "a", "@onerror", "@src", "@href"} & found
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
    check_page(page)
    # Data for machines are the names as they are.
    assert HOSTILE in _strings(json.loads(run(*asked, "--json").out))


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
    assert "\n<" not in forms["markdown"].read_text(encoding="utf-8")


@pytest.mark.parametrize("where", ["file", "column", "option"])
def test_an_error_quotes_hostile_names_harmlessly(
    run: Run, files: dict[str, Path], tmp_path: Path, where: str
) -> None:
    words = ["separation", str(files["items"]), "--prediction", "model", "--sensitive", COLUMN]
    words += ["--label", f"{HOSTILE}2" if where == "column" else "label"]
    words += [f"--{HOSTILE[:40]}"] if where == "option" else []
    if where == "file":
        words[1] = str(tmp_path / "\x1b[2J\u202eno.csv")
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert harmless(outcome.err)
