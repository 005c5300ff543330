"""The command that trains: its file, its audits, its exit status."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comparity import FairRanker, pairwise_accuracy, pairwise_parity
from comparity.training.goals import choices_of
from comparity.training.model_files import read_model
from tests.cli.test_hostile import HOSTILE, LONG, check_page, harmless
from tests.training.simulated import ranking

Run = Callable[..., Any]

WITHIN = ("--features", "a", "--goal", "within-group")
PARITY = ("--features", "a", "--goal", "statistical parity")
NUMBER = ("--features", "a", "--sensitive", "age", "--continuous")
OPTIONS = ("--features", "a,b", "--label", "rel", "--sensitive", "sex", "--steps", "60")


def items(path: Path, queries: int, seed: int = 0) -> pd.DataFrame:
    X, y, group, query = ranking(queries, np.random.default_rng(seed))
    sex = np.where(group == 0, "m", "f")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "rel": y, "sex": sex, "q": query})
    frame["age"] = X[:, 0].round(2)
    frame["worth"] = 1 + group
    frame.to_csv(path, index=False)
    return frame


def test_the_status_is_that_of_an_audit_of_the_file_written(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 500)
    other = items(tmp_path / "new.csv", 500, seed=1)
    output = tmp_path / "m.json"
    choices = ("--query", "q", "--audit-on", tmp_path / "new.csv", "--seed", "3", "--json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", output)
    content = json.loads(outcome.out)
    audited = pairwise_accuracy(
        other["rel"],
        read_model(output).scores(other),
        sensitive_features=other["sex"],
        queries=other["q"],
        notions=("cross-group",),
    )
    assert outcome.status == audited.exit_status
    assert content["finding"] == audited.finding
    assert np.array(content["after"]["matrix"]) == pytest.approx(audited.matrix)
    gaps = [abs(content[when]["tests"][0]["gap"]) for when in ("before", "after")]
    assert gaps[1] < gaps[0] / 2
    assert content["rows"] == {"trained": 5500, "audited": 5500}


def test_rows_audited_are_not_trained_on_and_the_seed_repeats_all(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 60)
    for name in ("one.json", "two.json"):
        choices = ("--held-out", "0.4", "--seed", "5", "--output", tmp_path / name)
        outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--json")
        assert outcome.status in (0, 1, 3)
    rows = json.loads(outcome.out)["rows"]
    assert rows["trained"] + rows["audited"] == 660
    assert rows["audited"] == pytest.approx(0.4 * 660, abs=1)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize(
    "choices",
    [
        ("--task", "regression", "--goal", "all cells", "--slack", "0.1"),
        ("--sensitive", "age", "--continuous"),
        ("--form", "robust", "--goal", "marginal"),
        ("--goal", "symmetric,statistical parity", "--slack", "0.1"),
        ("--weight", "worth", "--goal", "within-group", "--slack", "0.1"),
    ],
)
def test_other_tasks_and_goals_end_with_a_finding(
    run: Run, tmp_path: Path, choices: tuple[str, ...]
) -> None:
    items(tmp_path / "d.csv", 40)
    page = tmp_path / "p.html"
    extra = (*choices, "--seed", "1", "--html", page, "--output", tmp_path / "m.json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *extra)
    assert outcome.status in (0, 1, 3)
    assert "Coefficients" in outcome.out
    assert ("in the robust form" in outcome.out) == ("robust" in choices)
    assert "Accuracy on rows that training did not see" in page.read_text(encoding="utf-8")
    model = read_model(tmp_path / "m.json")
    assert sum(share for _, share in model.members) == pytest.approx(1)


def test_raw_and_standardised_accuracies_are_kept_apart(run: Run, tmp_path: Path) -> None:
    frame = items(tmp_path / "d.csv", 40)
    told = "Training uses raw accuracies; the audit tests standardised ones."
    words = ("train", tmp_path / "d.csv", *OPTIONS, "--seed", 1, "--output", tmp_path / "m.json")
    assert told not in " ".join(run(*words).out.split())
    frame.assign(rel=frame["rel"] + (frame["b"] > 0)).to_csv(tmp_path / "d.csv", index=False)
    assert told in " ".join(run(*words).out.split())


def test_statistical_parity_is_judged_by_its_own_audit(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 300)
    other = items(tmp_path / "new.csv", 300, seed=1)
    output = tmp_path / "m.json"
    choices = ("--goal", "statistical parity", "--audit-on", tmp_path / "new.csv", "--json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--seed", 3, "--output", output)
    content = json.loads(outcome.out)
    audited = pairwise_parity(read_model(output).scores(other), sensitive_features=other["sex"])
    assert (outcome.status, content["finding"]) == (audited.exit_status, audited.finding)
    gaps = [abs(content[when]["parity"]["tests"][0]["gap"]) for when in ("before", "after")]
    assert gaps[1] == pytest.approx(abs(audited.tests[0].gap))
    assert gaps[1] < gaps[0] / 2


def test_two_audits_are_told_with_what_they_come_to_together(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 60)
    choices = ("--goal", "cross-group,statistical parity", "--slack", "0.1", "--seed", 3)
    shared = ("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", tmp_path / "m.json")
    content, shown = json.loads(run(*shared, "--json").out), run(*shared)
    both = {content["after"]["parity"]["finding"], content["after"]["raw"]["finding"]}
    together = "violated" if "violated" in both else "undecided" if len(both) > 1 else both.pop()
    assert shown.out.startswith(f"Pairs and statistical parity, taken together: {together}")
    assert "Tests of statistical parity" in shown.out
    assert content["finding"] == together
    # Both decide, so that each has half of the error.
    assert content["after"]["parity"]["alpha"] == content["after"]["raw"]["alpha"] == 0.025


@pytest.mark.long
def test_weights_count_in_training_and_in_the_audit(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 100)
    other = items(tmp_path / "new.csv", 100, seed=1)
    output = tmp_path / "m.json"
    choices = ("--weight", "worth", "--audit-on", tmp_path / "new.csv", "--json", "--seed", 3)
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", output)
    audited = pairwise_accuracy(
        other["rel"],
        read_model(output).scores(other),
        sensitive_features=other["sex"],
        sample_weight=other["worth"],
    )
    assert np.array(json.loads(outcome.out)["after"]["matrix"]) == pytest.approx(audited.matrix)


@pytest.mark.long
@pytest.mark.parametrize(
    "scorer", [("neural", "--hidden", "6"), ("boosted", "--leaves", "5")], ids=lambda one: one[0]
)
def test_other_scorers_are_written_and_read_back(
    run: Run, tmp_path: Path, scorer: tuple[str, ...]
) -> None:
    items(tmp_path / "d.csv", 40)
    other = items(tmp_path / "new.csv", 40, seed=1)
    output = tmp_path / "m.json"
    choices = ("--scorer", *scorer, "--audit-on", tmp_path / "new.csv", "--seed", 3, "--steps", 15)
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--json", "--output", output)
    model = read_model(output)
    audited = pairwise_accuracy(other["rel"], model.scores(other), sensitive_features=other["sex"])
    assert np.array(json.loads(outcome.out)["after"]["matrix"]) == pytest.approx(audited.matrix)
    assert model.kind == scorer[0]
    assert sum(share for _, share in model.members) == pytest.approx(1)
    assert json.loads(outcome.out)["coefficients"] == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--features", "a,bb", "--output", "m.json"), "did you mean 'b'"),
        (("--features", "a,sex", "--output", "m.json"), "'sex'"),
        (("--features", "a,rel", "--output", "m.json"), "other than the label"),
        (("--features", "a,a", "--output", "m.json"), "twice"),
        (("--features", "a", "--goal", "equity", "--output", "m.json"), "goal"),
        (("--features", "a", "--output", "d.csv"), "another file"),
        (("--features", "a", "--output", "none/m.json"), "cannot write 'none/m.json'"),
        (("--features", "a", "--audit-on", "d.csv", "--output", "m.json"), "those trained on"),
        (("--features", "a", "--held-out", "0.99", "--output", "m.json"), "holding out 0.25"),
        (("--features", "a", "--query", "q", "--held-out", "0.001", "--output", "m.json"), "held"),
        (("--features", "a"), "--output"),
        (("--features", "a", "--hidden", "4", "--output", "m.json"), "scorer 'neural'"),
        (("--features", "a", "--hidden", "4,x", "--output", "m.json"), "such as 32,32"),
        (("--features", "a", "--leaves", "4", "--output", "m.json"), "scorer 'boosted'"),
        ((*PARITY, "--weight", "worth", "--output", "m.json"), "statistical parity has none"),
        ((*PARITY, "--rule", "paper", "--output", "m.json"), "statistical parity has none"),
        ((*WITHIN, "--sensitive", "age", "--continuous", "--output", "m.json"), "is a number"),
        ((*NUMBER, "--no-group", "-1", "--output", "m.json"), "the attribute is a number"),
    ],
)
def test_bad_input_is_named_with_status_2(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    items(tmp_path / "d.csv", 20)
    shared = ("--label", "rel", "--sensitive", "sex", "--steps", 5, "--seed", 1)
    outcome = run("train", "d.csv", *shared, *options)
    assert outcome.status == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_rows_and_the_audit_without_a_goal_are_told_before_training(
    run: Run, tmp_path: Path
) -> None:
    items(tmp_path / "d.csv", 60)
    choices = ("--seed", "5", "--json", "--output", tmp_path / "m.json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices)
    content = json.loads(outcome.out)
    before = content["before"]
    read, told, shift = outcome.err.splitlines()
    assert read == "Read 495 rows to train on and 165 to audit."
    assert f"Without a goal: {before['finding']}, {before['overall']:.3f} of all pairs" in told
    shifted = next(one for one in content["methods"] if one["name"] == "groups shifted")
    found = [f"{shifted[name]:.3f}" for name in ("accuracy", "largest_difference")]
    assert f"needs the groups when scoring: {found[0]}, with a difference of {found[1]}" in shift
    assert shift.endswith("Training for cross-group ...")


def test_it_trains_what_the_estimator_trains(run: Run, tmp_path: Path) -> None:
    frame = items(tmp_path / "d.csv", 60)
    output = tmp_path / "m.json"
    items(tmp_path / "new.csv", 60, seed=1)
    choices = ("--audit-on", tmp_path / "new.csv", "--query", "q", "--seed", 5, "--slack", 0.3)
    run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", output)
    ranker = FairRanker(slack=0.3, steps=60, random_state=5)
    ranker.fit(frame[["a", "b"]].to_numpy(), frame["rel"], frame["sex"], frame["q"])
    assert read_model(output).model.coefficients == pytest.approx(ranker.coef_, rel=1e-9)
    assert choices_of() == FairRanker()._choices()


@pytest.mark.long
def test_a_linear_score_is_trained_without_scikit_learn(tmp_path: Path) -> None:
    """It takes longer to load than the score to train."""
    items(tmp_path / "d.csv", 60)
    words = ["train", str(tmp_path / "d.csv"), *OPTIONS, "--output", str(tmp_path / "m.json")]
    words += ["--seed", "5"]
    program = f"""
import sys
from comparity.cli import main
try:
    main({words!r})
except SystemExit as left:
    assert left.code in (0, 1, 3)
assert not {{"sklearn", "pandas", "torch", "lightgbm", "matplotlib"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=300)


FEATURES = ('<b>f\x1b[2J\u202e\U0001f600, "x"', "long" * 800)
LABEL, GROUP = "<i>label\x07", "<b>se\x1bx\u2066"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("scorer", ["linear", "boosted"])
def test_hostile_names_are_shown_harmlessly(run: Run, tmp_path: Path, scorer: str) -> None:
    rng = np.random.default_rng(0)
    group, y = rng.choice([HOSTILE, LONG], 240), rng.integers(0, 2, 240)
    X = rng.normal(size=(240, 2)) + y[:, None]
    folder = tmp_path / "<b>\x1b[2J\u202e\U0001f600"
    folder.mkdir()
    with (folder / "\x1bd.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(*FEATURES, LABEL, GROUP), *zip(*X.T, y, group, strict=True)])
    words = ("--label", LABEL, "--sensitive", GROUP, "--steps", 20, "--seed", 1, "--scorer", scorer)
    words = (*words, "--features", ",".join(map(quoted, FEATURES)), "--output", folder / "m.json")
    outcome = run("train", folder / "\x1bd.csv", *words, "--html", tmp_path / "p.html")
    assert outcome.status in (0, 1, 3), outcome.err
    assert harmless(outcome.out)
    assert harmless(outcome.err)
    check_page(tmp_path / "p.html")
    # Data for machines are the names as they are.
    model = read_model(folder / "m.json")
    assert model.features == FEATURES
    assert (model.about["label"], model.about["file"]["name"]) == (LABEL, "\x1bd.csv")
    content = json.loads(run("train", folder / "\x1bd.csv", *words, "--json").out)
    assert content["after"]["groups"] == sorted([HOSTILE, LONG])
    assert harmless(run("train", folder / "\x1bd.csv", *words[2:], "--label", FEATURES[1]).err)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a": "nan"}, "finite"),
        ({"a": "-inf"}, "data row 3"),
        ({"a": "1e300"}, "at most 1e+30"),
        ({"a": ""}, "missing values"),
        ({"a": "\x1b[2J<b>"}, r"'\x1b[2J<b>'"),
        ({"rel": "inf"}, "finite"),
        ({"rel": "1e300"}, "at most 1e+30"),
    ],
)
def test_numbers_that_are_none_are_named_with_their_rows(
    run: Run, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    frame = items(tmp_path / "d.csv", 20).astype(object)
    ((column, value),) = change.items()
    frame.loc[2, column] = value
    frame.to_csv(tmp_path / "d.csv", index=False)
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, "--output", tmp_path / "m.json")
    assert outcome.status == 2
    assert said in outcome.err
    assert harmless(outcome.err)
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("rel", lambda frame: 1, "at least two different labels"),
        ("sex", lambda frame: "f", "at least two groups"),
        # Everybody in one group is better than everybody in the other.
        ("sex", lambda frame: np.where(frame["rel"] == 1, "<b>u", "v\x1b"), r"'v\x1b > <b>u'"),
    ],
)
def test_rows_without_anything_to_compare_are_refused(
    run: Run, tmp_path: Path, column: str, values: Callable[..., Any], said: str
) -> None:
    frame = items(tmp_path / "d.csv", 20)
    frame.assign(**{column: values(frame)}).to_csv(tmp_path / "d.csv", index=False)
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, "--output", tmp_path / "m.json")
    assert outcome.status == 2
    assert said in outcome.err
    assert harmless(outcome.err)
    # Before anything long is done.
    assert "Without a goal" not in outcome.err


def test_a_goal_out_of_reach_is_told_with_the_least_difference(run: Run, tmp_path: Path) -> None:
    """Group m has one score only and no pair of it is ever right; some of f always are."""
    frame = items(tmp_path / "d.csv", 60)
    frame["a"] = np.where(frame["sex"] == "m", 0.0, frame["a"])
    frame.to_csv(tmp_path / "d.csv", index=False)
    choices = ("--features", "a", "--goal", "within-group", "--seed", 1)
    words = ("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", tmp_path / "m.json")
    content, shown = json.loads(run(*words, "--json").out), run(*words)
    training = content["training"]
    assert not training["feasible"]
    assert training["mixture"]["terms"]["m > m"] == 0
    least = training["mixture"]["terms"]["f > f"]
    assert training["mixture"]["largest_difference"] == pytest.approx(least)
    assert least > 0.05
    told = " ".join(shown.out.split())
    assert f"keeps every difference within 0.01; the one with the least, {least:.3f}," in told


def test_more_groups_than_an_audit_takes_are_refused_by_the_name_of_their_column(
    run: Run, tmp_path: Path
) -> None:
    frame = items(tmp_path / "d.csv", 50)
    frame["sex"] = [f"g{row % 240}" for row in range(len(frame))]
    frame.to_csv(tmp_path / "d.csv", index=False)
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, "--output", tmp_path / "m.json")
    assert outcome.status == 2
    assert "column 'sex' must have at most 50 groups" in outcome.err
    assert "240 groups" in outcome.err


def test_rows_trained_on_are_known_again_in_another_format_and_order(
    run: Run, tmp_path: Path
) -> None:
    items(tmp_path / "d.csv", 20)
    header, *lines = (
        (tmp_path / "d.csv").read_text(encoding="utf-8").replace(",", "\t").splitlines()
    )
    same = tmp_path / "same.tsv"
    same.write_text("\n".join([header, *reversed(lines)]), encoding="utf-8")
    chosen = ("--features", "a", "--label", "rel", "--sensitive", "sex", "--audit-on", same)
    outcome = run("train", tmp_path / "d.csv", *chosen, "--output", tmp_path / "m.json")
    assert (outcome.status, outcome.out) == (2, "")
    assert "those trained on" in outcome.err


def test_moved_scores_are_written_with_the_column_they_need(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 200)
    other = items(tmp_path / "new.csv", 200, seed=1)
    output = tmp_path / "m.json"
    choices = ("--adjust", "shift", "--audit-on", tmp_path / "new.csv", "--seed", 3, "--json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", output)
    content, model = json.loads(outcome.out), read_model(output)
    audited = pairwise_accuracy(other["rel"], model.scores(other), sensitive_features=other["sex"])
    assert np.array(content["after"]["matrix"]) == pytest.approx(audited.matrix)
    assert content["adjusted"].keys() == {"f", "m"}
    gaps = [abs(content[when]["tests"][0]["gap"]) for when in ("before", "after")]
    assert gaps[1] < gaps[0] / 2
    with pytest.raises(LookupError, match="sex"):
        model.scores(other[["a", "b"]])


def test_training_is_put_beside_a_shift_and_its_frontier(run: Run, tmp_path: Path) -> None:
    """Losses of the methods are those of audits of the same rows; see the definition of each."""
    items(tmp_path / "d.csv", 200)
    page = tmp_path / "p.html"
    words = ("train", tmp_path / "d.csv", *OPTIONS, "--seed", 1, "--output", tmp_path / "m.json")
    content = json.loads(run(*words, "--json").out)
    shown = run(*words, "--html", page).out
    found = {one["name"]: one for one in content["methods"]}
    assert found["trained"]["accuracy"] == pytest.approx(content["after"]["overall"])
    matrix = np.array(content["after"]["matrix"])
    across = abs(matrix[0, 1] - matrix[1, 0])
    assert found["trained"]["largest_difference"] == pytest.approx(across)
    assert [one["needs_groups"] for one in content["methods"]].count(True) == 2
    assert len(content["frontier"]) == 9
    told = {one["what"]: one for one in content["changes"]}
    assert told["m > f"]["change"] == pytest.approx(content["change"]["matrix"][1][0])
    assert "shifting the scores of one group" in " ".join(shown.split())
    drawn = page.read_text(encoding="utf-8")
    assert "What cross-group costs" in drawn
    for one in content["methods"]:
        place = f"{one['largest_difference']:.4g}, {1 - one['accuracy']:.4g}"
        assert f"<title>{one['name']}: {place}</title>" in drawn
