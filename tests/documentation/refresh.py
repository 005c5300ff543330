"""Show anew what commands print: ``python -m tests.documentation.refresh [PAGE ...]``.

Runs the shell blocks of pages and writes what is printed now over what the pages show. What a page
leaves out with ``[...]`` stays left out: each part begins at the line most like its first one, and
has as many lines as before. Look at the difference before you keep it.
"""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from pathlib import Path

from tests.documentation.blocks import ROOT, blocks, pages
from tests.documentation.sessions import LEFT_OUT, Session, Step, steps, tidy
from tests.documentation.test_sessions import SLOW, TUTORIAL, simulate


def renewed(step: Step, printed: str) -> str:
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


def refresh(page: str, session: Session) -> None:
    """Run a page's blocks in order and write its outputs anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in blocks(page):
        if block.how == "file":
            session.play(block)
        for step in steps(block) if block.how == "shell" else ():
            printed = tidy(session.run(step.command))
            if step.output:
                new = renewed(step, printed)
                text = text.replace(block.text, block.text.replace(step.output, new))
    (ROOT / page).write_text(text, encoding="utf-8")


def main(names: list[str]) -> None:
    """Refresh the pages named, or all that do not take long."""
    os.environ["COLUMNS"] = "100"
    os.environ.pop("COMPARITY_DATA", None)
    for page in names or [one for one in pages() if one not in SLOW]:
        if not any(block.how == "shell" for block in blocks(page)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            session = Session(Path(folder))
            if page in SLOW:
                session.run(SLOW[page])
            elif page != TUTORIAL:
                simulate(session)
            refresh(page, session)
            os.chdir(ROOT)


if __name__ == "__main__":
    main(sys.argv[1:])
