"""The fenced blocks of the documentation: which are run, and which are not and why."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
TITLE = re.compile(r'title="(?P<name>[^"]+)"')

INSTALLS = "installs into .venv; continuous integration runs the target itself"
NEEDS_DATA = "needs published data, which are not part of the repository"
ELSEWHERE = "belongs to another program; shown for its form"

NOT_RUN = {
    ("README.md", "make demo"): INSTALLS,
    ("docs/tutorial.md", "git clone"): INSTALLS,
    ("CONTRIBUTING.md", "errors/      Errors"): "a map of folders, not a command",
    ("CONTRIBUTING.md", "PUBLISHED = read_published"): "a pattern with gaps to fill in",
    (
        "CONTRIBUTING.md",
        "floor: float = choice",
    ): "a line of a class, which a test of options tries",
    ("docs/collect.md", "study.example.org {"): ELSEWHERE,
    ("docs/collect.md", "server {"): ELSEWHERE,
    ("docs/collect.md", "podman build"): ELSEWHERE,
    ("docs/how_to/collect.md", "$ comparity collect serve"): "tests/collect/test_served.py runs it",
    ("docs/how_to/collect.md", "comparity comparative"): "needs judges; the example runs the like",
    (
        "docs/how_to/collect.md",
        "$ python examples/collect_a_study.py",
    ): "tests/examples/test_collect_a_study.py runs it",
    (
        "docs/protocol.md",
        "$ python examples/ratings_or_comparisons.py",
    ): "tests/examples/test_ratings_or_comparisons.py runs it",
    ("docs/protocol.md", "comparity collect"): "needs judges; the example runs the like",
    ("docs/programs.md", "{"): "tests/collect/test_programs.py compares responses with the schema",
    ("docs/programs.md", "$ python examples/program_judge.py"): (
        "tests/collect/test_programs.py runs it"
    ),
    ("README.md", "$ comparity separation loans.csv"): "the reader's own file",
    ("docs/commands.md", "$ comparity data german --fetch"): NEEDS_DATA,
    ("docs/commands.md", "$ comparity demo"): "takes a minute; the slow test of README.md runs it",
    (
        "docs/commands.md",
        "$ comparity gate",
    ): "needs a policy; docs/how_to/gate.md has one and runs it",
    ("docs/commands.md", "$ comparity reproduce"): NEEDS_DATA,
    ("docs/gate.md", "parity:"): ELSEWHERE,
    (
        "docs/gate.md",
        "def test_the_model",
    ): "a test of pytest; tests/cli/test_gate.py runs the like",
    ("docs/gate.md", "import mlflow"): "needs MLflow; tests/reports/test_trackers.py runs the like",
    ("docs/how_to/data.md", "$ comparity data german --fetch"): NEEDS_DATA,
    ("docs/how_to/gate.md", "permissions:"): ELSEWHERE,
    ("docs/how_to/gate.md", "steps:"): ELSEWHERE,
    ("docs/how_to/gate.md", "repos:"): ELSEWHERE,
    ("docs/gate.md", "[[audit]]"): "tests/gate/test_baseline.py runs the like",
    ("docs/judges.md", "[[audit]]"): "tests/judges/test_wins.py runs the like",
    ("docs/validity.md", "$ make validity"): INSTALLS,
    (
        "docs/validity.md",
        "$ python -m tests.validity",
    ): "tests/validity/test_validity.py runs worlds",
    ("docs/scale.md", "comparity separation"): "it reads tables of millions of rows, and a cluster",
    ("docs/scale.md", "export SPARK_HOME"): "it starts a cluster; test_spark_cluster.py does, too",
    ("docs/scale.md", "export PYSPARK_SUBMIT_ARGS"): "it needs that cluster",
    ("docs/scale.md", "$SPARK_HOME/sbin"): "it starts a server; test_spark_connect.py does, too",
}
"""Blocks that no test runs, by page and beginning, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    title: str | None
    text: str

    @property
    def how(self) -> str | None:
        """How the block is tested, or ``None`` where nothing tests it."""
        if self.language == "python" and ">>>" in self.text:
            return "doctest"
        if self.language == "console":
            return None if self.excused else "shell"
        return "file" if self.title else None

    @property
    def excused(self) -> str | None:
        """The reason why the block is not run, where there is one."""
        reasons = [
            reason
            for (page, beginning), reason in NOT_RUN.items()
            if page == self.page and self.text.startswith(beginning)
        ]
        return reasons[0] if reasons else None


def pages() -> list[str]:
    """Return the paths of all pages that people read."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    found += sorted((ROOT / "docs").rglob("*.md"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        language, _, rest = fence["info"].partition(" ")
        title = TITLE.search(rest)
        yield Block(
            page=page,
            line=text.count("\n", 0, fence.start()) + 1,
            language=language,
            title=title["name"] if title else None,
            text=textwrap.dedent(fence["text"]),
        )
