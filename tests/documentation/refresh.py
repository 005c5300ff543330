"""Show again what commands print: ``python -m tests.documentation.refresh [PAGE ...]``.

Runs the shell blocks and the doctests of pages and writes what is printed now over what the pages
show; all pages where none is named. What a page leaves out with ``[...]`` stays left out: each part
begins at the line most like its first one, and has as many lines as before. Look at the difference
before you keep it.
"""

from __future__ import annotations

import difflib
import doctest
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.documentation.blocks import ROOT, blocks, pages
from tests.documentation.sessions import LEFT_OUT, Session, Step, steps, tidy
from tests.documentation.test_sessions import SLOW, TUTORIAL, simulate


def renew_output(step: Step, printed: str) -> str:
    """Return what a page should show of an output, in the parts it showed before."""
    lines = printed.split("\n")
    parts, at = [], 0
    for part in LEFT_OUT.split(step.output):
        old = part.strip("\n").split("\n")
        if old == [""]:
            parts.append("")
            continue
        nearest = difflib.get_close_matches(old[0], lines[at:], n=1, cutoff=0.0)[0]
        start = lines.index(nearest, at) if parts else 0
        at = start + len(old)
        parts.append("\n".join(lines[start:at]))
    if parts[-1] and at < len(lines):
        parts[-1] = "\n".join([parts[-1], *lines[at:]])
    return "\n[...]\n".join(parts).strip("\n")


def refresh_commands(page: str, session: Session) -> None:
    """Run a page's shell blocks in order and write their outputs again."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in blocks(page):
        if block.how == "file":
            session.play(block)
        for step in steps(block) if block.how == "shell" else ():
            printed = tidy(session.run(step.command))
            if step.output:
                new = renew_output(step, printed)
                text = text.replace(block.text, block.text.replace(step.output, new))
    (ROOT / page).write_text(text, encoding="utf-8")


class Renewal(doctest.DocTestRunner):
    """Doctests whose outputs are collected where they are not what a page shows."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS)
        self.printed: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        """Keep what is printed now."""
        self.printed.append((example, got))

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """Stop: an example that fails is mended by hand."""
        raise exc_info[1]


def refresh_doctests(page: str) -> None:
    """Run a page's Python blocks in order, with one set of names, and write their outputs again."""
    text = (ROOT / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.how != "doctest":
            continue
        test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line)
        runner = Renewal()
        runner.run(test, clear_globs=False)
        names = test.globs
        lines = block.text.splitlines(keepends=True)
        for example, got in reversed(runner.printed):
            start = example.lineno + example.source.count("\n")
            lines[start : start + example.want.count("\n")] = got.splitlines(keepends=True)
        text = text.replace(block.text, "".join(lines))
    (ROOT / page).write_text(text, encoding="utf-8")


def main(names: list[str]) -> None:
    """Refresh the pages named, or all of them."""
    os.environ["COLUMNS"] = "100"
    os.environ.pop("COMPARITY_DATA", None)
    for page in names or pages():
        hows = {block.how for block in blocks(page)}
        if "doctest" in hows:
            refresh_doctests(page)
        if "shell" not in hows:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            session = Session(Path(folder))
            if page in SLOW:
                session.run(SLOW[page])
            elif page != TUTORIAL:
                simulate(session)
            refresh_commands(page, session)
            os.chdir(ROOT)


if __name__ == "__main__":
    main(sys.argv[1:])
