"""Files that are written: whole or not at all, and never over what is read."""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from comparity.errors import ComparityError, FileAccessError, SameFileError

AnyPath = str | os.PathLike[str]

STREAMS = {"stdout": 1, "stderr": 2}
DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d+)")


@contextmanager
def replace_file(path: AnyPath) -> Iterator[Path]:
    """Give the name of a new file to write, which replaces `path` once all of it is on the disk.

    Every file of this package is written through here. A reader of `path` finds the old file or
    the new one and never a part. Where anything goes wrong, Ctrl-C included, the old file is as it
    was and the new one is gone. A file that exists keeps its permissions, a new one has those of
    the umask. A symbolic link stays, and what it points to is replaced. What is no file (a pipe, a
    terminal, ``/dev/stdout``) cannot be replaced: it gets the whole content at the end.

    Parameters
    ----------
    path : path
        Where the content goes in the end.

    Yields
    ------
    Path
        An empty file with the same ending, in the same folder. It may be written to or over.

    Raises
    ------
    FileAccessError
        The file cannot be written, or the disk is full.
    """
    name = os.fspath(path)
    if "\0" in name:
        raise FileAccessError(name, "a null byte in the name", doing="write")
    try:
        with (_collect if is_stream(name) else _replace)(name) as part:
            yield part
    # Errors of ours say all already; a reader of a pipe who has gone is no fault of the path.
    except (ComparityError, BrokenPipeError):
        raise
    except OSError as error:
        raise FileAccessError(name, error.strerror or str(error), doing="write") from error


def write_text(path: AnyPath, text: str) -> None:
    """Write text as UTF-8, with line ends as they are.

    Raises
    ------
    FileAccessError
        The file cannot be written, or the disk is full.
    """
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def write_csv(path: AnyPath, names: Iterable[str], columns: Sequence[Sequence[Any]]) -> None:
    """Write columns of the same length as CSV under their names.

    Raises
    ------
    FileAccessError
        The file cannot be written, or the disk is full.
    """
    with replace_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))


def check_apart(output: AnyPath, others: Iterable[AnyPath]) -> None:
    """Refuse to write a file that is needed otherwise, whatever name or link leads to it.

    Parameters
    ----------
    output : path
        The file to write.
    others : iterable of path
        Files that are read, or written for another purpose.

    Raises
    ------
    SameFileError
        `output` is one of `others`.
    """
    for one in others:
        if is_same_file(output, one):
            raise SameFileError(os.fspath(output), os.fspath(one))


def is_same_file(one: AnyPath, other: AnyPath) -> bool:
    """Return whether two paths name one file, existing or not; a pipe or terminal is none."""
    try:
        found, second = os.stat(one), os.stat(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)
    return stat.S_ISREG(found.st_mode) and os.path.samestat(found, second)


def is_stream(path: AnyPath) -> bool:
    """Return whether a path names a pipe, a terminal, a device or an open descriptor."""
    if DESCRIPTOR.fullmatch(os.fspath(path)):
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _replace(name: str) -> Iterator[Path]:
    """Write beside the file, so that putting the new one in its place is one step of the system."""
    target = Path(os.path.realpath(name))
    old = _old_state(target)
    # A short name of its own: that of the target may be as long as names can be.
    part = target.with_name(f".comparity-{secrets.token_hex(8)}{target.suffix[:16]}")
    mode = 0o666 if old is None else 0o600
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        yield part
        _flush(part)
        if old is not None:
            _keep_owner(part, old)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _old_state(target: Path) -> os.stat_result | None:
    """Return what is known of the file to be replaced, which must be one that may be written."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(0, "a directory")
    # Replacing a file needs no right to write to it, but one that is read-only is meant to stay.
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    return found


def _flush(part: Path) -> None:
    """Wait until the content is on the disk: a full disk may show only here."""
    descriptor = os.open(part, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(part: Path, old: os.stat_result) -> None:
    """Give the new file the owner and permissions of the old one."""
    new = os.stat(part)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        # Only an administrator may give a file to somebody else.
        with suppress(PermissionError):
            os.chown(part, old.st_uid, old.st_gid)
    os.chmod(part, stat.S_IMODE(old.st_mode))


@contextmanager
def _collect(name: str) -> Iterator[Path]:
    """Write to a file apart, and hand its content on at the end."""
    with tempfile.TemporaryDirectory(prefix="comparity-") as folder:
        part = Path(folder, f"part{Path(name).suffix}")
        part.touch()
        yield part
        with part.open("rb") as content, _open_stream(name) as stream:
            shutil.copyfileobj(content, stream)


def _open_stream(name: str) -> Any:
    """Open a pipe, terminal or device; of an open descriptor what was written to it stays."""
    found = DESCRIPTOR.fullmatch(name)
    if found is None:
        return open(name, "wb")
    sys.stdout.flush()
    # Opened by its name, a file that standard output was sent to would be emptied.
    return os.fdopen(os.dup(STREAMS[found[1]] if found[1] else int(found[2])), "wb")
