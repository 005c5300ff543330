"""Browser, checkers and what they see: none of them is part of this repository."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PACKAGES = ("axe-core@4.14.0", "playwright-core@1.65.0", "vnu-jar@26.9.27")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "comparity-tests" / "npm"
SCREENS = ("light-wide", "light-phone", "light-360", "light-320", "dark-wide", "dark-phone")
# Seconds. The slowest page takes 15 on an idle machine, and a machine is not always idle.
FETCHING, CHECKING, ONE_PAGE = 600, 300, 120

Look = Callable[[Iterable[Path]], dict[str, Any]]
Once = Callable[[str, Callable[[Path], Any]], Any]


def program(*names: str) -> str:
    """Return the path of the first of these programs, or skip."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or pytest.skip(f"needs {' or '.join(names)}")


def ran(words: list[str], *, limit: float, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program to its end, or fail and say how far it came within `limit` seconds."""
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, said = process.communicate(given, timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            pytest.fail(
                f"{words[0]} did not end within {limit:.0f} s; it said last:\n{said[-600:]}"
            )
    return subprocess.CompletedProcess(words, process.returncode, out, said)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return a function that has something made once, also where several workers ask for it."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder

    def kept(name: str, make: Callable[[Path], Any]) -> Any:
        path = shared / f"{name}.json"
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_text(json.dumps(make(tmp_path_factory.mktemp(name))), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))

    return kept


@pytest.fixture(scope="session")
def modules() -> Path:
    """Return a folder with the packages of npm, fetched once."""
    wanted = CACHE / "node_modules"
    if not (wanted / "vnu-jar" / "build" / "dist" / "vnu.jar").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        words = [program("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(CACHE)]
        done = ran([*words, *PACKAGES], limit=FETCHING)
        if done.returncode:
            pytest.skip(f"npm cannot fetch {', '.join(PACKAGES)}: {done.stderr[-300:]}")
    return wanted


@pytest.fixture(scope="session")
def look(modules: Path) -> Look:
    """Return a function that opens pages on every screen and says what it saw, by their paths."""
    words = [program("node"), str(HERE / "look.mjs"), str(modules)]
    words += [program("chromium", "chromium-browser", "google-chrome"), str(ONE_PAGE)]
    words += [os.environ.get("COMPARITY_PICTURES", "")]

    def seen(pages: Iterable[Path]) -> dict[str, Any]:
        paths = [str(path) for path in pages]
        done = ran(words, limit=ONE_PAGE + 30 * len(paths), given="\n".join(paths))
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return seen


def failures(seen: Mapping[str, Any], what: Callable[[dict[str, Any]], Any]) -> dict[Any, Any]:
    """Return what is wrong, by page and screen."""
    found = {(name, screen): what(seen[name][screen]) for name in seen for screen in SCREENS}
    return {place: wrong for place, wrong in found.items() if wrong}
