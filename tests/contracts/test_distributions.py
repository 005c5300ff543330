"""The wheel and the source distribution hold what they must, and run outside the repository."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("hatchling.build", reason="hatchling builds the distributions")


def build(kind: str, source: Path, goal: Path) -> Path:
    """Build a wheel or an sdist of a source tree, in a process of its own."""
    program = f"import hatchling.build as b; print(b.build_{kind}({str(goal)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True, check=True
    )
    return goal / done.stdout.split()[-1]


def unpack(sdist: Path, goal: Path) -> Path:
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 knows no filters; later ones warn without one.
        known: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(goal, **known)
    (folder,) = goal.iterdir()
    return folder


def run(wheel: Path, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Install a wheel into an empty folder, and run its command there."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(folder / "site"), str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    program = [sys.executable, "-c", "import comparity; print(comparity.__file__)"]
    found = subprocess.run(program, env=environment, cwd=folder, capture_output=True, text=True)
    assert Path(found.stdout.strip()).is_relative_to(folder), "another comparity was found"
    command = [str(folder / "site" / "bin" / "comparity"), *words]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(sdist, tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


def test_the_source_distribution_has_what_building_and_testing_need(source: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a repository")
    kept = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    assert not [name for name in kept if not (source / name).exists()]


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    package = ROOT / "src" / "comparity"
    files = {
        str(path.relative_to(package.parent))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == files


def test_an_installed_wheel_runs_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    done = run(wheel, tmp_path, "doctor")
    assert done.returncode == 0, done.stderr
    assert "comparity 0." in done.stdout


@pytest.mark.slow
def test_an_installed_wheel_runs_the_demo_outside_the_repository(
    wheel: Path, tmp_path: Path
) -> None:
    done = run(wheel, tmp_path, "demo", "--quick", "--directory", "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
