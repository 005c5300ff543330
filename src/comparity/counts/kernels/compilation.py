"""Kernels: functions compiled by numba, and where the compiled code is kept between runs.

Compiled code is kept in the first folder that can be written: ``NUMBA_CACHE_DIR``, ``__pycache__``
beside the source, the user's cache, a private folder among temporary files. Where there is none,
each run compiles again. What is kept only saves time: a file that is damaged, of another version or
cannot be written is as good as no file.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import stat
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import caching
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from comparity import __version__

LOG = logging.getLogger("comparity")

Answer = TypeVar("Answer")


def njit(
    *, cache: bool, **options: Any
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Compile a function as ``numba.njit`` does, with a cache that can be missing or damaged.

    Parameters
    ----------
    cache : bool
        Whether to keep the compiled code for later runs.
    **options
        Options of ``numba.njit``.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> @njit(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """

    def compile_lazily(function: Callable[..., Answer]) -> Callable[..., Answer]:
        kernel: Any = numba.njit(**options)(function)
        # With NUMBA_DISABLE_JIT it is the function itself.
        if cache and isinstance(kernel, Dispatcher):
            try:
                kernel._cache = KernelCache(function)  # type: ignore[attr-defined]
            except RuntimeError:
                # numba has found no folder, and the kernel keeps the cache that keeps nothing.
                _tell(
                    "No folder can be written to keep compiled code in, so that each run compiles "
                    "again, which takes a while. NUMBA_CACHE_DIR names such a folder."
                )
        return cast(Callable[..., Answer], kernel)

    return compile_lazily


class KernelFiles:
    """Compiled code on disk: a file for each kernel, signature and machine, whole or not at all.

    numba's own files share an index, which two processes that write at once can leave pointing to
    the code of another signature. These have none: the name says for what the code is, the digest
    before it that it is whole, and compiled from this source by these versions.

    Parameters
    ----------
    folder : str
        Where the files are.
    base : str
        How their names begin: module, function, line and version of Python.
    stamp : object
        What changes with the source.
    """

    def __init__(self, folder: str, base: str, stamp: object) -> None:
        self.folder = Path(folder)
        self.base = base
        self.stamp = stamp

    def load(self, key: object) -> Any:
        """Return what was saved under a key; None where that is nothing, damaged or old."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        size = hashlib.sha256().digest_size
        digest, code = content[:size], content[size:]
        return pickle.loads(code) if digest == self._digest(key, code) else None

    def save(self, key: object, data: object) -> None:
        """Write what `load` returns for this key; readers see the old file or the new one."""
        code = dumps(data)
        path = self._path(key)
        draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}.tmp")
        try:
            draft.write_bytes(self._digest(key, code) + code)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def flush(self) -> None:
        """Remove all files of the kernel."""
        for path in self.folder.glob(f"{self.base}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: object) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return self.folder / f"{self.base}.{name}.nbc"

    def _digest(self, key: object, code: bytes) -> bytes:
        versions = repr((__version__, numba.__version__, self.stamp, key))
        return hashlib.sha256(versions.encode() + code).digest()


class TemporaryLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """A folder among temporary files, for machines where the package and home are read-only."""

    def __init__(self, function: Callable[..., Any], source: str, folder: Path) -> None:
        # The names that numba's methods read.
        self._py_file = source
        self._lineno = function.__code__.co_firstlineno
        self._folder = folder / self.get_suitable_cache_subpath(source)

    def get_cache_path(self) -> str:
        """Return the folder for the kernels of one source folder."""
        return str(self._folder)

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> TemporaryLocator | None:
        """Return a locator; None where no safe folder can be had."""
        folder = private_folder()
        if folder is None:
            return None
        found = cls(function, source, folder)
        try:
            found.ensure_cache_path()
        except OSError:
            return None
        _tell(
            "No folder beside the package or at home can be written, so that compiled code is "
            f"kept in {folder}. NUMBA_CACHE_DIR names another."
        )
        return found


def _locators() -> list[Any]:
    """Return numba's locators, and ours after them."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~")
    # Where nobody knows the home, numba would make a folder named "~" in the current one.
    return [
        *(
            one
            for one in caching.CompileResultCacheImpl._locator_classes
            if os.path.isabs(home) or "UserWide" not in one.__name__
        ),
        TemporaryLocator,
    ]


class KernelCacheImpl(caching.CompileResultCacheImpl):
    """What numba keeps of a compiled function, with one more place to keep it."""

    _locator_classes = _locators()


class KernelCache(caching.FunctionCache):
    """The cache of one kernel.

    Raises
    ------
    RuntimeError
        No folder can be written (numba's own error).
    """

    _impl_class = KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = (self._impl.locator.get_source_stamp(), *_stamps_of_callees(function))
        base = self._impl.filename_base
        self._cache_file = KernelFiles(self.cache_path, base, stamp)  # type: ignore[assignment]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; where that fails, say so once and go on with what is compiled."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _tell(
                f"Compiled code cannot be kept in {self.cache_path} ({error.strerror}), so that "
                "the next run compiles it again."
            )


def _stamps_of_callees(function: Callable[..., Any]) -> list[tuple[str, int, int]]:
    """Return what changes with the sources of kernels that a kernel may call: it holds their code.

    These are the files that kernels known in its file are from, and so on. They are changed beside
    an unchanged one where somebody edits the package or follows its branch.
    """
    files: set[str] = set()
    left = [function]
    while left:
        one = left.pop()
        if one.__code__.co_filename not in files:
            files.add(one.__code__.co_filename)
            known = one.__globals__.values()
            left += [called.py_func for called in known if isinstance(called, Dispatcher)]
    return sorted(map(_stamp_of, files - {function.__code__.co_filename}))


@functools.cache
def _stamp_of(source: str) -> tuple[str, int, int]:
    """Return name, time and size of a source file; zeros where it is no file of its own."""
    try:
        found = os.stat(source)
    except OSError:
        return Path(source).name, 0, 0
    return Path(source).name, found.st_mtime_ns, found.st_size


@functools.cache
def private_folder() -> Path | None:
    """Return this user's own folder among temporary files; None where none is safe.

    Code is loaded from it and run, so nobody else may write there or put another folder in its
    place: it is no link, belongs to this user, is open to nobody else, and lies in a folder where
    others cannot rename it.
    """
    # Windows keeps temporary files of each user apart.
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        parent = Path(tempfile.gettempdir())
        folder = parent / ("comparity" if user is None else f"comparity-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        inner, outer = folder.lstat(), parent.stat()
    except OSError:
        return None
    if user is None:
        return folder
    shared = bool(outer.st_mode & 0o022) and not outer.st_mode & stat.S_ISVTX
    closed = stat.S_ISDIR(inner.st_mode) and not inner.st_mode & 0o077
    owned = inner.st_uid == user and outer.st_uid in (0, user)
    return folder if owned and closed and not shared else None


@functools.cache
def _tell(text: str) -> None:
    """Say something once; without handlers of one's own, logging prints it on stderr."""
    LOG.warning("comparity: %s", text)
