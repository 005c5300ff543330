"""Clusters of judgments in audits of comparative separation, through every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from comparity import comparative_separation
from comparity.cli import main
from comparity.comparative.audit import audit_files, audit_frames
from comparity.errors import (
    BlankNameError,
    ComparityError,
    MissingColumnError,
    MissingValueError,
    OneClusterError,
    OptionError,
)
from comparity.gate.check import check
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED
from tests.comparative.test_audit import World

WORLD = World(200, 900, bias=0.5)
PROMPT = np.random.default_rng(8).integers(0, 40, 900)
SESSION = np.arange(900) % 9


def numbers(audit: Audit) -> list[list[float]]:
    return [[test.gap, test.standard_error, test.p_value] for test in audit.tests]


def judged(**more: Any) -> dict[str, Any]:
    columns = {"better": WORLD.pairs[:, 0], "worse": WORLD.pairs[:, 1]}
    return {**columns, "prompt": [f"p{k}" for k in PROMPT], "session": SESSION, **more}


ITEMS = {"item": np.arange(200), "model": WORLD.score, "sex": WORLD.group}
COLUMNS: dict[str, Any] = {"score": "model", "sensitive": ("sex",)}


@pytest.mark.parametrize("cluster", [("prompt",), ("prompt", "session")])
def test_every_engine_gives_the_audit_of_the_arrays(
    cluster: tuple[str, ...], frame: Callable[..., Any]
) -> None:
    known = {"prompt": PROMPT, "session": SESSION}
    arrays = WORLD.audit(cluster={name: known[name] for name in cluster})
    frames = audit_frames(frame(judged()), frame(ITEMS), cluster=cluster, **COLUMNS)
    assert np.array(numbers(frames)) == pytest.approx(np.array(numbers(arrays)))
    assert frames.n_clusters == arrays.n_clusters
    assert frames.design == f"shared items, clustered by {' and '.join(cluster)}"


def test_a_cluster_may_be_a_column_of_the_comparisons() -> None:
    known = {"scores": WORLD.score, "sensitive_features": {"sex": WORLD.group}}
    frame = polars.DataFrame(judged())
    for cluster in ("prompt", ["prompt", "session"], frame["prompt"], frame[["prompt"]]):
        audit = comparative_separation(frame, cluster=cluster, **known)
        assert "prompt" in audit.n_clusters
    with pytest.raises(MissingColumnError, match="promt"):
        comparative_separation(frame, cluster="promt", **known)


def test_ties_take_their_clusters_with_them() -> None:
    tied = np.arange(900) % 4 == 0
    known = {"scores": WORLD.score, "sensitive_features": {"sex": WORLD.group}}
    audit = comparative_separation(polars.DataFrame(judged(tied=tied)), cluster="prompt", **known)
    kept = comparative_separation(WORLD.pairs[~tied], cluster=PROMPT[~tied], **known)
    assert numbers(audit) == numbers(kept)


def written(folder: Path) -> tuple[Path, Path]:
    polars.DataFrame(ITEMS).write_csv(folder / "items.csv")
    rows = judged()
    rows["left"], rows["right"] = rows.pop("worse"), rows.pop("better")
    polars.DataFrame({**rows, "winner": ["right"] * 900}).write_csv(folder / "judgments.csv")
    return folder / "judgments.csv", folder / "items.csv"


@pytest.mark.long
def test_files_commands_and_gates_give_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = WORLD.audit(cluster={"prompt": PROMPT, "session": SESSION})
    paths = written(tmp_path)
    files = audit_files(*paths, cluster=("prompt", "session"), **COLUMNS)
    assert np.array(numbers(files)) == pytest.approx(np.array(numbers(arrays)))
    options = ["--items", str(paths[1]), "--score", "model", "--sensitive", "sex"]
    with pytest.raises(SystemExit, match=str(files.exit_status)):
        main(["comparative", str(paths[0]), *options, "--cluster", "prompt,session"])
    told = " ".join(capsys.readouterr().out.split())
    assert "40 clusters by prompt and 9 clusters by session" in told
    entry = {"name": "judges", "notion": "comparative", "comparisons": "judged"}
    entry |= {"items": "items", "score": "model", "sensitive": "sex"}
    data = {"judged": polars.DataFrame(judged()), "items": polars.DataFrame(ITEMS)}
    gate = check({"audit": [{**entry, "cluster": ["prompt", "session"]}]}, data=data)
    (made,) = gate.checks
    assert numbers(made.result) == numbers(files)


def test_the_result_names_the_clusters_and_is_read_back() -> None:
    audit = WORLD.audit(cluster={"prompt": PROMPT}, evaluators=WORLD.evaluator)
    assert audit.n_clusters == {"prompt": 40}
    assert audit.design == "shared items and evaluators, clustered by prompt"
    assert "there are 40 clusters by prompt" in " ".join(audit.notes)
    assert Audit.from_dict(audit.to_dict()).to_dict() == audit.to_dict()
    assert "40 clusters by prompt" in audit.to_html()


def test_clusters_of_one_row_change_nothing_and_the_result_says_so() -> None:
    audit = WORLD.audit(cluster={"id": np.arange(900)})
    assert numbers(audit) == numbers(WORLD.audit())
    assert audit.n_clusters == {}
    assert "No two judgments have the same id, so that it has no effect." in audit.notes


def test_items_as_clusters_change_little() -> None:
    """Judgments of one better item are dependent already; they lack 1 in the number of items."""
    better = WORLD.pairs[:, 0]
    audit = WORLD.audit(cluster={"better": better})
    errors = [test.standard_error for test in audit.tests]
    expected = [test.standard_error for test in WORLD.audit().tests]
    assert errors == pytest.approx(expected, rel=2 / len(set(better)))
    assert errors != pytest.approx(expected, rel=1e-9)


def test_two_clusters_leave_the_audit_undecided_with_the_reason() -> None:
    audit = WORLD.audit(cluster=np.arange(900) % 2)
    assert audit.finding == UNDECIDED
    assert {test.reason for test in audit.tests} == {"only 2 independent clusters, 3 are needed"}


def test_disjoint_pairs_share_no_cluster() -> None:
    audit = WORLD.audit(cluster=PROMPT, method="disjoint", seed=3)
    assert 10 < audit.n <= 40


@pytest.mark.parametrize(
    ("cluster", "error"),
    [
        (np.zeros(900, dtype=int), OneClusterError),
        ([None, *PROMPT[1:].tolist()], MissingValueError),
        (["  ", *map(str, PROMPT[1:])], BlankNameError),
        (PROMPT[:-1], ComparityError),
        ({str(k): PROMPT for k in range(5)}, OptionError),
    ],
)
def test_broken_clusters_are_refused(cluster: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        WORLD.audit(cluster=cluster)
    if len(cluster) == 900:
        rows = polars.DataFrame(judged(kind=cluster), strict=False)
        with pytest.raises(error, match="kind"):
            audit_frames(rows, polars.DataFrame(ITEMS), cluster="kind", **COLUMNS)


@pytest.mark.parametrize("choice", [{"rule": "paper"}, {"design": "fresh"}])
def test_what_takes_judgments_to_be_independent_takes_no_clusters(choice: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="independent"):
        WORLD.audit(cluster=PROMPT, **choice)


def test_a_reference_and_clusters_go_together() -> None:
    raw = WORLD.audit(reference=WORLD.quality)
    clustered = WORLD.audit(reference=WORLD.quality, cluster={"prompt": PROMPT})
    gaps = [test.gap for test in raw.tests]
    assert [test.gap for test in clustered.tests] == pytest.approx(gaps)
    assert clustered.n_clusters == {"prompt": 40}
    assert numbers(clustered) != numbers(raw)
