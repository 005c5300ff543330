"""A misspelt column, command or option is answered with the nearest one, in every command."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import comparity
from comparity.cli import commands, main
from comparity.cli.options import Column
from comparity.cli.running import declared_options
from tests.contracts.test_commands import COMMANDS

ITEMS = """item,sex,post,test,grade,good,model,hired,hr_0,hr_1
a,f,1,0.5,3,1,0.6,1,3,4
b,m,1,0.1,2,0,0.2,0,2,2
c,f,2,0.7,4,1,0.1,0,4,4
d,m,2,0.3,1,0,0.9,1,5,3
"""
JUDGMENTS = "judge,better,worse\nj,a,b\nk,c,d\nj,a,d\n"
POLICY = """[[audit]]
name = "one"
notion = "separation"
file = "items.csv"
label = "goood"
prediction = "hired"
sensitive = "sex"
"""

FILES = {"items.csv": ITEMS, "judgments.csv": JUDGMENTS, "policy.toml": POLICY}

MISSPELT = {
    "separation items.csv --label goood --prediction hired --sensitive sex": "good",
    "separation items.csv --label good --prediction hired --sensitive sxe": "sex",
    "comparative judgments.csv --items items.csv --score modle --sensitive sex": "model",
    "comparative judgments.csv --items items.csv --score model --sensitive sxe": "sex",
    "comparative judgments.csv --items items.csv --score model --sensitive sex --item itm": "item",
    "comparative judgments.csv --items items.csv --score model --sensitive sex --evaluator judg": (
        "judge"
    ),
    "pairwise items.csv --label grad --score model --sensitive sex": "grade",
    "pairwise items.csv --label grade --score model --sensitive sex --query pst": "post",
    "relative items.csv --first hr_2 --second hr_1 --sensitive sex": "hr_",
    "relative items.csv --raters hr_0,hr_9 --sensitive sex": "hr_",
    "rank judgments.csv --items items.csv --sensitive sxe": "sex",
    "rank judgments.csv --items items.csv --sensitive sex --evaluator judg": "judge",
    "metrics items.csv --label good --prediction hird --sensitive sex --privileged m": "hired",
    "weights items.csv --label hird --sensitive sex --output w.csv": "hired",
    "train items.csv --features tst --label grade --sensitive sex --output m.json": "test",
    "gate policy.toml": "good",
    "separatoin items.csv": "separation",
    "plan compartive": "comparative",
    "data adlt": "adult",
    "reproduce 000 --table 33": "table 3",
    "plan separation --trp 0.8,0.9": "--tpr",
    "separation items.csv --lable good": "--label",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder with items, judgments and a policy."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("words", "nearest"), MISSPELT.items())
def test_the_nearest_name_is_suggested(
    words: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words.split())
    assert left.value.code == 2
    # Versions of click word it differently.
    _, *hints = re.split("did you mean|possible options", capsys.readouterr().err.lower())
    assert nearest in "".join(hints)


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete "), ("zsh", "#compdef"), ("fish", "function")]
)
def test_completion_is_there_for_every_shell_the_docs_name(
    shell: str, sign: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_COMPARITY_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit):
        main([])
    assert sign in capsys.readouterr().out
    page = Path(__file__).parents[2] / "docs" / "commands.md"
    assert f"_COMPARITY_COMPLETE={shell}_source" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("re", {"relative", "report", "reproduce"}),
        ("plan c", {"comparative"}),
        ("rank --model crowd", {"crowdbt"}),
        ("gate policy.toml --j", {"--junit", "--json"}),
    ],
)
def test_the_tab_key_offers_what_may_follow(
    shell: str,
    typed: str,
    offered: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = typed.split()
    # What the scripts of the shells tell: fish the word, the others its place.
    place = words[-1] if shell == "fish" else str(len(words))
    monkeypatch.setenv("COMP_WORDS", f"comparity {typed}")
    monkeypatch.setenv("COMP_CWORD", place)
    monkeypatch.setenv("_COMPARITY_COMPLETE", f"{shell}_complete")
    with pytest.raises(SystemExit):
        main([])
    lines = capsys.readouterr().out.replace("plain,", "").splitlines()
    assert {line.split("\t")[0] for line in lines if line.split("\t")[0] in offered} == offered
    assert not {"separation", "--html"} & {line.split("\t")[0] for line in lines}


def test_bash_completes_a_command() -> None:
    bash = shutil.which("bash") or pytest.skip("needs bash")
    script = """
PATH="$1:$PATH"
eval "$(_COMPARITY_COMPLETE=bash_source comparity)"
COMP_WORDS=(comparity sep) COMP_CWORD=1
_comparity_completion comparity sep comparity
echo "${COMPREPLY[@]}"
"""
    home = str(Path(sys.executable).parent)
    words = [bash, "--norc", "-c", script, "bash", home]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["separation"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("separation items.csv --label go", ["good"]),
        ("separation items.csv --sensitive sex,mod", ["sex,model"]),
        ("rank judgments.csv --items items.csv --evaluator ju", ["judge"]),
        ("rank judgments.csv --items items.csv --score mo", ["model"]),
        ("relative items.csv --raters hr_", ["hr_0", "hr_1"]),
        ("separation no.csv --label go", []),
    ],
)
def test_the_tab_key_offers_columns_of_the_files_named(
    typed: str,
    offered: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COMP_WORDS", f"comparity {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    monkeypatch.setenv("_COMPARITY_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.split() == [f"plain,{name}" for name in offered]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_that_names_a_column_offers_them(name: str) -> None:
    told = [
        one for one in COMMANDS[name].params if (getattr(one, "help", "") or "")[:6] == "Column"
    ]
    assert not [one.name for one in told if not isinstance(one, Column)]


def test_the_tab_key_offers_no_column_that_a_shell_would_run(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("sex,$(reboot),`x`,a;b,\x1b[2J,a|b,two words\n", encoding="utf-8")
    option = Column(["--label"])
    context = click.Context(click.Command("x", params=[option]))
    context.args = [str(path)]
    assert [one.value for one in option.shell_complete(context, "")] == ["sex"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("comparative judgments.csv --score model --sensitive sex", "Without --items"),
        (
            "plan separation --tpr 0.7 --fpr 0.1 --shares 0.9 --base-rates 0.5 --n 9",
            "--tpr 0.8,0.84",
        ),
        ("weights items.csv --label good --sensitive sex --output no/w.csv", "cannot write"),
    ],
)
def test_an_error_says_what_to_do_in_words_of_the_command_line(
    words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words.split())
    assert left.value.code == 2
    assert told in capsys.readouterr().err


SOURCES = Path(comparity.__file__).parent


def options_named(tree: ast.AST) -> set[str]:
    """Return the names of options that a module hands to its errors as facts."""
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    named = [one for one in calls if getattr(one.func, "id", "") == "Option"]
    return {one.args[0].value for one in named if isinstance(one.args[0], ast.Constant)}


def options_in_prose(tree: ast.AST, known: set[str]) -> set[str]:
    """Return options that a hint names as Python spells them, where it shows no piece of code."""
    errors = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    calls = [one for error in errors for one in ast.walk(error) if isinstance(one, ast.Call)]
    hints = [ast.unparse(one.args[2]) for one in calls if len(one.args) > 2]
    return {name for hint in hints for name in re.findall(r"\b([a-z_]+)=(?!\()", hint)} & known


def test_every_option_a_hint_names_is_a_declared_one_and_no_hint_spells_it() -> None:
    known = set(declared_options(commands))
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if "Option" in text}
    named = {name for tree in trees.values() for name in options_named(tree)}
    errors = [tree for path, tree in trees.items() if path.parent.name == "errors"]
    assert named
    assert named <= known
    assert not [name for tree in errors for name in options_in_prose(tree, known)]


def test_an_option_in_prose_would_be_noticed() -> None:
    tree = ast.parse("class A:\n  def f(self):\n    g('asked', found, f'choose {x} or margin=.')")
    assert options_in_prose(tree, {"margin"}) == {"margin"}
