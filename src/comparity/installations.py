"""What is installed here, and what is missing for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from comparity.showing import Shown

__all__ = ["Installation", "Lack", "Package"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package that is used, if it is there.

    Attributes
    ----------
    name : str
        Its name on the index.
    version : str
        What is installed; empty where nothing is.
    least : str
        The least version that will do; empty where any will.
    extra : str
        The extra that asks for it; empty where it is always needed.
    good : bool
        Whether it is there and recent enough.
    """

    name: str
    version: str
    least: str
    extra: str
    good: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the package as plain data."""
        names = ("name", "version", "least", "extra", "good")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Something that is missing: what for, and what to do."""

    what: str
    needed_by: str
    hint: str

    def to_dict(self) -> dict[str, str]:
        """Return the lack as plain data."""
        return {"what": self.what, "needed_by": self.needed_by, "hint": self.hint}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation(Shown):
    """A machine, as far as comparity cares.

    Attributes
    ----------
    comparity, python, system : str
        Versions, and the operating system.
    packages : tuple of Package
        Required ones first, then those of extras.
    java : str
        What ``java -version`` says first; empty where there is no Java.
    data_folder : str
        Where published data sets are looked for.
    datasets : tuple of (str, bool)
        Name of each, and whether its files are there.
    lacks : tuple of Lack
        What is missing, and for what.
    """

    comparity: str
    python: str
    system: str
    packages: tuple[Package, ...]
    java: str
    data_folder: str
    datasets: tuple[tuple[str, bool], ...]
    lacks: tuple[Lack, ...]

    @property
    def complete(self) -> bool:
        """Whether everything is there that is always needed."""
        required = [one.good for one in self.packages if not one.extra]
        return bool(required) and all(required)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        return {
            "comparity": self.comparity,
            "python": self.python,
            "system": self.system,
            "complete": self.complete,
            "packages": [one.to_dict() for one in self.packages],
            "java": self.java,
            "data_folder": self.data_folder,
            "datasets": dict(self.datasets),
            "lacks": [one.to_dict() for one in self.lacks],
            "provenance": {"comparity": self.comparity},
        }
