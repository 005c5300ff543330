"""A look at this machine: versions, extras, Java, data, and what is missing for what."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from comparity import __version__
from comparity.datasets.folders import data_folder, is_here
from comparity.datasets.registry import DATASETS
from comparity.installations import Installation, Lack, Package
from comparity.requirements import read_requirements

__all__ = ["inspect_installation"]

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
    datasets = tuple((name, is_here(one, data)) for name, one in DATASETS.items())
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


def _lacking_data(datasets: tuple[tuple[str, bool], ...], folder: str) -> Iterator[Lack]:
    missing = [name for name, here in datasets if not here]
    if missing:
        yield Lack(
            what=f"data sets {', '.join(missing)} in {folder}",
            needed_by="comparity data NAME, and reproductions with them",
            hint="comparity data NAME --fetch, or set COMPARITY_DATA",
        )
