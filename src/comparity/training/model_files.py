"""Scores as files that anybody can read: JSON, and nothing that runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import FileAccessError, ModelFileError, ModelVersionError
from comparity.tables.outputs import write_text
from comparity.training.saved_models import (
    FORMATS,
    SavedScorer,
    content_of,
    feature_table,
    finite_scores,
    mixture_of,
    numbers_of,
    scorer_of,
)

__all__ = ["FORMAT", "LinearScorer", "SavedScorer", "read_model", "write_model"]

Floats = NDArray[np.float64]

FORMAT, VERSION = "comparity linear scorer", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearScorer:
    """A linear score of named features, and the mixture it was chosen beside.

    Attributes
    ----------
    features : tuple of str
        Names of the columns, in the order of the coefficients.
    coefficients : tuple of float
        Of the best single model.
    intercept : float
        Of the same.
    members : tuple of (tuple of float, float, float)
        Coefficients, intercept and probability of each member of the mixture; may be empty.
    about : mapping
        How the model came about: plain data.
    """

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float = 0.0
    members: tuple[tuple[tuple[float, ...], float, float], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, columns: Any) -> Floats:
        """Return the scores of the best single model.

        Parameters
        ----------
        columns : mapping of str to array-like, or frame of any engine
            A column for each feature; others are not looked at.

        Examples
        --------
        >>> model = LinearScorer(features=("a", "b"), coefficients=(1.0, -2.0), intercept=0.5)
        >>> model.scores({"b": [1.0, 0.0], "a": [3.0, 4.0]}).tolist()
        [1.5, 4.5]
        """
        slopes, base = np.array(self.coefficients), self.intercept
        table = feature_table(self.features, columns)
        return finite_scores(lambda rows: rows @ slopes + base, table)


def write_model(path: str | Path, model: LinearScorer | SavedScorer) -> None:
    """Write a model as JSON; numbers are read back exactly as they were.

    Raises
    ------
    FileAccessError
        The file cannot be written; one that was there is as it was.
    """
    content = {
        "format": FORMATS[model.kind] if isinstance(model, SavedScorer) else FORMAT,
        "format_version": VERSION,
        "features": list(model.features),
        **(content_of(model) if isinstance(model, SavedScorer) else _linear_content(model)),
        "about": dict(model.about),
    }
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def _linear_content(model: LinearScorer) -> dict[str, Any]:
    return {
        "coefficients": list(model.coefficients),
        "intercept": model.intercept,
        "mixture": [
            {"coefficients": list(slope), "intercept": base, "probability": share}
            for slope, base, share in model.members
        ],
    }


def read_model(path: str | Path) -> LinearScorer | SavedScorer:
    """Read a model file and check all of it. Nothing in a file is ever run.

    What is read scores without torch and without LightGBM.

    Raises
    ------
    FileAccessError
        There is no such file.
    ModelFileError
        It is no model file, or a part of it is missing or of another kind.
    ModelVersionError
        It is in another version of the format.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(path, f"no JSON: {error}") from error
    kinds = {FORMAT: "linear", **{name: kind for kind, name in FORMATS.items()}}
    if not isinstance(content, dict) or content.get("format") not in list(kinds):
        raise ModelFileError(path, f"no field 'format' that says {' or '.join(map(repr, kinds))}")
    version = content.get("format_version")
    # True equals 1, and is no version.
    if type(version) is not int or version != VERSION:
        raise ModelVersionError(path, version, VERSION)
    features: Any = content.get("features")
    about = content.get("about", {})
    if not _are_names(features) or not isinstance(about, dict):
        raise ModelFileError(path, "'features' is no list of different names, or 'about' no object")
    if kinds[content["format"]] != "linear":
        saved = scorer_of(path, kinds[content["format"]], tuple(features), content)
        return replace(saved, about=about)
    return _linear(path, tuple(features), content, about)


def _linear(
    path: str | Path, features: tuple[str, ...], content: dict[str, Any], about: Mapping[str, Any]
) -> LinearScorer:
    mixture, shares = mixture_of(path, content)
    slopes, bases = [], []
    for part in (content, *mixture):
        slopes.append(numbers_of(path, part.get("coefficients"), "'coefficients'", 1).tolist())
        if len(slopes[-1]) != len(features):
            many = f"{len(slopes[-1])} for {len(features)} features"
            raise ModelFileError(path, f"'coefficients' that are {many}")
        bases += numbers_of(path, [part.get("intercept")], "an intercept", 1).tolist()
    return LinearScorer(
        features=features,
        coefficients=tuple(slopes[0]),
        intercept=bases[0],
        members=tuple(zip(map(tuple, slopes[1:]), bases[1:], shares, strict=True)),
        about=about,
    )


def _are_names(found: Any) -> bool:
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(one, str) for one in found)
        and len(set(found)) == len(found)
    )
