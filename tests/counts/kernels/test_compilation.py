"""Compiled code is kept where that is safe, and a run never depends on what was kept.

A file named ``__pycache__`` and a home inside ``/dev/null`` cannot become folders, not even for
root, so they stand for a read-only installation.
"""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import comparity
from comparity.counts.kernels import compilation
from comparity.counts.kernels.compilation import KernelFiles, private_folder

PACKAGE = Path(comparity.__file__).parent
KERNELS = """
from comparity.counts.kernels.compilation import njit

@njit(cache=True, nogil=True)
def twice(x):
    return x + x

@njit(cache=True, nogil=True)
def four_times(x):
    return 2 * twice(x)
"""
ASK = """
import kernels
print(kernels.four_times({argument}), sum(kernels.four_times.stats.cache_hits.values()))
"""
LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""


@dataclass(frozen=True)
class Machine:
    """A folder with two kernels, and another for temporary files."""

    folder: Path

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def private(self) -> Path:
        return self.temporary / f"comparity-{os.getuid()}"

    def start(self, argument: object, program: str = "") -> "subprocess.Popen[str]":
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/dev/null",
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(PACKAGE.parent)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        words = [sys.executable, "-c", program + ASK.format(argument=argument)]
        pipe = subprocess.PIPE
        return subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, text=True)

    def ask(self, argument: object = 5, program: str = "") -> tuple[str, int, list[str]]:
        """Return what four times a number is, how often code was found, and what was said."""
        process = self.start(argument, program)
        out, err = process.communicate()
        assert process.returncode == 0, err
        answer, hits = out.split()
        return answer, int(hits), err.splitlines()

    def code(self) -> list[Path]:
        """Return the files of the kernel that is asked for."""
        return sorted(self.folder.rglob("kernels.four_times*.nbc"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "tmp").mkdir(mode=0o700)
    return Machine(tmp_path)


@pytest.fixture
def read_only(machine: Machine) -> Machine:
    (machine.folder / "__pycache__").touch()
    return machine


def test_code_is_kept_beside_the_source_where_that_can_be_written(machine: Machine) -> None:
    assert machine.ask() == ("20", 0, [])
    assert [path.parent.name for path in machine.code()] == ["__pycache__"]
    assert machine.ask() == ("20", 1, [])


def test_a_read_only_installation_keeps_code_in_a_private_temporary_folder(
    read_only: Machine,
) -> None:
    answer, hits, said = read_only.ask()
    assert (answer, hits) == ("20", 0)
    assert len(said) == 1
    assert f"kept in {read_only.private}" in said[0]
    assert read_only.private.stat().st_mode & 0o777 == 0o700
    assert read_only.ask()[:2] == ("20", 1)


def link_elsewhere(parent: Path, folder: Path) -> None:
    (parent.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(parent.parent / "elsewhere")


def open_to_others(parent: Path, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def rename_by_others(parent: Path, folder: Path) -> None:
    parent.chmod(0o777)


def give_away(parent: Path, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(folder, 65534, 65534)


def take_name(parent: Path, folder: Path) -> None:
    folder.touch()


@pytest.mark.parametrize(
    "spoil", [link_elsewhere, open_to_others, rename_by_others, give_away, take_name]
)
def test_no_temporary_folder_is_better_than_one_that_others_could_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path, Path], None]
) -> None:
    parent = tmp_path / "tmp"
    parent.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(parent))
    find = private_folder.__wrapped__
    folder = find()
    assert folder is not None
    folder.rmdir()
    spoil(parent, folder)
    assert find() is None


def test_without_a_safe_folder_code_is_kept_nowhere(read_only: Machine) -> None:
    read_only.private.touch()
    answer, hits, said = read_only.ask()
    assert (answer, hits, len(said)) == ("20", 0, 1)
    assert "each run compiles again" in said[0]
    assert not read_only.code()


def test_folder_named_after_an_unknown_home_is_not_made(machine: Machine) -> None:
    unknown = "import os; os.path.expanduser = lambda path: path\n"
    (machine.folder / "__pycache__").touch()
    assert machine.ask(program=unknown)[0] == "20"
    assert not list(Path.cwd().glob("~*"))


def test_code_holds_that_of_other_files_and_is_compiled_anew_with_them(machine: Machine) -> None:
    head, double, quadruple = KERNELS.partition("@njit")[0], *KERNELS.split("@njit")[1:]
    callee = machine.folder / "callee.py"
    callee.write_text(f"{head}@njit{double}")
    (machine.folder / "kernels.py").write_text(f"{head}from callee import twice\n@njit{quadruple}")
    assert machine.ask()[:2] == ("20", 0)
    assert machine.ask()[:2] == ("20", 1)
    callee.write_text(callee.read_text().replace("x + x", "x + x + x"))
    assert machine.ask()[:2] == ("30", 0)


def fill_at_random(content: bytes) -> bytes:
    return random.Random(1).randbytes(len(content))


def flip_last_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def cut_off(content: bytes) -> bytes:
    return content[: len(content) // 2]


def empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [fill_at_random, flip_last_bit, cut_off, empty])
def test_damaged_code_is_as_good_as_none(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    files = KernelFiles(str(tmp_path), "kernel", "stamp")
    files.save("float64", [1, 2])
    assert files.load("float64") == [1, 2]
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert files.load("float64") is None


def test_damaged_code_is_compiled_anew(machine: Machine) -> None:
    machine.ask()
    (path,) = machine.code()
    path.write_bytes(fill_at_random(path.read_bytes()))
    assert machine.ask() == ("20", 0, [])
    assert machine.ask() == ("20", 1, [])


@pytest.mark.parametrize("changed", ["comparity", "numba", "source", "signature"])
def test_code_of_anything_else_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    KernelFiles(str(tmp_path), "kernel", "stamp").save("float64", [1, 2])
    if changed == "comparity":
        monkeypatch.setattr(compilation, "__version__", "0.0.1")
    if changed == "numba":
        monkeypatch.setattr("numba.__version__", "0.0.1")
    files = KernelFiles(str(tmp_path), "kernel", "other" if changed == "source" else "stamp")
    assert files.load("int64" if changed == "signature" else "float64") is None


def test_code_of_an_old_source_is_replaced_and_of_another_signature_kept(tmp_path: Path) -> None:
    for stamp in ("old", "new"):
        files = KernelFiles(str(tmp_path), "kernel", stamp)
        for key in ("int64", "float64"):
            files.save(key, f"{stamp} {key}")
    assert len(list(tmp_path.iterdir())) == 2
    assert files.load("int64") == "new int64"
    files.flush()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_once_and_changes_no_answer(machine: Machine) -> None:
    answer, hits, said = machine.ask(program=LIMITED)
    assert (answer, hits, len(said)) == ("20", 0, 1)
    assert "cannot be kept in" in said[0]
    assert not list(machine.folder.rglob("*.tmp"))
    assert machine.ask() == ("20", 0, [])


def test_processes_that_compile_at_once_leave_whole_code_of_each_signature(
    machine: Machine,
) -> None:
    answers = {"5": "20", "5.5": "22.0"}
    processes = {name: machine.start(name.strip()) for name in ("5", "5 ", "5.5")}
    said = {name: process.communicate() for name, process in processes.items()}
    assert {name: out.split()[0] for name, (out, _) in said.items()} == {**answers, "5 ": "20"}
    assert not any(err for _, err in said.values())
    assert {name: machine.ask(name)[:2] for name in answers} == {
        name: (answer, 1) for name, answer in answers.items()
    }


def test_a_command_runs_where_nothing_can_be_written(tmp_path: Path) -> None:
    copied = tmp_path / "comparity"
    for path in PACKAGE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            goal = copied / path.relative_to(PACKAGE)
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.symlink_to(path)
            (goal.parent / "__pycache__").touch()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/dev/null",
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(tmp_path),
    }
    rates = "--shares 0.5,0.5 --base-rates 0.5,0.5 --tpr 0.8,0.7 --fpr 0.3,0.3 --n 500"
    for command in ("doctor", f"plan separation {rates}"):
        words = [sys.executable, "-m", "comparity", *command.split()]
        done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    # Only the second compiles anything, and says once where that goes.
    assert len(done.stderr.splitlines()) == 1
