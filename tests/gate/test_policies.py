from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.comparative.audit import audit_frames
from comparity.errors import (
    ComparityError,
    FileAccessError,
    MissingColumnError,
    NoSuchEntryError,
    PolicyAuditError,
    PolicyError,
    UnknownKeyError,
    UnreadableFileError,
)
from comparity.gate.check import check
from comparity.gate.policy import read_policy
from comparity.pairwise import audit as pairwise
from comparity.pairwise.parity import audit_parity_frame
from comparity.relative.raters import audit_rater_frame
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from comparity.separation.audit import audit_frame


def decisions(rates: dict[str, float], each: int) -> polars.DataFrame:
    """Return decisions: in each group and label, a share `rates[group]` predicted right."""
    rows = [
        (group, label, label if place < round(rate * each) else 1 - label)
        for group, rate in rates.items()
        for label in (0, 1)
        for place in range(each)
    ]
    return polars.DataFrame(rows, schema=["sex", "hired", "model"], orient="row")


DATA = {
    "good.csv": decisions({"f": 0.8, "m": 0.8}, 4000),
    "bad.csv": decisions({"f": 0.6, "m": 0.8}, 400),
    "few.csv": decisions({"f": 0.8, "m": 0.8}, 40),
    # Nobody of label 1 in one group, nobody of label 0 in the other: no rate has two sides.
    "nothing.csv": polars.DataFrame(
        {"sex": ["f"] * 50 + ["m"] * 50, "hired": [0] * 50 + [1] * 50, "model": [0, 1] * 50}
    ),
}


def audit(name: str, **more: Any) -> dict[str, Any]:
    columns = {"label": "hired", "prediction": "model", "sensitive": "sex"}
    return {"name": name, "notion": "separation", "file": f"{name}.csv", **columns, **more}


def gate(*audits: dict[str, Any], **settings: Any) -> Any:
    wanted = {one["file"]: DATA[one["file"]] for one in audits}
    return check({"audit": list(audits), **settings}, data=wanted)


@pytest.mark.parametrize(
    ("names", "passed", "status"),
    [
        (["good"], True, 0),
        (["bad"], False, 1),
        (["few"], False, 3),
        (["good", "few"], False, 3),
        (["few", "bad", "good"], False, 1),
    ],
)
def test_every_audit_has_to_pass_and_the_worst_finding_is_the_status(
    names: list[str], passed: bool, status: int
) -> None:
    result = gate(*map(audit, names))
    assert (result.passed, result.exit_status) == (passed, status)


def test_what_an_open_audit_means_is_said_for_all_or_for_one() -> None:
    assert gate(audit("few"), **{UNDECIDED: "allow"}).exit_status == 0
    assert gate(audit("few", **{UNDECIDED: "allow"})).exit_status == 0
    own = audit("few", **{UNDECIDED: "fail"})
    assert gate(own, **{UNDECIDED: "allow"}).exit_status == 3


def test_an_audit_with_nothing_to_judge_never_passes() -> None:
    result = gate(audit("nothing"), **{UNDECIDED: "allow"})
    assert all(test.pivot is None for test in result["nothing"].result.tests)
    assert (result.passed, result.exit_status) == (False, 3)


def test_a_violation_is_never_allowed() -> None:
    assert gate(audit("bad"), **{UNDECIDED: "allow"}).exit_status == 1


def test_the_finding_is_that_of_the_audit_itself() -> None:
    result = gate(audit("few", margin=0.3, alpha=0.1))
    own = audit_frame(
        DATA["few.csv"],
        label="hired",
        prediction="model",
        sensitive=["sex"],
        margin=0.3,
        alpha=0.1,
    )
    assert result["few"].result.to_dict() == own.to_dict()
    assert result["few"].finding == own.finding == WITHIN


def test_margin_and_alpha_of_the_policy_reach_audits_without_their_own() -> None:
    result = gate(audit("good"), audit("bad", margin=0.3), alpha=0.01, margin=0.1)
    assert [one.audit.margin for one in result.checks] == [0.1, 0.3]
    assert [one.audit.alpha for one in result.checks] == [0.01, 0.01]


def test_a_margin_of_rates_is_not_one_of_standard_deviations() -> None:
    one = {"name": "r", "notion": "relative", "file": "good.csv", "first": "hired"}
    one |= {"second": "model", "sensitive": "sex", "permutations": 0}
    assert gate(one, margin=0.01)["r"].audit.margin == 0.2
    assert gate({**one, "margin": 0.5}, margin=0.01)["r"].audit.margin == 0.5


def test_pairs_and_raters_are_audited_as_by_their_own_functions() -> None:
    frame = DATA["few.csv"]
    pairs = {"name": "pairs", "notion": "pairwise", "file": "few.csv", "label": "hired"}
    pairs |= {"score": "model", "sensitive": "sex"}
    raters = {"name": "raters", "notion": "raters", "file": "few.csv", "sensitive": ["sex"]}
    parity = {"name": "parity", "notion": "parity", "file": "few.csv", "score": "model"}
    parity |= {"sensitive": "sex"}
    result = gate(pairs, parity, {**raters, "raters": ["hired", "model"]})
    own = pairwise.audit_frame(frame, label="hired", score="model", sensitive="sex")
    assert result["pairs"].result.to_dict() == own.to_dict()
    without_labels = audit_parity_frame(frame, score="model", sensitive="sex")
    assert result["parity"].result.to_dict() == without_labels.to_dict()
    compared = audit_rater_frame(frame, raters=("hired", "model"), sensitive=["sex"])
    assert result["raters"].result.to_dict()["tests"] == compared.to_dict()["tests"]


def test_judgments_are_audited_as_by_their_own_function() -> None:
    items = polars.DataFrame({"item": range(8), "sex": list("ffffmmmm"), "score": range(8)})
    judged = polars.DataFrame({"better": [7, 6, 5, 4], "worse": [0, 1, 2, 3]})
    panel = {"name": "panel", "notion": "comparative", "comparisons": "j.csv", "items": "i.csv"}
    panel |= {"score": "score", "sensitive": "sex"}
    data = {"j.csv": judged, "i.csv": items}
    found = check({"audit": [panel]}, data=data)["panel"]
    own = audit_frames(judged, items, score="score", sensitive=["sex"])
    assert found.result.to_dict() == own.to_dict()
    with pytest.raises(PolicyAuditError, match="layout"):
        check({"audit": [{**panel, "layout": "auto"}]}, data=data)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"audit": []},
        {"audit": {"name": "x"}},
        {"audit": ["x"]},
        {"audits": [audit("good")]},
        {"audit": [audit("good")], "alfa": 0.05},
        {"audit": [audit("good")], "alpha": "0.05"},
        {"audit": [audit("good")], "margin": True},
        {"audit": [audit("good")], "margin": float("nan")},
        {"audit": [audit("good")], UNDECIDED: "pass"},
        {"audit": [audit("good")], UNDECIDED: False},
        {"audit": [audit("good", marginn=0.2)]},
        {"audit": [audit("good", notion="fairness")]},
        {"audit": [audit("good", sensitive=[])]},
        {"audit": [audit("good", sensitive=[1])]},
        {"audit": [audit("good", looks=[1])]},
        {"audit": [{**audit("good"), "name": " "}]},
        {"audit": [audit("good"), audit("good")]},
        {"audit": [{k: v for k, v in audit("good").items() if k != "label"}]},
        {"audit": [{k: v for k, v in audit("good").items() if k != "file"}]},
    ],
)
def test_a_policy_that_cannot_be_understood_is_an_error(content: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=r"found: .*\n  hint: "):
        check(content)


@pytest.mark.parametrize("more", [{"alpha": 2}, {"margin": 0}, {"rule": "none"}, {"looks": [3, 2]}])
def test_values_out_of_range_are_errors(more: dict[str, Any]) -> None:
    with pytest.raises(PolicyAuditError, match="audit 'good'"):
        gate(audit("good", **more))


def test_a_misspelt_key_or_column_is_told_its_neighbour() -> None:
    with pytest.raises(UnknownKeyError, match="did you mean 'margin'"):
        gate(audit("good", margn=0.2))
    with pytest.raises(PolicyAuditError, match="did you mean 'hired'") as raised:
        gate(audit("good", label="hird"))
    assert isinstance(raised.value.__cause__, MissingColumnError)


def test_a_frame_that_no_audit_asks_for_is_an_error() -> None:
    with pytest.raises(UnknownKeyError, match=r"did you mean 'good\.csv'"):
        check({"audit": [audit("good")]}, data={"godd.csv": DATA["good.csv"]})


def test_files_are_found_from_the_folder_of_the_policy(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    DATA["bad.csv"].write_csv(tmp_path / "data" / "bad.csv")
    written = '[[audit]]\nname = "x"\nnotion = "separation"\nfile = "data/bad.csv"\n'
    written += 'label = "hired"\nprediction = "model"\nsensitive = "sex"\n'
    policy = tmp_path / "release.toml"
    policy.write_text(written, encoding="utf-8")
    result = check(policy)
    assert (result.policy, result.exit_status) == ("release", 1)
    assert result.provenance["policy"]["name"] == "release.toml"
    assert result["x"].finding == gate(audit("bad"))["bad"].finding


@pytest.mark.parametrize("content", [b"[[audit", b"\xff\xfe", b"a" * (2**20 + 1), b""])
def test_what_is_no_policy_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(content)
    with pytest.raises((PolicyError, UnreadableFileError)):
        read_policy(path)


def test_a_missing_policy_and_missing_data_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        check(tmp_path / "none.toml")
    with pytest.raises(ComparityError, match="audit 'good'"):
        check({"audit": [audit("good", file=str(tmp_path / "none.csv"))]})


def test_the_result_becomes_rows_and_plain_data() -> None:
    result = gate(audit("good"), audit("bad"))
    assert result.to_frame("polars")["passed"].to_list() == [True, False]
    content = result.to_dict()
    assert [one["finding"] for one in content["checks"]] == [WITHIN, VIOLATED]
    assert content["checks"][1]["result"] == result["bad"].result.to_dict()
    with pytest.raises(NoSuchEntryError, match="did you mean 'good'"):
        result["goood"]


# Everything a TOML file can hold.
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
KEYS = ["name", "notion", "file", "label", "prediction", "sensitive", "alpha", "margin", "rule"]
KEYS += ["undecided", "looks", "positive", "threshold", "intersection", "seed", "items", "audit"]


@given(st.sampled_from(KEYS) | st.text(max_size=8), values)
def test_whatever_stands_in_an_audit_is_understood_or_refused(key: str, value: Any) -> None:
    content = {**audit("bad"), key: value}
    try:
        found = check({"audit": [content]}, data={"bad.csv": DATA["bad.csv"]})
    except ComparityError:
        return
    # These data are violated whatever the options, but for a margin that wide, and for a threshold
    # by which all decisions are alike.
    alike = key == "threshold" and not 0 < value <= 1
    assert found.exit_status == 1 or alike or (key == "margin" and value > 0.2)


@given(st.sampled_from(["name", "alpha", "margin", "undecided", "audit", "x"]), values)
def test_whatever_stands_in_a_policy_is_understood_or_refused(key: str, value: Any) -> None:
    try:
        found = check({"audit": [audit("bad")], key: value}, data={"bad.csv": DATA["bad.csv"]})
    except ComparityError:
        return
    assert found.exit_status == 1 or (key == "margin" and value > 0.2)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_file_of_noise_is_a_policy(tmp_path_factory: Any, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "policy.toml"
    path.write_bytes(noise)
    with pytest.raises(ComparityError):
        check(path)
