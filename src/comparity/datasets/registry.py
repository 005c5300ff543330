"""Data sets the papers use, where their files are on this machine, and how they get there.

What is known of each is in ``published.toml``; no data file is part of this package. A file is used
only if its SHA-256 is the published one. Downloads go over https alone, stop at a size that is
known beforehand, and are renamed into place after their hash was checked. Nothing is written
outside the data folder.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from comparity.errors import (
    DataHashError,
    DatasetMissingError,
    DownloadError,
    UnknownDatasetError,
)
from comparity.results.plain import from_plain
from comparity.tables.outputs import replace_file

CHUNK = 2**16
SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Place in the data folder.
    sha256 : str
        Hash of the file as published.
    url : str
        Where it is downloaded from; empty for files that are derived from others.
    megabytes : float
        Download at most so much.
    """

    path: str
    sha256: str
    url: str = ""
    megabytes: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What is known of a data set before it is read.

    Attributes
    ----------
    name, title : str
        Name in commands, and what it is called elsewhere.
    home, licence : str
        Where it comes from, and on what terms.
    files : tuple of DataFile
        Any one of them will do where they are alternatives, see `any_file`.
    shape : tuple of int
        Rows and columns of the first file.
    preparations : tuple of str
        How papers prepare it, by name; the first is the default.
    about : str
        Sensitive attributes, label and traps.
    any_file : bool
        Whether the files are alternatives of each other.
    """

    name: str
    title: str
    home: str
    licence: str
    files: tuple[DataFile, ...]
    shape: tuple[int, int]
    preparations: tuple[str, ...]
    about: str
    any_file: bool = False


def _read_entries() -> dict[str, Dataset]:
    """Read what is known of every data set from ``published.toml``."""
    text = Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
    known = tomllib.loads(text)
    return {name: from_plain(Dataset, {"name": name, **facts}) for name, facts in known.items()}


DATASETS: Mapping[str, Dataset] = MappingProxyType(_read_entries())
"""All data sets by name."""


def dataset(name: str) -> Dataset:
    """Find a data set by name.

    Examples
    --------
    >>> dataset("german").shape
    (1000, 21)
    """
    if name not in DATASETS:
        raise UnknownDatasetError("data set", name, list(DATASETS))
    return DATASETS[name]


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the data folder: as given, or ``COMPARITY_DATA``, or one of the user's cache."""
    if folder is not None:
        return Path(folder)
    if os.environ.get("COMPARITY_DATA"):
        return Path(os.environ["COMPARITY_DATA"])
    # "/" stands for the home of a user whom nobody knows, as it does in containers.
    home = os.path.expanduser("~").removeprefix("~")
    cache = os.environ.get("XDG_CACHE_HOME") or Path("/", home, ".cache")
    return Path(cache) / "comparity"


def is_here(entry: Dataset, folder: str | Path | None = None) -> bool:
    """Return whether the data folder has the files of a data set, whatever is in them."""
    # A folder that cannot be looked into, or whose name is too long, has no files for us.
    found = [os.path.isfile(data_folder(folder) / one.path) for one in entry.files]
    return any(found) if entry.any_file else all(found)


def local_files(entry: Dataset, folder: str | Path | None = None) -> tuple[Path, ...]:
    """Return the files of a data set after checking their hashes.

    Raises
    ------
    DatasetMissingError
        A file is not there.
    DataHashError
        A file is not the published one.
    """
    home = data_folder(folder)
    if not is_here(entry, home):
        raise DatasetMissingError(entry.name, [str(home / f.path) for f in entry.files], entry.home)
    present = [one for one in entry.files if (home / one.path).is_file()]
    chosen = present[:1] if entry.any_file else present
    return tuple(_check_hash(_inside(home, one.path), one) for one in chosen)


def fetch(entry: Dataset, folder: str | Path | None = None) -> tuple[Path, ...]:
    """Download what is missing of a data set, and return its files.

    Raises
    ------
    DownloadError
        An address is not https, the answer is too large, or there is none.
    DataHashError
        What came is not the published file; it is not kept.
    """
    home = data_folder(folder)
    if not is_here(entry, home):
        wanted = [one for one in entry.files if one.url]
        if not wanted:
            raise DownloadError(entry.home, "no address of the file itself is known")
        for one in wanted:
            target = _inside(home, one.path)
            if not target.is_file():
                download(one, target)
    return local_files(entry, home)


def download(file: DataFile, target: Path, opener: OpenerDirector | None = None) -> None:
    """Download one file, check it, and put it in its place.

    Parameters
    ----------
    file : DataFile
        Address, hash and the largest size.
    target : path
        Where it goes.
    opener : urllib.request.OpenerDirector, optional
        Opens addresses; one that follows redirections to https only by default.
    """
    _check_https(file.url)
    connection = opener or build_opener(_HttpsOnly())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(file.url, f"{target.parent} cannot be written: {error}") from error
    with replace_file(target) as part:
        with part.open("wb") as out:
            found = _copy_answer(file.url, out, int(file.megabytes * 2**20), connection)
        if found != file.sha256:
            raise DataHashError(file.url, file.sha256, found)


class _HttpsOnly(HTTPRedirectHandler):
    """Follow redirections, but to https only."""

    def redirect_request(self, *arguments: Any, **more: Any) -> Request | None:
        """Check the address before it is asked."""
        request = super().redirect_request(*arguments, **more)
        if request is not None:
            _check_https(request.full_url)
        return request


def _check_https(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise DownloadError(url, "an address that does not begin with https://")


def _copy_answer(url: str, out: IO[bytes], limit: int, opener: OpenerDirector) -> str:
    """Copy an answer and return its hash; more than `limit` bytes are refused."""
    digest, size = hashlib.sha256(), 0
    try:
        with opener.open(Request(url), timeout=SECONDS) as answer:
            while chunk := answer.read(CHUNK):
                size += len(chunk)
                if size > limit:
                    raise DownloadError(url, f"more than {limit:,} bytes")
                digest.update(chunk)
                out.write(chunk)
    except DownloadError:
        raise
    except (OSError, HTTPException) as error:
        # Of both there are many kinds: no route, a bad certificate, an answer cut short.
        raise DownloadError(url, str(getattr(error, "reason", error))) from error
    return digest.hexdigest()


def _inside(home: Path, path: str) -> Path:
    """Return a place in the data folder; one that leads out of it is refused."""
    target = home / path
    if not target.resolve().is_relative_to(home.resolve()):
        raise DownloadError(path, f"a place outside the data folder {home}")
    return target


def _check_hash(path: Path, file: DataFile) -> Path:
    with path.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != file.sha256:
        raise DataHashError(str(path), file.sha256, found)
    return path
