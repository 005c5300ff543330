"""What must hold of every case, whatever is in its files and whatever is asked."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest.mock import patch

from comparity.cli import main
from tests.fuzz.answers import OF_ORDER, SAME, differences
from tests.fuzz.cases import Case, Twin, write_files

__all__ = ["BrokenPromiseError", "Outcome", "run_here", "try_case"]

STATUSES = {0, 1, 2, 3}
MOST_SECONDS = 60
# Whether data sets are here must not change what is tried.
NO_DATA = {"COMPARITY_DATA": "no data here"}
# What differs where the same rows come from another file, or in another order.
OF_THE_FILE = frozenset({"provenance"})
# What is drawn at random is drawn for rows as they come: which are held out, which are permuted.
# Equal items rank, and equal biases are listed, as they come; the matrix of biases has its order.
DRAWN = {"relative": {"distribution"}, "rank": {"audit", "rank", "biases"}}


# How rows are divided, who met whom first, where a search begins, and which neighbours at the same
# distance are taken.
BY_ORDER = {"--on", "elo", "--score-dependent", "--features"}


class BrokenPromiseError(AssertionError):
    """A case in which something does not hold that is promised."""


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    status: int
    out: str
    err: str


def try_case(case: Case, *, again: bool = True, thoroughly: bool = False) -> None:
    """Run a case and check all that is promised.

    `again` runs it a second time; `thoroughly` runs it in a process of its own, too.
    """
    with TemporaryDirectory(prefix="fuzz") as name, patch.dict(os.environ, NO_DATA):
        folder = Path(name)
        case.write(folder)
        before = _hashes(folder)
        outcome = run_here(case.words, folder)
        _check_outcome(case, outcome)
        _check_files(case, outcome, before, folder)
        if again:
            _check_again(case, outcome, folder)
        if thoroughly:
            _check_process(case, outcome, folder)
        for twin in case.twins:
            _check_twin(case, outcome, twin)


def run_here(words: tuple[str, ...], folder: Path) -> Outcome:
    """Run a command in this process, with warnings as errors."""
    with _stream() as out, _stream() as err, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        with _limit(), redirect_stdout(out), redirect_stderr(err):
            try:
                main(words)
            except SystemExit as left:
                status = left.code if isinstance(left.code, int) else 0
        return Outcome(status, _written(out), _written(err))


def _stream() -> Any:
    """Return a file with a number, as the streams of a process have one."""
    from tempfile import TemporaryFile

    return TemporaryFile("w+", encoding="utf-8", newline="")


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def _limit() -> Iterator[None]:
    """Stop what computes for longer than anybody waits, however busy the machine is, or hangs."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {MOST_SECONDS} s of computing")

    previous = [(one, signal.signal(one, stop)) for one in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 20 * MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one, handler in previous:
            signal.signal(one, handler)


def _hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _check_outcome(case: Case, outcome: Outcome) -> None:
    """Hold the status and what is printed to what is promised."""
    if outcome.status not in STATUSES or "Traceback" in outcome.err:
        raise BrokenPromiseError(f"status {outcome.status}\n{outcome.err}")
    if outcome.status == 2 and not outcome.err.strip():
        raise BrokenPromiseError("refused without a word")
    for text in (outcome.err, outcome.out):
        steering = {c for c in text if unicodedata.category(c) in ("Cc", "Cs")} - {"\n"}
        if steering:
            raise BrokenPromiseError(f"printed {steering} among\n{text}")
    if _holds_json(case, outcome):
        _parsed(outcome.out)


def _holds_json(case: Case, outcome: Outcome) -> bool:
    return "--json" in case.words and outcome.status != 2 and "--help" not in case.words


def _parsed(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise BrokenPromiseError(f"{constant} in JSON\n{text}")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise BrokenPromiseError(f"not JSON: {error}\n{text}") from error


def _check_files(case: Case, outcome: Outcome, before: dict[str, str], folder: Path) -> None:
    """Hold inputs to be untouched, outputs to be where they were asked for, and complete."""
    after = _hashes(folder)
    changed = [path for path, digest in before.items() if after.get(path) != digest]
    if changed:
        raise BrokenPromiseError(f"changed {changed}")
    new = after.keys() - before.keys()
    if new - set(case.outputs):
        raise BrokenPromiseError(f"wrote {sorted(new - set(case.outputs))}, which nobody asked for")
    if outcome.status != 2 and "--help" not in case.words and set(case.outputs) - new:
        raise BrokenPromiseError(
            f"status {outcome.status} without {sorted(set(case.outputs) - new)}"
        )
    for path in new:
        content = (folder / path).read_bytes()
        if not content or (path.endswith(".html") and not content.rstrip().endswith(b"</html>")):
            raise BrokenPromiseError(f"{path} is not complete, status {outcome.status}")


def _check_again(case: Case, outcome: Outcome, folder: Path) -> None:
    """Hold a second run to give the same answer and the same files."""
    written = _hashes(folder)
    again = run_here(case.words, folder)
    if (again.status, again.out) != (outcome.status, outcome.out):
        raise BrokenPromiseError(
            f"another answer the second time\n{again.err}{again.out}\n{outcome.out}"
        )
    changed = {path for path, digest in _hashes(folder).items() if written.get(path) != digest}
    # A picture in PDF says when it was drawn.
    if {path for path in changed if not path.endswith(".pdf")}:
        raise BrokenPromiseError(f"{sorted(changed)} written otherwise the second time")


def _check_process(case: Case, outcome: Outcome, folder: Path) -> None:
    """Hold the command to do in a process of its own what it did in this one."""
    command = [sys.executable, "-W", "error", "-m", "comparity", *case.words]
    run = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        timeout=20 * MOST_SECONDS,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    if (run.returncode, run.stdout.decode()) != (outcome.status, outcome.out):
        raise BrokenPromiseError(
            f"otherwise in its own process: {run.returncode}\n{run.stderr.decode()}"
        )


def _check_twin(case: Case, outcome: Outcome, twin: Twin) -> None:
    """Hold the same rows to give the same finding from another file, and the same numbers."""
    by_order = twin.what == "order of rows"
    # Rows to train on, and pairs to judge, are drawn by their places.
    if by_order and (case.words[0] in ("train", "pairs") or BY_ORDER & {*case.words}):
        return
    with TemporaryDirectory(prefix="fuzz") as name:
        write_files(twin.files, Path(name))
        other = run_here(twin.words, Path(name))
    same, unlike = other.status == outcome.status, []
    if same and _holds_json(case, outcome):
        answers = _parsed(outcome.out), _parsed(other.out)
        if by_order and not all(one.get("converged", True) for one in answers):
            # Where a search of a ranking did not come to rest, it says so.
            unlike = []
        elif by_order:
            unlike = differences(*answers, without=OF_ORDER | DRAWN.get(case.words[0], set()))
        else:
            unlike = differences(*answers, without=OF_THE_FILE, rounding=SAME)
    if not same or unlike:
        raise BrokenPromiseError(
            f"another {twin.what}, another answer: {outcome.status} and {other.status}\n"
            f"{unlike[:9]}\n"
            f"{outcome.err}{other.err}{outcome.out}{other.out}\n{shlex.join(twin.words)}"
        )


def keep_case(case: Case, error: BaseException, home: Path) -> Path:
    """Keep a broken case in a folder, with a script that runs it again."""
    digest = hashlib.sha256(repr(case).encode()).hexdigest()[:8]
    folder = home / f"{'-'.join(case.words[:1])}-{digest}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case.write(folder)
    for twin in case.twins:
        write_files(twin.files, folder / f"another {twin.what}")
    (folder / "rerun.sh").write_text(
        f"cd {shlex.quote(str(folder))}\n{shlex.quote(sys.executable)} -W error -m comparity "
        f"{shlex.join(case.words)}\n",
        encoding="utf-8",
    )
    (folder / "why.txt").write_text(f"{case!r}\n\n{error}\n", encoding="utf-8", errors="replace")
    return folder
