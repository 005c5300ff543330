"""Print the oldest versions that pyproject.toml allows, as constraints of pip.

Run by ``make test-oldest`` as ``python -m tests.oldest``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"([\w.-]+)>=([\d.]+)")


def oldest_versions(text: str) -> list[str]:
    """Return ``name==version`` for each lower bound in the text of a ``pyproject.toml``."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"].values()
    lines = {*project["dependencies"], *(line for extra in extras for line in extra)}
    found = [BOUND.fullmatch(line) for line in lines]
    return sorted(f"{one[1]}=={one[2]}" for one in found if one)


if __name__ == "__main__":
    print("\n".join(oldest_versions(PYPROJECT.read_text(encoding="utf-8"))))
