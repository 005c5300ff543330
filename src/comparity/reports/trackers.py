"""Results in trackers of experiments: MLflow, and Weights & Biases.

Both get the same: numbers of every test, group or metric under ``comparity/...``, the finding in
words, and the page and the JSON as files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from comparity.errors import MissingExtraError, NoRunError
from comparity.reports.sections import clip
from comparity.results.result import Result

# What MLflow allows in the name of a metric.
UNSAFE = re.compile(r"[^\w\-. /]+")
LONGEST = 200


def tracked_numbers(result: Result, name: str = "comparity") -> dict[str, float]:
    """Return the numbers of a result that a tracker keeps, by name.

    Gaps with their ends and adjusted p values, impact ratios, metrics; whatever else has a main
    table gives the numbers of its rows.

    Examples
    --------
    >>> from comparity import separation
    >>> labels, decisions = [1, 1, 0, 0] * 50, [1, 0, 0, 0] * 50
    >>> audit = separation(labels, decisions, sensitive_features=["a", "b"] * 100)
    >>> list(tracked_numbers(audit))[:2]
    ['comparity/exit status', 'comparity/gap/TPR a TPR b']
    """
    found: dict[str, float] = {}
    for label, value in _numbers(result):
        if value is None or not math.isfinite(value):
            continue
        key = " ".join(UNSAFE.sub(" ", f"{name}/{label}").split())[:LONGEST]
        # Names that differ only in signs are told apart.
        while key in found:
            key += "_"
        found[key] = float(value)
    return found


def _numbers(result: Result) -> Iterator[tuple[str, float | None]]:
    answer: Any = result
    status = getattr(answer, "exit_status", None)
    if status is not None:
        yield "exit status", status
    for test in getattr(answer, "tests", ()):
        kind = "gap" if hasattr(test, "gap") else "value"
        yield f"{kind}/{test.null}", getattr(test, kind)
        low, high, _ = test.deciding_interval
        yield from ((f"low/{test.null}", low), (f"high/{test.null}", high))
        yield f"p adjusted/{test.null}", getattr(test, "p_adjusted", None)
    if not hasattr(answer, "tests") and hasattr(answer, "rows"):
        for row in answer.rows():
            words = [str(value) for value in row.values() if isinstance(value, str)]
            numbers = {k: v for k, v in row.items() if isinstance(v, int | float)}
            yield from ((f"{column}/{' '.join(words[:2])}", v) for column, v in numbers.items())
    for label, part in result.parts().items():
        yield from ((f"{label}/{one}", value) for one, value in _numbers(part))


def _words(result: Result) -> dict[str, str]:
    section = result.section()
    told = {"headline": section.headline, "sentence": (*section.sentences, "")[0]}
    finding = getattr(result, "finding", "")
    return {name: clip(text) for name, text in {**told, "finding": finding}.items() if text}


def _files(result: Result) -> Mapping[str, str]:
    content = json.dumps(result.to_dict(), indent=2, allow_nan=False)
    return {"result.json": content, "page.html": result.to_html()}


def log_mlflow(result: Result, *, name: str = "comparity") -> Any:
    """Keep a result in the active run of MLflow, or in a run of its own where none is active.

    Parameters
    ----------
    result : Result
        Any answer of this package.
    name : str
        What metrics, tags and files begin with; give each of several results its own.

    Returns
    -------
    mlflow.entities.Run
        The run.

    Raises
    ------
    MissingExtraError
        MLflow is not installed.
    """
    try:
        import mlflow
    except ImportError as error:
        raise MissingExtraError("log_mlflow", "mlflow", "mlflow") from error
    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        run: Any = mlflow.active_run()
        mlflow.log_metrics(tracked_numbers(result, name))
        mlflow.set_tags({f"{name}.{word}": text for word, text in _words(result).items()})
        for file, content in _files(result).items():
            mlflow.log_text(content, f"{name}/{file}")
    return run


def log_wandb(result: Result, *, run: Any = None, name: str = "comparity") -> None:
    """Keep a result in a run of Weights & Biases: numbers in its summary, page and JSON as files.

    Parameters
    ----------
    result : Result
        Any answer of this package.
    run : wandb.Run, optional
        The run; the one that ``wandb.init`` started by default.
    name : str
        What numbers begin with, and the name of the artifact; give each of several results its own.

    Raises
    ------
    MissingExtraError
        wandb is not installed.
    NoRunError
        No run was started.
    """
    try:
        import wandb
    except ImportError as error:
        raise MissingExtraError("log_wandb", "wandb", "wandb") from error
    active = run or wandb.run
    if active is None:
        raise NoRunError("wandb.init()")
    active.summary.update(tracked_numbers(result, name))
    active.summary.update({f"{name}/{word}": text for word, text in _words(result).items()})
    artifact = wandb.Artifact(UNSAFE.sub("-", name).replace(" ", "-").replace("/", "-"), "audit")
    for file, content in _files(result).items():
        with artifact.new_file(file, mode="w", encoding="utf-8") as written:
            written.write(content)
    active.log_artifact(artifact)
