"""What is installed here, and what is missing for what."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from comparity import __version__
from comparity.datasets.registry import DATASETS, data_folder, is_here
from comparity.errors.requirements import read_requirements
from comparity.errors.spelling import visible
from comparity.reports.sections import Grid, Section
from comparity.results.result import Result


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Something that is missing: what for, and what to do."""

    what: str
    needed_by: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation(Result):
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
    datasets : mapping of str to bool
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
    datasets: Mapping[str, bool]
    lacks: tuple[Lack, ...]

    DERIVED: ClassVar[Mapping[str, str]] = {"complete": "complete"}

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return section(self)

    @property
    def complete(self) -> bool:
        """Whether everything is there that is always needed."""
        required = [one.good for one in self.packages if not one.extra]
        return bool(required) and all(required)


# What the extras are for; those of the tests and benchmarks are for nobody else.
EXTRAS = {
    "spark": "audits of Spark frames",
    "text": "examples with texts",
    "torch": "training networks",
    "boosting": "training boosted trees",
    "docs": "building the site of the documentation",
    "web": "collecting judgments in a browser",
    "postgres": "collecting judgments in PostgreSQL",
}


ENGINES = ("pandas", "polars", "pyarrow")


USES = {"": "every command", "engine": "frames that you pass, and to_frame() of results"}


LEAST_JAVA = 17


SECONDS = 20


def inspect_installation(data: str | Path | None = None) -> Installation:
    """Look what is installed here, and what is missing for what.

    Parameters
    ----------
    data : path, optional
        The data folder; ``COMPARITY_DATA``, or a cache, by default.

    Returns
    -------
    Installation
        Nothing is installed, downloaded or changed.

    Examples
    --------
    >>> inspect_installation().complete
    True
    """
    packages = tuple(_packages())
    java = _java()
    datasets = {name: is_here(one, data) for name, one in DATASETS.items()}
    folder = str(data_folder(data))
    lacks = [*_lacking_packages(packages), *_lacking_engine(packages), *_lacking_java(java)]
    return Installation(
        comparity=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        packages=packages,
        java=java,
        data_folder=folder,
        datasets=datasets,
        lacks=(*lacks, *_lacking_data(datasets, folder)),
    )


def _packages() -> Iterator[Package]:
    """Yield what the package's own metadata ask for, the engines of results among it."""
    for one in read_requirements():
        if not one.extra or one.extra in EXTRAS or one.extra in ENGINES:
            yield Package(
                name=one.name,
                version=one.installed,
                least=one.least,
                extra="engine" if one.extra in ENGINES else one.extra,
                good=one.is_met,
            )


def _java() -> str:
    """Return the first line Java says of itself; Spark looks at JAVA_HOME first."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next(iter((done.stderr or done.stdout).splitlines()), "")


def _lacking_packages(packages: tuple[Package, ...]) -> Iterator[Lack]:
    for one in packages:
        # One engine is enough, and those that are not there do no harm.
        if one.good or (one.extra == "engine" and not one.version):
            continue
        found = f"{one.name} {one.version or 'is not installed'}"
        wanted = f"{found}, at least {one.least} is needed" if one.version else found
        needed_by = USES.get(one.extra) or EXTRAS[one.extra]
        bound = f">={one.least}" if one.least else ""
        yield Lack(what=wanted, needed_by=needed_by, hint=f"pip install '{one.name}{bound}'")


def _lacking_engine(packages: tuple[Package, ...]) -> Iterator[Lack]:
    if not any(one.good for one in packages if one.extra == "engine"):
        hint = f"pip install {' or '.join(ENGINES)}"
        yield Lack(what="no frame engine", needed_by="to_frame() of results", hint=hint)


def _lacking_java(java: str) -> Iterator[Lack]:
    version = re.search(r'"(?:1\.)?(\d+)', java)
    if version is None or int(version[1]) < LEAST_JAVA:
        what = f"Java {LEAST_JAVA} or newer" + (f" (found: {java})" if java else "")
        yield Lack(what=what, needed_by=EXTRAS["spark"], hint="install a JDK, or set JAVA_HOME")


def _lacking_data(datasets: Mapping[str, bool], folder: str) -> Iterator[Lack]:
    missing = [name for name, here in datasets.items() if not here]
    if missing:
        yield Lack(
            what=f"data sets {', '.join(missing)} in {folder}",
            needed_by="comparity data NAME, and reproductions with them",
            hint="comparity data NAME --fetch, or set COMPARITY_DATA",
        )


def section(result: Installation) -> Section:
    """Return what is shown of an installation."""
    here = [name for name, found in result.datasets.items() if found]
    state = f"{'nothing' if result.complete else 'something'} required is missing"
    return Section(
        headline=f"comparity {result.comparity}: {state}",
        sentences=(
            f"Python {visible(result.python)} on {visible(result.system)}; "
            f"Java: {visible(result.java) or 'none'}.",
            f"{len(here)} of {len(result.datasets)} published data sets in "
            f"{visible(result.data_folder)}{': ' if here else ''}{', '.join(here)}.",
        ),
        kind="inside" if result.complete else "found",
        grids=(
            Grid(
                title="Packages",
                header=("package", "installed", "at least", "asked for by", ""),
                rows=tuple(map(_row, result.packages)),
            ),
            Grid(
                title="What is missing, and for what",
                header=("missing", "needed by", "what to do"),
                rows=tuple(
                    (visible(one.what), visible(one.needed_by), visible(one.hint))
                    for one in result.lacks
                ),
            ),
        )[: 2 if result.lacks else 1],
    )


def _row(one: Package) -> tuple[str, ...]:
    asked = {"": "every command", "engine": "to_frame()"}.get(one.extra, f"[{one.extra}]")
    return one.name, visible(one.version) or "none", one.least, asked, "ok" if one.good else "no"
