"""Where data files are on this machine, and how they get there.

A file is used only if its SHA-256 is the published one. Downloads go over https alone, stop at a
size that is known beforehand, and are renamed into place after their hash was checked. Nothing is
written outside the data folder.
"""

from __future__ import annotations

import hashlib
import os
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from comparity.datasets.registry import DataFile, Dataset
from comparity.errors import DataHashError, DatasetMissingError, DownloadError
from comparity.tables.outputs import replace_file

__all__ = ["data_folder", "download", "fetch", "is_here", "local_files"]

CHUNK = 2**16
SECONDS = 60


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
    """Say whether the data folder has the files of a data set, whatever is in them."""
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
    return tuple(_checked(_inside(home, one.path), one) for one in chosen)


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
    opened = opener or build_opener(_HttpsOnly())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(file.url, f"{target.parent} cannot be written: {error}") from error
    with replace_file(target) as part:
        with part.open("wb") as out:
            found = _copied(file.url, out, int(file.megabytes * 2**20), opened)
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


def _copied(url: str, out: IO[bytes], limit: int, opener: OpenerDirector) -> str:
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


def _checked(path: Path, file: DataFile) -> Path:
    with path.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != file.sha256:
        raise DataHashError(str(path), file.sha256, found)
    return path
