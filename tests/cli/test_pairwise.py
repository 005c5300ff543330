import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity import pairwise_accuracy, pairwise_parity

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    """Make 400 items whose model takes a deviation off group b."""
    rng = np.random.default_rng(12)
    label, group = rng.normal(size=400).round(3), rng.choice(["a", "b"], 400)
    score = (label + rng.normal(size=400) - (group == "b")).round(3)
    return {"y": label, "f": score, "g": group, "q": np.arange(400) // 20}


@pytest.fixture(scope="module")
def words(columns: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    path = tmp_path_factory.mktemp("items") / "items.csv"
    rows = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return ["pairwise", path, "--label", "y", "--score", "f", "--sensitive", "g"]


@pytest.mark.parametrize("pair_weight", ["equal", "difference"])
def test_weights_on_pairs_reach_the_audit(
    run: Run, words: list[Any], columns: dict[str, np.ndarray], pair_weight: str
) -> None:
    outcome = run(*words, "--pair-weight", pair_weight, "--json")
    content = json.loads(outcome.out)
    expected = pairwise_accuracy(
        columns["y"], columns["f"], sensitive_features=columns["g"], pair_weight=pair_weight
    )
    assert outcome.status == 1
    assert np.array(content["matrix"]) == pytest.approx(expected.matrix)
    assert content["provenance"]["options"]["pair_weight"] == pair_weight


def test_the_terminal_shows_a_heat_map_and_says_how_pairs_count(run: Run, words: list[Any]) -> None:
    printed = " ".join(run(*words, "--query", "q", "--pair-weight", "difference").out.split())
    assert "Raw accuracy, group of the better item (row) and of the worse (column)" in printed
    assert "Pairs count by the difference of their labels" in printed


def test_the_page_has_the_matrices_as_pictures(run: Run, words: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "pairs.html"
    run(*words, "--html", path)
    assert path.read_text().count('<table class="heat">') == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--pair-weight", "cubed"), "--pair-weight"),
        (("--label", "nothing"), "nothing"),
    ],
)
def test_bad_input_is_named_with_status_2(
    run: Run, words: list[Any], change: tuple[str, ...], said: str
) -> None:
    outcome = run(*words, *change)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err


@pytest.mark.parametrize(
    ("column", "options"),
    [("label", ["--pair-weight", "difference"]), ("weight", ["--weight", "weight"])],
)
def test_numbers_too_large_for_their_squares_are_named(
    run: Run, tmp_path: Path, column: str, options: list[str]
) -> None:
    values = {"label": "3", "weight": "1"}
    rows = [f"{i % 7},{'ab'[i % 2]},{i % 3},1" for i in range(60)]
    values[column] = "1e200"
    rows.append(f"5,a,{values['label']},{values['weight']}")
    path = tmp_path / "items.csv"
    path.write_text("score,group,label,weight\n" + "\n".join(rows) + "\n", encoding="utf-8")
    words = ("pairwise", path, "--label", "label", "--score", "score", "--sensitive", "group")
    outcome = run(*words, *options)
    assert outcome.status == 2
    assert "1e+30" in outcome.err


def test_parity_needs_no_label_and_takes_a_number(
    run: Run, words: list[Any], columns: dict[str, np.ndarray]
) -> None:
    _, path, *_ = words
    by_group = json.loads(
        run("pairwise", path, "--score", "f", "--sensitive", "g", "--parity", "--json").out
    )
    expected = pairwise_parity(columns["f"], sensitive_features=columns["g"])
    assert by_group["notion"] == "pairwise statistical parity"
    assert by_group["tests"][0]["gap"] == pytest.approx(expected.tests[0].gap)
    ordered = run(
        "pairwise", path, "--score", "f", "--sensitive", "y", "--continuous", "--parity", "--json"
    )
    assert ordered.status == 1
    # Somers' D by its definition; scipy's takes half a minute.
    by_y, by_f = (np.sign(np.subtract.outer(one, one)) for one in (columns["y"], columns["f"]))
    expected_gap = (by_y * by_f).sum() / (by_y != 0).sum()
    assert json.loads(ordered.out)["tests"][0]["gap"] == pytest.approx(expected_gap)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "--label"),
        (("--parity", "--label", "y"), "--label cannot be used with --parity"),
        (("--parity", "--notions", "marginal"), "--notions cannot be used with --parity"),
    ],
)
def test_what_parity_does_not_look_at_is_refused(
    run: Run, words: list[Any], more: tuple[str, ...], said: str
) -> None:
    outcome = run("pairwise", words[1], "--score", "f", "--sensitive", "g", *more)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err


def test_places_tell_exposure_and_a_fair_top_without_a_verdict(run: Run, words: list[Any]) -> None:
    score = ("pairwise", words[1], "--score", "f", "--sensitive", "g")
    outcome = run(*score, "--places", "--top", 10, "--protected", "b", "--json")
    assert outcome.status == 0
    content = json.loads(outcome.out)
    assert len(content["top_items"]) == 10
    assert content["exposure"]["means"]["b"] < content["exposure"]["means"]["a"]
    for more, said in (
        (("--top", 3), "--top belongs to --places"),
        (("--places", "--parity"), "cannot be combined"),
        (("--places", "--query", "q"), "--query cannot be used with --places"),
    ):
        refused = run(*score, *more)
        assert (refused.status, refused.out) == (2, "")
        assert said in refused.err
