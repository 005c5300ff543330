"""A page made from JSON is the page the command would have written."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from comparity import FairRanker, barp, fairness_metrics, pairwise_accuracy
from comparity.comparative.audit import comparative_separation
from comparity.errors import FileAccessError, ForeignResultError
from comparity.gate.check import CheckedAudit, GateResult, check
from comparity.planning.plan import plan_separation
from comparity.reports.page import page, read_results
from comparity.reports.terminal import as_text
from comparity.results.audit import Audit
from comparity.results.result import read_result
from comparity.separation.audit import separation

RNG = np.random.default_rng(11)
N = 300
GROUP = RNG.choice(["f", "<b>m\x1b"], N)
LABEL = RNG.integers(0, 2, N)
GRADE = RNG.integers(0, 4, N)
SCORE = LABEL + RNG.normal(size=N) - 0.5 * (GROUP == "f")
PAIRS = np.array([RNG.choice(N, 2, replace=False) for _ in range(400)])

OTHERS = {"name": "a lock file", "provenance": {"version": "1.2.3"}}


def through_json(result: Any) -> Any:
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


def test_an_audit_without_a_test_is_read_back() -> None:
    result = comparative_separation(
        PAIRS[:4], scores=SCORE, sensitive_features=GROUP, design="shared"
    )
    again = read_result(through_json(result))
    assert page(again) == page(result)
    assert as_text(again) == as_text(result)
    assert through_json(again) == through_json(result)


def test_the_numbers_of_the_page_are_those_of_the_json() -> None:
    decided = (SCORE > 0.5).astype(int)
    content = through_json(separation(LABEL, decided, sensitive_features=GROUP))
    shown = re.sub(r"<[^>]*>", " ", page(read_result(content)))
    for test in content["tests"]:
        deciding = "equivalence" if test["finding"] == "within the margin" else "test"
        low, high, _ = test[f"{deciding}_interval"].values()
        assert f"{test['gap']:+.3f}" in shown
        assert f"[{low:+.3f}, {high:+.3f}]" in shown
        assert " vs ".join(f"{n:,}" for n in test["n"]) in shown
    for rate in content["rates"]:
        assert f"{rate['rate']:.3f}" in shown
        low, high = rate["interval"]["low"], rate["interval"]["high"]
        assert f"[{low:.3f}, {high:.3f}] n {rate['trials']:,}" in shown


def test_a_gate_read_back_is_the_same_gate() -> None:
    frame = polars.DataFrame({"sex": GROUP, "hired": LABEL, "model": LABEL})
    audit = {"name": "x", "notion": "separation", "file": "d.csv", "label": "hired"}
    audit |= {"prediction": "model", "sensitive": "sex"}
    gate = check({"audit": [audit]}, data={"d.csv": frame})
    again = read_result(through_json(gate))
    assert isinstance(again, GateResult)
    assert page({"": again, **again.parts()}) == page({"": gate, **gate.parts()})


def test_another_version_is_refused_by_name(audit: Audit) -> None:
    content = through_json(audit) | {"version": 99}
    with pytest.raises(ForeignResultError, match="version 99 of 'audit'; this comparity reads 1"):
        read_result(content)


@pytest.mark.parametrize("kind", [[], {}, None, 1, "no such"])
def test_a_kind_that_is_none_of_ours_is_refused(audit: Audit, kind: Any) -> None:
    with pytest.raises(ForeignResultError, match="kind"):
        read_result(through_json(audit) | {"kind": kind})


def ranked() -> Any:
    names = np.array([f"judge {k}" for k in range(8)])[RNG.integers(0, 8, len(PAIRS))]
    return barp(PAIRS, evaluators=names, sensitive_features=GROUP)


def test_a_ranking_read_back_is_the_same_ranking() -> None:
    result = ranked()
    again = read_result(through_json(result))
    assert page(again) == page(result)
    assert through_json(again) == through_json(result)
    for name in ("items", "scores", "standard_errors", "bias", "q", "n_judged", "n_informative"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert np.array_equal(again.rank_intervals(0.9), result.rank_intervals(0.9))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("scores", [7.0]),
        ("ranking.0.position", 7),
        ("ranking.0.position", "0"),
        ("ranking.0.rank_low", 1.5),
        ("ranking.0.item", [1]),
        ("biases.0.evaluator", "nobody"),
        ("biases.0.bias", "large"),
        ("biases", []),
        ("evaluators", [None]),
        ("mean_bias", [1, 2]),
        ("n_items", 3),
        ("diagnosis", None),
    ],
)
def test_a_ranking_that_was_tampered_with_is_refused(path: str, value: Any) -> None:
    with pytest.raises(ForeignResultError, match="does not hold a result of comparity"):
        read_result(broken(through_json(ranked()), path, value))


def test_files_keep_their_names_and_demos_hold_several(tmp_path: Path, audit: Audit) -> None:
    one, two = tmp_path / "a.json", tmp_path / "b"
    two.mkdir()
    for path in (one, two / "a.json"):
        path.write_text(json.dumps(audit.to_dict()), encoding="utf-8")
    several = tmp_path / "demo.json"
    both = {"first": audit.to_dict(), "second": audit.to_dict()}
    several.write_text(json.dumps(both), encoding="utf-8")
    found = read_results([one, two / "a.json", several, several])
    assert list(found)[:2] == [str(one), str(two / "a.json")]
    # The same file twice is named by its path, and shown twice.
    assert len(found) == 6
    assert all(result.to_dict() == audit.to_dict() for result in found.values())


def broken(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the content with one value replaced."""
    *way, last = path.split(".")
    inner: Any = content
    for step in way:
        inner = inner[int(step) if step.isdecimal() else step]
    inner[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("finding", "fair"),
        ("alpha", "0.05"),
        ("groups", "fm"),
        ("groups", [1, 2]),
        ("n", 1.5),
        ("notes", [{}]),
        ("tests", {}),
        ("tests.0.finding", "<script>"),
        ("tests.0.gap", "<script>"),
        ("tests.0.gap", True),
        ("tests.0.test_interval", {"low": 0.1}),
        ("tests.0.test_interval.low", "x"),
        ("tests.0.n", [1, 2, 3]),
        ("rates.0.rate", []),
        ("ties", None),
        ("provenance", "x"),
    ],
)
def test_a_result_that_was_tampered_with_is_refused(audit: Audit, path: str, value: Any) -> None:
    with pytest.raises(ForeignResultError, match="does not hold a result of comparity"):
        read_result(broken(through_json(audit), path, value))


def others() -> dict[str, Any]:
    """Return results without a finding, and a matrix."""
    data = {"sensitive_features": GROUP}
    rates = {"shares": [0.5, 0.5], "base_rates": [0.5, 0.5]}
    X = np.column_stack([SCORE, GRADE])
    ranker = FairRanker(slack=0.9, steps=2, random_state=0, progress=False).fit(X, LABEL, **data)
    kinds = {"privileged": "f", "kinds": ["group"], "compare": LABEL}
    return {
        "plan": plan_separation(tpr=[0.8, 0.7], fpr=[0.4, 0.3], power=0.8, **rates),
        "card": fairness_metrics(LABEL, SCORE > 0.5, **data, **kinds),
        "matrix": pairwise_accuracy(LABEL, SCORE, **data),
        "training": ranker.training_,
    }


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("plan", "assumptions.tpr", ["high", "low"]),
        ("plan", "assumptions.shares", 1),
        ("card", "metrics.3.id", "C99"),
        ("card", "comparison.changes.3.id", "C99"),
        ("card", "selection.clusters.merges", [[0, 1, 0.5, 2]]),
        ("matrix", "n_pairs", [[1, None], [1, 1]]),
        ("training", "rows", {"trained on": 10}),
    ],
)
def test_other_results_that_were_tampered_with_are_refused(
    kind: str, path: str, value: Any
) -> None:
    content = through_json(others()[kind])
    read_result(content)
    with pytest.raises(ForeignResultError, match="does not hold a result of comparity"):
        as_text(read_result(broken(content, path, value)))


def test_clusters_that_merge_what_is_not_there_are_refused() -> None:
    content = through_json(others()["card"])
    content["selection"]["clusters"]["merges"][-1][0] = 2.5
    with pytest.raises(ForeignResultError):
        read_result(content)


@pytest.mark.parametrize("missing", ["notion", "tests", "provenance", "looks", "joint_tests"])
def test_a_result_without_one_of_its_keys_is_refused(audit: Audit, missing: str) -> None:
    content = through_json(audit)
    del content[missing]
    with pytest.raises(ForeignResultError):
        read_result(content)


@pytest.mark.parametrize(
    "content", [None, 1, "x", [], {}, {"provenance": {}}, {"a": {"b": 1}}, OTHERS]
)
def test_json_of_others_is_refused(content: Any) -> None:
    with pytest.raises(ForeignResultError):
        read_result(content)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[" * 100_000, '{"gate": NaN}', "\ufeff{}"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ForeignResultError):
        read_results([path])
    with pytest.raises(FileAccessError):
        read_results([tmp_path / "none.json"])


@pytest.mark.parametrize("passed", [(True, False), (True, True)])
def test_a_gate_that_claims_to_have_passed_is_refused(
    audit: Audit, passed: tuple[bool, bool]
) -> None:
    one = CheckedAudit(name="x", notion="separation", files=(), result=audit, open_means="fail")
    gate = through_json(GateResult(policy="g", checks=(one,), exit_status=1))
    assert read_result(gate).passed is False
    gate["passed"], gate["checks"][0]["passed"] = passed
    with pytest.raises(ForeignResultError, match="do not follow from each other"):
        read_result(gate)
