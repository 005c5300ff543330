"""Downloads: https only, capped, checked before use, inside the data folder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.message import Message
from http.client import IncompleteRead
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import Any
from urllib.error import URLError
from urllib.request import HTTPHandler, HTTPSHandler, Request, build_opener
from urllib.response import addinfourl
from zipfile import ZipFile

import pytest

from comparity.datasets.registry import (
    DATASETS,
    DataFile,
    Dataset,
    data_folder,
    dataset,
    download,
    fetch,
    is_here,
    local_files,
)
from comparity.errors import DataHashError, DatasetMissingError, DownloadError, UnknownDatasetError

CONTENT = b"a,b\n1,2\n"
FILE = DataFile(
    path="toy/toy.csv",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    url="https://example.org/toy.csv",
    megabytes=1,
)
TOY = replace(DATASETS["german"], name="toy", files=(FILE,))


Answer = tuple[int, dict[str, str], Any]


class Wire(HTTPSHandler):
    """Answers https without a network; all else of urllib, redirections too, is the real one."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[str] = []

    def https_open(self, req: Request) -> Any:
        self.asked.append(req.full_url)
        code, headers, body = self.answers[req.full_url]
        if isinstance(body, Exception):
            raise body
        told = Message()
        for name, value in headers.items():
            told[name] = value
        stream = io.BytesIO(body) if isinstance(body, bytes) else body
        answer = addinfourl(stream, told, req.full_url, code)
        answer.msg = "as told"  # type: ignore[attr-defined]
        return answer


class Unprotected(HTTPHandler):
    """Plain http must never be asked."""

    def http_open(self, req: Request) -> Any:
        raise AssertionError(f"asked {req.full_url} without protection")


class Endless(io.BytesIO):
    """A body without an end."""

    given = 0

    def read(self, size: int | None = -1) -> bytes:
        self.given += size or 0
        return b"x" * (size or 0)


class Broken(io.BytesIO):
    """A body that is cut short."""

    def read(self, size: int | None = -1) -> bytes:
        raise IncompleteRead(b"a,b", 5)


Serve = Callable[[Mapping[str, Answer]], Wire]


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Serve:
    def serve(answers: Mapping[str, Answer]) -> Wire:
        wire = Wire(answers)
        monkeypatch.setattr(
            "comparity.datasets.registry.build_opener",
            lambda *handlers: build_opener(wire, Unprotected(), *handlers),
        )
        return wire

    return serve


@pytest.fixture
def answering(serving: Serve) -> Callable[[Any], Wire]:
    return lambda body: serving({FILE.url: (200, {}, body)})


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
        (b"", DataHashError, FILE.sha256),
        (Broken(), DownloadError, "IncompleteRead"),
        (URLError("no route to host"), DownloadError, "no route"),
        (TimeoutError("timed out"), DownloadError, "timed out"),
        (SSLCertVerificationError("certificate verify failed"), DownloadError, "certificate"),
    ],
)
def test_what_is_wrong_is_refused_and_leaves_nothing_behind(
    tmp_path: Path, answering: Any, content: Any, error: type[Exception], said: str
) -> None:
    answering(content)
    with pytest.raises(error, match=said):
        fetch(TOY, tmp_path)
    assert left_over(tmp_path) == []


def test_an_endless_answer_is_cut_off_at_the_cap(tmp_path: Path, answering: Any) -> None:
    body = Endless()
    answering(body)
    with pytest.raises(DownloadError, match="more than 1,048,576 bytes"):
        fetch(TOY, tmp_path)
    assert body.given < 2**20 + 2**17
    assert left_over(tmp_path) == []


def test_the_cap_does_not_trust_the_length_that_is_announced(
    tmp_path: Path, serving: Serve
) -> None:
    serving({FILE.url: (200, {"Content-Length": "8"}, b"x" * (2**20 + 1))})
    with pytest.raises(DownloadError, match="more than"):
        fetch(TOY, tmp_path)


@pytest.mark.parametrize("url", ["http://example.org/toy.csv", "file:///etc/passwd", "ftp://a/b"])
def test_other_addresses_than_https_are_refused(tmp_path: Path, serving: Serve, url: str) -> None:
    wire = serving({})
    with pytest.raises(DownloadError, match="https"):
        download(replace(FILE, url=url), tmp_path / "toy.csv")
    assert wire.asked == []


@pytest.mark.parametrize("elsewhere", ["http://example.org/b", "file:///etc/passwd", "ftp://a/b"])
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirections_to_other_addresses_than_https_are_refused(
    tmp_path: Path, serving: Serve, code: int, elsewhere: str
) -> None:
    wire = serving({FILE.url: (code, {"Location": elsewhere}, b"")})
    with pytest.raises(DownloadError):
        fetch(TOY, tmp_path)
    assert wire.asked == [FILE.url]
    assert left_over(tmp_path) == []


def test_redirections_to_https_are_followed_but_not_for_ever(
    tmp_path: Path, serving: Serve
) -> None:
    mirror = "https://mirror.example.org/toy.csv"
    serving({FILE.url: (302, {"Location": mirror}, b""), mirror: (200, {}, CONTENT)})
    assert fetch(TOY, tmp_path)[0].read_bytes() == CONTENT
    serving({FILE.url: (302, {"Location": FILE.url}, b"")})
    with pytest.raises(DownloadError, match="infinite loop"):
        fetch(TOY, tmp_path / "other")


def test_a_missing_page_is_named(tmp_path: Path, serving: Serve) -> None:
    serving({FILE.url: (404, {}, b"")})
    with pytest.raises(DownloadError, match="as told"):
        fetch(TOY, tmp_path)


def test_an_archive_is_kept_as_it_is_and_never_unpacked(tmp_path: Path, answering: Any) -> None:
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("../../evil.csv", "1")
    content = packed.getvalue()
    file = replace(FILE, path="toy.zip", sha256=hashlib.sha256(content).hexdigest())
    answering(content)
    fetch(replace(TOY, files=(file,)), tmp_path / "a" / "b")
    assert left_over(tmp_path) == ["toy.zip"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, answering: Any) -> None:
    answering(CONTENT)
    (tmp_path / "toy").write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises(DownloadError, match="cannot be written"):
        fetch(TOY, tmp_path)


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


def test_the_folder_of_a_user_without_a_home_is_that_of_the_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("COMPARITY_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert data_folder() == Path("/home/someone/.cache/comparity")
    # What Python returns where neither HOME nor the list of users has one.
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert data_folder() == Path("/.cache/comparity")


def test_a_folder_that_cannot_be_looked_into_has_no_data(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 300)
    assert not is_here(TOY, folder)
    with pytest.raises(DatasetMissingError):
        local_files(TOY, folder)
