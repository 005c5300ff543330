"""Downloads: https only, capped, checked before use, inside the data folder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import OpenerDirector, Request

import pytest

from comparity.datasets.folders import (
    _HttpsOnly,
    data_folder,
    download,
    fetch,
    is_here,
    local_files,
)
from comparity.datasets.registry import DATASETS, DataFile, Dataset, dataset
from comparity.errors import (
    DataHashError,
    DatasetMissingError,
    DownloadError,
    UnknownDatasetError,
)

CONTENT = b"a,b\n1,2\n"
FILE = DataFile(
    path="toy/toy.csv",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    url="https://example.org/toy.csv",
    megabytes=1,
)
TOY = replace(DATASETS["german"], name="toy", files=(FILE,))


class Answers(OpenerDirector):
    """Opens every address with the same bytes."""

    def __init__(self, content: bytes | Exception) -> None:
        super().__init__()
        self.content = content

    def open(self, fullurl: Any, data: Any = None, timeout: Any = None) -> Any:
        if isinstance(self.content, Exception):
            raise self.content
        return io.BytesIO(self.content)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes | Exception], None]:
    def answer(content: bytes | Exception) -> None:
        monkeypatch.setattr(
            "comparity.datasets.folders.build_opener", lambda *handlers: Answers(content)
        )

    return answer


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_a_download_is_checked_and_put_in_its_place(tmp_path: Path, answering: Any) -> None:
    answering(CONTENT)
    assert not is_here(TOY, tmp_path)
    (path,) = fetch(TOY, tmp_path)
    assert path == tmp_path / "toy" / "toy.csv"
    assert path.read_bytes() == CONTENT
    answering(b"something else")
    assert fetch(TOY, tmp_path) == (path,)


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (b"a,b\n6,6\n", DataHashError, FILE.sha256),
        (b"x" * (2**20 + 1), DownloadError, "1,048,576 bytes"),
        (URLError("no route to host"), DownloadError, "no route"),
        (TimeoutError("timed out"), DownloadError, "timed out"),
    ],
)
def test_what_is_wrong_is_refused_and_leaves_nothing_behind(
    tmp_path: Path, answering: Any, content: bytes | Exception, error: type[Exception], said: str
) -> None:
    answering(content)
    with pytest.raises(error, match=said):
        fetch(TOY, tmp_path)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("url", ["http://example.org/toy.csv", "file:///etc/passwd", "ftp://a/b"])
def test_other_addresses_than_https_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="https"):
        download(replace(FILE, url=url), tmp_path / "toy.csv", Answers(CONTENT))


def test_redirections_to_other_addresses_than_https_are_refused() -> None:
    asked = Request("https://example.org/a")
    with pytest.raises(DownloadError, match="https"):
        _HttpsOnly().redirect_request(asked, io.BytesIO(), 302, "Found", {}, "http://example.org/b")
    followed = _HttpsOnly().redirect_request(
        asked, io.BytesIO(), 302, "Found", {}, "https://example.org/b"
    )
    assert followed is not None


@pytest.mark.parametrize("path", ["../outside.csv", "toy/../../outside.csv", "/tmp/outside.csv"])
def test_nothing_is_written_outside_the_data_folder(
    tmp_path: Path, answering: Any, path: str
) -> None:
    answering(CONTENT)
    folder = tmp_path / "data"
    with pytest.raises(DownloadError, match="outside the data folder"):
        fetch(replace(TOY, files=(replace(FILE, path=path),)), folder)
    assert left_over(tmp_path) == []


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path, answering: Any) -> None:
    answering(CONTENT)
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data" / "toy").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DownloadError, match="outside"):
        fetch(TOY, tmp_path / "data")
    assert left_over(tmp_path / "elsewhere") == []


def test_a_file_that_was_changed_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.csv").write_bytes(b"changed")
    with pytest.raises(DataHashError, match="SHA-256"):
        local_files(TOY, tmp_path)


def test_a_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="comparity data toy --fetch"):
        local_files(TOY, tmp_path)


def test_a_data_set_without_an_address_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="no address"):
        fetch(DATASETS["law_school_full"], tmp_path)


def test_the_folder_is_the_given_one_or_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPARITY_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder("here") == Path("here")
    monkeypatch.delenv("COMPARITY_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert data_folder() == Path("/cache/comparity")


@pytest.mark.parametrize("entry", DATASETS.values(), ids=lambda one: one.name)
def test_every_entry_has_home_licence_hash_and_only_https_addresses(entry: Dataset) -> None:
    assert entry.home.startswith("https://")
    assert entry.licence
    assert entry.preparations
    for file in entry.files:
        assert len(file.sha256) == 64
        assert not file.url or file.url.startswith("https://")
        assert not Path(file.path).is_absolute()


def test_an_unknown_data_set_is_named() -> None:
    with pytest.raises(UnknownDatasetError, match="adlut"):
        dataset("adlut")
