"""Run notebooks kept as text, and show them with what they print and draw.

A notebook is a Python file in the percent format, which Jupyter (with jupytext), VS Code, PyCharm
and Spyder open as cells: ``# %% [markdown]`` begins a cell of text, ``# %%`` a cell of code. What
was printed is not kept in the file; it comes from running it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cell", "cells", "run", "shown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Text, or code, and where it stands in the file."""

    text: str
    code: bool
    line: int


def cells(source: str) -> list[Cell]:
    """Divide a notebook into cells."""
    found = []
    marks = list(re.finditer(r"^# %%(?P<kind>.*)\n", source, re.MULTILINE))
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    for mark, end in zip(marks, ends, strict=True):
        body, code = source[mark.end() : end].strip("\n"), "[markdown]" not in mark["kind"]
        text = body if code else re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        found.append(Cell(text=text, code=code, line=source.count("\n", 0, mark.end()) + 1))
    return found


def run(path: Path) -> Iterator[tuple[Cell, str, Any]]:
    """Yield every cell with what it printed and the value of its last line, if it has one."""
    room: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(path.read_text(encoding="utf-8")):
        if not cell.code:
            yield cell, "", None
            continue
        tree = ast.parse(cell.text, filename=str(path))
        ast.increment_lineno(tree, cell.line - 1)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        value = None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, str(path), "exec"), room)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), str(path), "eval"), room)
        yield cell, printed.getvalue(), value


def shown(path: Path, pictures: Path) -> str:
    """Return a notebook that was run as Markdown; what it drew goes to a folder of pictures."""
    import matplotlib

    matplotlib.use("Agg")
    parts = []
    for cell, printed, value in run(path):
        parts.append(f"```python\n{cell.text}\n```" if cell.code else cell.text)
        if hasattr(value, "figure"):
            name = f"{path.stem}-{cell.line}.svg"
            pictures.mkdir(parents=True, exist_ok=True)
            value.figure.savefig(pictures / name, bbox_inches="tight")
            parts.append(f"![What the cell above draws]({pictures.name}/{name})")
        elif value is not None:
            printed += f"{value}\n"
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
