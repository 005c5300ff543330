"""Data sets the papers use: home, licence, hash and shape. No data file is part of this package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from comparity.errors import UnknownDatasetError

__all__ = ["DATASETS", "DataFile", "Dataset", "dataset"]

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
RAW = "https://raw.githubusercontent.com"
FAIR_ENOUGH = f"{RAW}/Repoanonymous/Fairness_Metrics/36a2817018a520ac94ea515e43fab62430e0e532/data"
CC_BY = "CC BY 4.0"


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

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "home": self.home,
            "licence": self.licence,
            "shape": list(self.shape),
            "preparations": list(self.preparations),
            "about": self.about,
            "files": [
                {"path": one.path, "sha256": one.sha256, "url": one.url or None}
                for one in self.files
            ],
        }


ENTRIES = (
    Dataset(
        name="adult",
        title="Adult, census income",
        home="https://archive.ics.uci.edu/dataset/2",
        licence=CC_BY,
        files=(
            DataFile(
                path="adult/adult.data",
                sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                url=f"{UCI}/adult/adult.data",
            ),
        ),
        shape=(32561, 15),
        preparations=("fair-enough",),
        about="sex, race; label: income above 50,000. '?' marks missing values.",
    ),
    Dataset(
        name="compas",
        title="COMPAS, two-year recidivism",
        home="https://github.com/propublica/compas-analysis",
        licence="none stated (public records)",
        files=(
            DataFile(
                path="compas/compas_no_names.csv",
                sha256="7d2c3dae708f9e9385db7bbb03962ad6349eb414313a59727a731a5f9ebdc35f",
            ),
            DataFile(
                path="compas/compas-scores-two-years.csv",
                sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
                url=f"{RAW}/propublica/compas-analysis/master/compas-scores-two-years.csv",
            ),
        ),
        shape=(7214, 12),
        preparations=("fair-enough", "comparative-separation"),
        about="sex, race; label: reoffended (fair-enough) or did not (comparative-separation). "
        "The published file holds names; they are never read.",
        any_file=True,
    ),
    Dataset(
        name="german",
        title="German credit (Statlog)",
        home="https://archive.ics.uci.edu/dataset/144",
        licence=CC_BY,
        files=(
            DataFile(
                path="german/german.data",
                sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
                url=f"{UCI}/statlog/german/german.data",
            ),
        ),
        shape=(1000, 21),
        preparations=("fair-enough", "comparative-separation"),
        about="sex, age (from 25 on, or above 25); label: good credit.",
    ),
    Dataset(
        name="bank",
        title="Bank marketing, balanced cut",
        home="https://archive.ics.uci.edu/dataset/222",
        licence=CC_BY,
        files=(
            DataFile(
                path="bank/bank.csv",
                sha256="f3cbd99a3602d6f4f247f403f01333dc16fe3da771b244ecc8713d512e0c2353",
                url=f"{FAIR_ENOUGH}/bank.csv",
            ),
        ),
        shape=(11162, 17),
        preparations=("fair-enough",),
        about="age from 30 on; label: subscribed. 11,162 rows, not the 45,211 of UCI.",
    ),
    Dataset(
        name="heart",
        title="Heart disease (Cleveland)",
        home="https://archive.ics.uci.edu/dataset/45",
        licence=CC_BY,
        files=(
            DataFile(
                path="heart/processed.cleveland.data.csv",
                sha256="9fe59777619b0914d1a85e02ed53261d4c3b739b96fa6891806d7e25351e9084",
                url=f"{FAIR_ENOUGH}/processed.cleveland.data.csv",
            ),
        ),
        shape=(297, 14),
        preparations=("fair-enough",),
        about="sex; label: any disease. The 6 incomplete rows of the 303 are gone already.",
    ),
    Dataset(
        name="student",
        title="Student performance",
        home="https://archive.ics.uci.edu/dataset/320",
        licence=CC_BY,
        files=(
            DataFile(
                path="student/Student.csv",
                sha256="9e2461aa1ae44cc0e90bd9b4475fa7664b0d0ddbd7401975820cf577c5fe964b",
                url=f"{FAIR_ENOUGH}/Student.csv",
            ),
        ),
        shape=(1044, 33),
        preparations=("fair-enough",),
        about="sex; label: final grade above 12. Two courses stacked: pupils may occur twice.",
    ),
    Dataset(
        name="titanic",
        title="Titanic, training part of Kaggle",
        home="https://www.kaggle.com/c/titanic",
        licence="Kaggle competition data",
        files=(
            DataFile(
                path="titanic/Titanic.csv",
                sha256="541afe9455148e6e62c8e3f5e535b834c53e005c5a0e3e5a9b6975d354439c96",
                url=f"{FAIR_ENOUGH}/Titanic.csv",
            ),
        ),
        shape=(891, 12),
        preparations=("fair-enough",),
        about="sex; label: survived. Holds names, which are not read; missing ages become 0.",
    ),
    Dataset(
        name="law_school",
        title="Law School, LSAC bar passage study",
        home="https://github.com/Ambress92/Bias-Aware-Ranker-from-Pairwise-comparisons",
        licence="none stated (LSAC research data)",
        files=(
            DataFile(
                path="law_school/law_data.csv",
                sha256="dcd5e92ef17e1cf9fe9432d82cf87c3f6fe31cdad3f232a7f649535a26490b9b",
                url=f"{RAW}/mkusner/counterfactual-fairness/master/law_data.csv",
            ),
        ),
        shape=(21791, 9),
        preparations=("barp",),
        about="sex, race; label: first-year grade. The cut of Kusner et al.",
    ),
    Dataset(
        name="law_school_full",
        title="Law School, fuller cut",
        home="https://github.com/hil-se/FairReweighing",
        licence="none stated (LSAC research data)",
        files=(
            DataFile(
                path="law_school/lawschool.csv",
                sha256="d3c2d05ad66512ce42f2006dc2c5e36a65268539fc7bf971700c8780fa129e30",
            ),
        ),
        shape=(27478, 11),
        preparations=("pairwise-fairness",),
        about="gender; label: undergraduate grade. Rows without either are left out: 27,234 stay.",
    ),
    Dataset(
        name="communities_crime",
        title="Communities and Crime",
        home="https://archive.ics.uci.edu/dataset/183",
        licence=CC_BY,
        files=(
            DataFile(
                path="communities_crime/communities.data",
                sha256="d90d85bd66bad9a00fa0ed6c15ac017b5966d528e55ba2940ad028d071353f95",
                url=f"{UCI}/communities/communities.data",
            ),
        ),
        shape=(1994, 128),
        preparations=("pairwise-fairness",),
        about="share of black inhabitants, a number; label: violent crimes by population.",
    ),
)

DATASETS: Mapping[str, Dataset] = MappingProxyType({one.name: one for one in ENTRIES})
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
