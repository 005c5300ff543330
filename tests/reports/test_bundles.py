"""Bundles: the same bytes every time, and every change is seen."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from comparity.errors import BundleError, FileAccessError
from comparity.reports.bundles import Bundle, data_hashes, is_bundle, read_bundle, write_bundle

RESULTS = {"audit": b'{"a": 1}', "../up": b"{}", "Audit": b"[]"}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "audit.zip"
    extra = {"policy.toml": b"name = 'x'"}
    write_bundle(path, RESULTS, page="<p>", extra=extra, data={"d.csv": "0" * 64})
    return path


def test_the_same_content_gives_the_same_bytes_in_any_folder(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "deep" / "other.zip"
    other.parent.mkdir()
    write_bundle(
        other,
        RESULTS,
        page="<p>",
        extra={"policy.toml": b"name = 'x'"},
        data={"d.csv": "0" * 64},
    )
    assert other.read_bytes() == bundle.read_bytes()
    assert str(tmp_path).encode() not in bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def test_members_stay_inside_and_keep_apart_whatever_results_are_called(bundle: Path) -> None:
    _, members = read_bundle(bundle)
    assert sorted(members) == [
        "SHA256SUMS",
        "page.html",
        "policy.toml",
        "results/..-up.json",
        "results/Audit-2.json",
        "results/audit.json",
    ]


def test_other_tools_can_check_the_hashes_too(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count(": OK")) == (0, 6)


def test_a_bundle_says_what_it_holds(bundle: Path) -> None:
    found, members = read_bundle(bundle)
    hashes = {one.name: one.sha256 for one in found.files}
    assert hashes["page.html"] == hashlib.sha256(members["page.html"]).hexdigest()
    assert found.data == {"d.csv": "0" * 64}
    assert {"comparity", "python", "numpy"} <= set(found.versions)
    assert found.manifest_sha256 in str(found).replace("\n", "")
    assert Bundle.from_dict(found.to_dict()) == found


Change = Callable[[dict[str, bytes]], None]


def rewritten(path: Path, change: Change) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def forge(members: dict[str, bytes]) -> None:
    members["manifest.json"] = members["manifest.json"].replace(b"comparity bundle", b"x")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update({"page.html": b"<q>"}), "page.html was changed"),
        (lambda m: m.pop("policy.toml"), "policy.toml is missing"),
        (lambda m: m.update({"more.txt": b""}), "more.txt was added"),
        (lambda m: m.pop("manifest.json"), "no manifest.json of a bundle"),
        (lambda m: m.update({"manifest.json": b"[" * 100_000}), "no manifest.json of a bundle"),
        (forge, "another format"),
    ],
)
def test_what_was_changed_is_named(bundle: Path, change: Change, said: str) -> None:
    with pytest.raises(BundleError, match=said):
        read_bundle(rewritten(bundle, change))


def test_damaged_doubled_and_absent_files_are_errors(bundle: Path, tmp_path: Path) -> None:
    content = bytearray(bundle.read_bytes())
    content[content.index(b"<p>") + 1] ^= 1
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(content)
    with pytest.raises(BundleError, match=r"Bad CRC|page\.html was changed"):
        read_bundle(damaged)
    doubled = io.BytesIO(bundle.read_bytes())
    with zipfile.ZipFile(doubled, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("page.html", "<p>")
    damaged.write_bytes(doubled.getvalue())
    with pytest.raises(BundleError, match="twice"):
        read_bundle(damaged)
    assert not is_bundle(Path(__file__))
    with pytest.raises(FileAccessError):
        read_bundle(tmp_path / "none.zip")


def test_hashes_of_data_are_found_however_deep_and_none_hides_another() -> None:
    one, two = ({"name": "d.csv", "sha256": digit * 64} for digit in "12")
    contents = [{"a": {"files": [one, one]}}, {"raw": {"provenance": {"files": [two]}}}]
    assert data_hashes(json.loads(json.dumps(contents))) == {
        "d.csv": "1" * 64,
        "d.csv (another)": "2" * 64,
    }
