"""Browser, checkers and what they see: none of them is part of this repository."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PACKAGES = ("axe-core@4.14.0", "playwright-core@1.65.0", "vnu-jar@26.9.27")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "comparity-tests" / "npm"
SCREENS = ("light-wide", "light-phone", "dark-wide", "dark-phone")

Look = Callable[[Iterable[Path]], dict[str, Any]]


def program(*names: str) -> str:
    """Return the path of the first of these programs, or skip."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or pytest.skip(f"needs {' or '.join(names)}")


@pytest.fixture(scope="session")
def modules() -> Path:
    """Return a folder with the packages of npm, fetched once."""
    wanted = CACHE / "node_modules"
    if not (wanted / "vnu-jar" / "build" / "dist" / "vnu.jar").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        words = [program("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(CACHE)]
        done = subprocess.run([*words, *PACKAGES], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot fetch {', '.join(PACKAGES)}: {done.stderr[-300:]}")
    return wanted


@pytest.fixture(scope="session")
def look(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Look:
    """Return a function that opens pages on every screen and says what it saw, by their paths."""
    words = [program("node"), str(HERE / "look.mjs"), str(modules)]
    words += [program("chromium", "chromium-browser", "google-chrome")]

    def seen(pages: Iterable[Path]) -> dict[str, Any]:
        folder = str(tmp_path_factory.mktemp("browser"))
        done = subprocess.run(
            [*words, folder, os.environ.get("COMPARITY_PICTURES", "")],
            input="\n".join(map(str, pages)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return seen


def failures(seen: dict[str, Any], what: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Return what is wrong, by page and screen."""
    found = {(name, screen): what(seen[name][screen]) for name in seen for screen in SCREENS}
    return {place: wrong for place, wrong in found.items() if wrong}
