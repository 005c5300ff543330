"""Bundles of evidence: results, policy, facts, versions and page in one file that can be checked.

A bundle is a ZIP archive without compression, whose members stand in one order and carry no time
and no path of a machine: the same results written again give the same bytes. ``manifest.json``
has the SHA-256 of every other member, ``SHA256SUMS`` the same for ``sha256sum --check``.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from comparity import __version__
from comparity.errors import BundleError, FileAccessError
from comparity.reports.sections import Grid, Section, clip, count, several
from comparity.results.result import Result
from comparity.tables.outputs import replace_file

FORMAT = "comparity bundle"
FORMAT_VERSION = 1
MANIFEST, SUMS, PAGE = "manifest.json", "SHA256SUMS", "page.html"
# Whose versions can change a number.
PACKAGES = ("duckdb", "narwhals", "numba", "numpy", "scikit-learn", "scipy")
# The first moment a ZIP archive can name; a bundle says nothing of when it was written.
NO_TIME = (1980, 1, 1, 0, 0, 0)
LARGEST = 2**28
UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledFile:
    """A member of a bundle.

    Attributes
    ----------
    name : str
    sha256 : str
    size : int
        In bytes.
    """

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle(Result):
    """What a bundle holds; every hash was compared with its member when this was read.

    Attributes
    ----------
    manifest_sha256 : str
        Hash of the list of hashes: whoever knows it can tell whether anything was changed.
    files : tuple of BundledFile
    versions : mapping of str to str
        Of this package, Python, and the packages that numbers rest on.
    data : mapping of str to str
        SHA-256 of the data that results were made from, by file name; data are not in a bundle.
    provenance : mapping
    """

    manifest_sha256: str
    files: tuple[BundledFile, ...]
    versions: Mapping[str, str]
    data: Mapping[str, str]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def section(self) -> Section:
        """Return the bundle as a section of a report."""
        made = ", ".join(f"{clip(name)} {clip(found)}" for name, found in self.versions.items())
        rows = [(clip(one.name), count(one.size), one.sha256) for one in self.files]
        data = [(clip(name), clip(digest)) for name, digest in self.data.items()]
        return Section(
            headline=f"Bundle: {several(len(self.files), 'file')}, every hash is as recorded",
            sentences=(
                f"SHA-256 of the manifest: {self.manifest_sha256}. Whoever can change files can "
                "also write a new manifest: compare this hash with the one you were told.",
                f"Made with {made}.",
            ),
            grids=(
                Grid(title="Files", header=("file", "bytes", "SHA-256"), rows=rows),
                *(
                    [Grid(title="Data, not in the bundle", header=("file", "SHA-256"), rows=data)]
                    if data
                    else []
                ),
            ),
        )


def write_bundle(
    path: str | Path,
    results: Mapping[str, bytes],
    *,
    page: str,
    extra: Mapping[str, bytes] | None = None,
    data: Mapping[str, str] | None = None,
) -> str:
    """Write a bundle, and return the SHA-256 of its manifest.

    Parameters
    ----------
    path : path
        Where to.
    results : mapping of str to bytes
        The JSON of each result, as ``--json`` printed it, by name.
    page : str
        The page.
    extra : mapping of str to bytes, optional
        Further members by file name, such as the policy and the facts.
    data : mapping of str to str, optional
        SHA-256 of the data, by file name.
    """
    members = {PAGE: page.encode(), **(extra or {})}
    for name, content in results.items():
        members[_free_name(f"results/{UNSAFE.sub('-', name)}", members)] = content
    hashes = {name: hashlib.sha256(members[name]).hexdigest() for name in sorted(members)}
    listed = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "files": [
            {"name": name, "sha256": digest, "size": len(members[name])}
            for name, digest in hashes.items()
        ],
        "data": dict(sorted((data or {}).items())),
    }
    manifest = (json.dumps(listed, indent=2, ensure_ascii=False) + "\n").encode()
    told = hashlib.sha256(manifest).hexdigest()
    sums = "".join(f"{digest}  {name}\n" for name, digest in [*hashes.items(), (MANIFEST, told)])
    with replace_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        for name, inside in [(MANIFEST, manifest), (SUMS, sums.encode()), *sorted(members.items())]:
            archive.writestr(_entry(name), inside)
    return told


def _free_name(name: str, taken: Mapping[str, bytes]) -> str:
    """Return a name of a member that is not taken yet, whatever the case of its letters."""
    used = {one.lower() for one in taken}
    tries = (f"{name}{'' if n == 1 else f'-{n}'}.json" for n in range(1, len(used) + 2))
    return next(one for one in tries if one.lower() not in used)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, NO_TIME)
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


def _versions() -> dict[str, str]:
    found = {"comparity": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def is_bundle(path: str | Path) -> bool:
    """Return whether a file is a ZIP archive."""
    try:
        return zipfile.is_zipfile(path)
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error


def read_bundle(path: str | Path) -> tuple[Bundle, dict[str, bytes]]:
    """Read a bundle, compare every hash, and return it with its members by name.

    Raises
    ------
    BundleError
        It is none of ours, was damaged, or a member was changed, added or taken away.
    """
    name = Path(path).name
    try:
        members = _read_members(path, name)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        # Damaged, encrypted, or compressed in a way that Python does not know.
        raise BundleError(name, [clip(str(error))]) from error
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    manifest = members.pop(MANIFEST, b"")
    bundle = _parse_manifest(manifest, name)
    wrong = _differences(bundle.files, members)
    if wrong:
        raise BundleError(name, wrong)
    return bundle, members


def _read_members(path: str | Path, name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        if len(set(names)) < len(names):
            raise BundleError(name, ["a file is in it twice"])
        if sum(entry.file_size for entry in entries) > LARGEST:
            raise BundleError(name, [f"more than {LARGEST:,} bytes"])
        return {entry.filename: archive.read(entry) for entry in entries}


def _parse_manifest(manifest: bytes, name: str) -> Bundle:
    try:
        content = json.loads(manifest)
        if content["format"] != FORMAT or content["format_version"] != FORMAT_VERSION:
            raise ValueError("another format")
        files = tuple(
            BundledFile(name=str(one["name"]), sha256=str(one["sha256"]), size=int(one["size"]))
            for one in content["files"]
        )
        versions, data = (
            {str(key): str(value) for key, value in content[part].items()}
            for part in ("versions", "data")
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError(name, [f"no {MANIFEST} of a bundle ({clip(str(error))})"]) from error
    digest = hashlib.sha256(manifest).hexdigest()
    return Bundle(manifest_sha256=digest, files=files, versions=versions, data=data)


def _differences(files: Sequence[BundledFile], members: Mapping[str, bytes]) -> list[str]:
    """Return what is not as the manifest says."""
    listed = {one.name: one.sha256 for one in files}
    found = {name: hashlib.sha256(inside).hexdigest() for name, inside in members.items()}
    return [
        *(f"{clip(name)} is missing" for name in listed if name not in found),
        *(
            f"{clip(name)} was changed"
            for name, digest in listed.items()
            if found.get(name, digest) != digest
        ),
        *(f"{clip(name)} was added" for name in found if name not in {*listed, SUMS}),
    ]


def data_hashes(contents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the SHA-256 of all data files that results name, by file name."""
    found: dict[str, str] = {}
    for content in contents:
        for one in _named_files(content):
            name, digest = str(one["name"]), str(one["sha256"])
            # Two files of one name are both listed.
            while found.get(name, digest) != digest:
                name += " (another)"
            found[name] = digest
    return found


def _named_files(content: Any) -> list[Mapping[str, str]]:
    """Return every record of a file in plain data, however deep."""
    if isinstance(content, list):
        return [one for part in content for one in _named_files(part)]
    if not isinstance(content, Mapping):
        return []
    own = [content] if {"name", "sha256"} <= set(content) else []
    return [*own, *(one for part in content.values() for one in _named_files(part))]
