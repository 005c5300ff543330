"""Gather the pages of the documentation in ``build/docs``, from where zensical makes the site.

``make docs`` runs this first. Pages are kept where a reader of the repository looks for them: the
landing page is README.md, pages are in ``docs/``, examples in ``examples/``. Here they are put
under one roof, links are turned accordingly, the reference is written from docstrings, and
notebooks are run.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "build" / "docs"

RENAMED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages at the root of the repository, and what they are called on the site."""

LINK = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


def places() -> dict[str, str]:
    """Return where each file of the repository stands on the site, by its path."""
    found = dict(RENAMED)
    docs = ROOT / "docs"
    found |= {
        _posix(path): path.relative_to(docs).as_posix()
        for pattern in ("**/*.md", "*.css", "*.js", "pictures/*")
        for path in sorted(docs.glob(pattern))
    }
    for path in sorted((ROOT / "examples").glob("*.py")):
        found[_posix(path)] = f"examples/{path.stem}.md"
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.py")):
        found[_posix(path)] = f"notebooks/{path.stem}.md"
    for path in sorted((ROOT / "reproductions").glob("*/README.md")):
        found[_posix(path)] = f"reproductions/{path.parent.name}.md"
    return found


def turned(text: str, source: str, known: dict[str, str]) -> str:
    """Return a page with its links as they are on the site.

    A link to a file that the site does not have becomes plain text.
    """

    def turn(link: re.Match[str]) -> str:
        target, anchor = link["target"], link["anchor"] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        path = os.path.normpath(PurePosixPath(source).parent / target)
        if path not in known:
            return link["text"].strip("![]")
        start = PurePosixPath(known[source]).parent
        return f"{link['text']}({os.path.relpath(known[path], start)}{anchor})"

    parts = CODE.split(text)
    return "".join(part if at % 2 else LINK.sub(turn, part) for at, part in enumerate(parts))


def stage(folder: Path = STAGE) -> None:
    """Write all pages into a folder, which is emptied first."""
    # Imported here so that the contracts can ask for places without running anything.
    import api
    import notebooks

    shutil.rmtree(folder, ignore_errors=True)
    known = places()
    for source, place in known.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            target.write_text(turned(text, source, known), encoding="utf-8")
        elif source.startswith("examples/notebooks/"):
            text = notebooks.shown(ROOT / source, target.parent / "pictures")
            target.write_text(text, encoding="utf-8")
        elif source.endswith(".py"):
            target.write_text(_listing(ROOT / source), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, target)
    for name, text in api.pages().items():
        target = folder / "api" / f"{name}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _listing(path: Path) -> str:
    """Return an example as a page: what it says of itself, then its text."""
    source = path.read_text(encoding="utf-8")
    told = ast.get_docstring(ast.parse(source)) or path.stem
    title, _, rest = told.partition("\n")
    return (
        f"# {title.strip('.')}\n\n{rest.strip()}\n\n"
        f'```python title="examples/{path.name}"\n{source}```\n'
    )


def _posix(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    stage()
