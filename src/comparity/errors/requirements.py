"""What comparity needs of other packages, as its own metadata say, and whether it is there.

The bounds stand in ``pyproject.toml`` alone; installing writes them into the metadata.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib import metadata

from comparity.errors.files import UnmetRequirementError


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A package that is needed, always or for an extra.

    Attributes
    ----------
    name : str
        Its name on the index.
    least : str
        The oldest version that will do; empty where any will.
    extra : str
        The extra that asks for it; empty where it is always needed.
    """

    name: str
    least: str
    extra: str

    @property
    def installed(self) -> str:
        """The version that is installed; empty where none is."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return ""

    @property
    def is_met(self) -> bool:
        """Whether it is installed and recent enough."""
        version = self.installed
        return bool(version) and _numbers(version) >= _numbers(self.least)

    def __str__(self) -> str:
        return f"{self.name}>={self.least}" if self.least else self.name


def read_requirements() -> tuple[Requirement, ...]:
    """Return the requirements of the installed package; none where it runs uninstalled.

    Examples
    --------
    >>> [one.extra for one in read_requirements() if one.name == "lightgbm"]
    ['boosting', 'test']
    """
    try:
        lines = metadata.requires("comparity") or []
    except metadata.PackageNotFoundError:
        return ()
    return tuple(map(_parse, lines))


@functools.cache
def check_requirements(extra: str = "") -> None:
    """Raise where a package is missing or too old for every command, or for an extra.

    Only metadata are read: no package is imported.

    Raises
    ------
    UnmetRequirementError
        Some are missing or too old.

    Examples
    --------
    >>> check_requirements()
    """
    unmet = [one for one in read_requirements() if one.extra == extra and not one.is_met]
    if unmet:
        raise UnmetRequirementError({str(one): one.installed for one in unmet}, extra)


def _parse(line: str) -> Requirement:
    """Read a line of the metadata, such as ``pyspark>=4; extra == 'spark'``."""
    name = re.match(r"[\w.-]+", line)
    assert name is not None, line
    least = re.search(r">=\s*([\d.]+)", line)
    extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", line)
    return Requirement(
        name=name[0], least=least[1] if least else "", extra=extra[1] if extra else ""
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, without zeros at the end: 1.5 is 1.5.0."""
    found = re.match(r"[\d.]*\d", version)
    numbers = [int(one) for one in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
