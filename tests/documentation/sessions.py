"""Run the shell blocks of a page as a reader would type them, in one folder, in their order."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from comparity.cli import main
from tests.documentation.blocks import Block

LEFT_OUT = re.compile(r"^\[\.\.\.\]$", re.MULTILINE)
"""A line that stands for any number of lines of an output."""

FRACTION = re.compile(r"\d+\.\d+")

# 0, 1 and 3 are findings. Anything else is bad input or a defect, and a page that means it says so
# with `echo $?`.
FINDINGS = {0, 1, 3}
SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, and what the page says it prints."""

    command: str
    output: str


def steps(block: Block) -> Iterator[Step]:
    """Yield the commands of a block: lines after ``$``, continued by a backslash."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        last = next(at for at, line in enumerate(lines) if not line.endswith("\\"))
        command = " ".join(line.rstrip("\\").strip() for line in lines[: last + 1])
        yield Step(command=command, output="\n".join(lines[last + 1 :]).strip("\n"))


@dataclass
class Session:
    """A shell in a folder, which remembers how the last command ended."""

    folder: Path
    status: int = 0
    unexplained: list[str] = field(default_factory=list)

    def play(self, block: Block) -> None:
        """Write the file that a block is, or run its commands and compare what they print."""
        if block.title:
            (self.folder / block.title).write_text(block.text, encoding="utf-8")
            return
        for step in steps(block):
            printed = tidy(self.run(step.command))
            where = f"{block.page}, line {block.line}: {step.command}"
            if step.output:
                assert matches(step.output, printed), f"{where}\n\n{printed}"
            if self.status not in FINDINGS:
                self.unexplained.append(f"{where} ended with {self.status}\n{printed}")

    def run(self, command: str) -> str:
        """Run one command and return what it prints."""
        if command == "echo $?":
            self.unexplained.clear()
            status, self.status = self.status, 0
            return f"{status}\n"
        if command.startswith("comparity "):
            return self._run_here(command)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": path},
            cwd=self.folder,
            timeout=SECONDS,
        )
        self.status = done.returncode
        return done.stdout + done.stderr

    def _run_here(self, command: str) -> str:
        """Run one of our commands in this process, where everything is imported already."""
        words = shlex.split(command)[1:]
        target = words[words.index(">") + 1] if ">" in words else None
        arguments = words[: words.index(">")] if ">" in words else words
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(arguments)
            except SystemExit as left:
                self.status = int(left.code or 0)
        if target:
            (self.folder / target).write_text(out.getvalue(), encoding="utf-8")
            return err.getvalue()
        return out.getvalue() + err.getvalue()


def tidy(text: str) -> str:
    """Return a text without spaces at the ends of lines, which nobody sees."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def matches(shown: str, printed: str) -> bool:
    """Say whether an output is what a page shows, where ``[...]`` stands for any lines.

    The last digit of a fraction may be one more or less: processors add in different orders.
    """
    parts = [tidy(part) for part in LEFT_OUT.split(shown)]
    pattern = r"(?:.*\n)*?".join(_pattern(f"{part}\n") if part else "" for part in parts)
    return re.fullmatch(pattern, f"{tidy(printed)}\n") is not None


def _pattern(text: str) -> str:
    found, end = [], 0
    for number in FRACTION.finditer(text):
        places = len(number[0].partition(".")[2])
        value = int(number[0].replace(".", ""))
        near = (f"{step / 10**places:.{places}f}" for step in (value, max(0, value - 1), value + 1))
        found += [re.escape(text[end : number.start()]), f"(?:{'|'.join(map(re.escape, near))})"]
        end = number.end()
    return "".join([*found, re.escape(text[end:])])
