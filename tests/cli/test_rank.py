import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.ranking.options import MODULES

Run = Callable[..., Any]

LEAN = 2.5


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """60 items and 3,000 judgments by ten judges, of whom the last leans to group m."""
    rng = np.random.default_rng(5)
    quality, man = rng.normal(0, 1.5, 60), np.arange(60) % 2 == 1
    for group in (man, ~man):
        # What the anchor assumes holds here, so that one judge leans and the others do not.
        quality[group] -= quality[group].mean()
    items = ["item,sex,model"]
    items += [f"{i:02d},{'fm'[int(man[i])]},{quality[i]}" for i in range(60)]
    rows = ["left,right,winner,judge"]
    for judgment in range(3000):
        pair, judge = rng.choice(60, 2, replace=False), judgment % 10
        seen = quality[pair] + (LEAN if judge == 9 else 0) * man[pair] + rng.gumbel(size=2)
        winner = "left" if seen[0] > seen[1] else "right"
        rows.append(f"{pair[0]:02d},{pair[1]:02d},{winner},judge {judge}")
    folder = tmp_path_factory.mktemp("tables")
    files = {"items": folder / "items.csv", "judgments": folder / "judgments.csv"}
    files["items"].write_text("\n".join(items) + "\n", encoding="utf-8")
    files["judgments"].write_text("\n".join(rows) + "\n", encoding="utf-8")
    return files


def words(tables: dict[str, Path]) -> list[Any]:
    return ["rank", tables["judgments"], "--items", tables["items"], "--sensitive", "sex"]


def test_the_judge_who_leans_comes_first(run: Run, tables: dict[str, Path]) -> None:
    outcome = run(*words(tables), "--evaluator", "judge")
    assert outcome.status == 0
    assert "1 of 10 evaluators lean" in outcome.out
    evaluators = outcome.out[outcome.out.index("Evaluators by") :].splitlines()
    assert evaluators[3].startswith("judge 9")


def test_json_holds_ranking_biases_and_what_was_assumed(run: Run, tables: dict[str, Path]) -> None:
    content = json.loads(run(*words(tables), "--json").out)
    assert [row["rank"] for row in content["ranking"][:3]] == [1, 2, 3]
    (leaning,) = (row for row in content["biases"] if row["q_value"] < 0.01)
    assert leaning["evaluator"] == "judge 9"
    # In SDs of the quality, which has one of 1.5.
    assert content["unit"] == "SDs"
    assert leaning["low"] < LEAN / 1.5 < leaning["high"]
    assert content["anchor"].startswith("equal group means")
    assert {prior["of"] for prior in content["priors"]} >= {"scores", "biases"}
    assert len(content["provenance"]["files"]) == 2


def test_a_trusted_judge_is_the_anchor(run: Run, tables: dict[str, Path]) -> None:
    content = json.loads(run(*words(tables), "--trusted", "judge 3", "--json").out)
    assert "judge 3" in content["anchor"]
    (trusted,) = (row for row in content["biases"] if row["evaluator"] == "judge 3")
    assert trusted["bias"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("more", "prior"),
    [
        (["--score-prior", "2"], ("scores", "the caller")),
        (["--score-prior", "cross-validation"], ("scores", "cross-validation")),
        (["--model", "bt", "--score-prior", "none"], ("scores", "the caller")),
        (["--bias-prior", "marginal likelihood"], ("biases", "marginal likelihood")),
    ],
)
def test_priors_are_chosen_as_asked(
    run: Run, tables: dict[str, Path], more: list[str], prior: tuple[str, str]
) -> None:
    content = json.loads(run(*words(tables), *more, "--json").out)
    assert prior in [(one["of"], one["chosen_by"]) for one in content["priors"]]
    assert ("none" in more) == any(one["sd"] == "inf" for one in content["priors"])


def test_every_judge_may_have_a_seat_effect_of_its_own(run: Run, tables: dict[str, Path]) -> None:
    content = json.loads(run(*words(tables), "--own-seats", "--json").out)
    seats = [row for row in content["biases"] if row["contrast"] == "seat: first over second"]
    assert len(seats) == 10
    # Nobody favours a side here: ten intervals at 95 %.
    assert sum(row["low"] <= 0 <= row["high"] for row in seats) >= 8


@pytest.mark.long
def test_the_seed_reaches_what_the_audit_draws(run: Run, tables: dict[str, Path]) -> None:
    found = [
        json.loads(run(*words(tables), "--score", "model", "--seed", seed, "--json").out)["audit"]
        for seed in ("1", "1", "2")
    ]
    assert found[0] == found[1]
    assert found[0]["reversals"] != found[2]["reversals"]


@pytest.mark.parametrize("model", [*MODULES])
def test_every_model_ranks_nearly_by_quality(run: Run, tables: dict[str, Path], model: str) -> None:
    content = json.loads(run(*words(tables), "--model", model, "--json").out)
    order = [int(row["item"]) for row in content["ranking"]]
    rows = tables["items"].read_text(encoding="utf-8").splitlines()[1:]
    quality = np.array([float(row.split(",")[2]) for row in rows])
    assert np.corrcoef(quality[order], -np.arange(60))[0, 1] > 0.9


def test_a_model_is_audited_against_the_panel(
    run: Run, tables: dict[str, Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    outcome = run(*words(tables), "--score", "model", "--html", page)
    assert outcome.status in (0, 3)
    assert "wrong order" in outcome.out
    # The audit stands apart from the ranking.
    assert "\n\nPairwise agreement with the bias-adjusted panel" in outcome.out
    assert "A model against this panel" in page.read_text(encoding="utf-8")


def test_pictures_are_drawn(run: Run, tables: dict[str, Path], tmp_path: Path) -> None:
    biases, scores = tmp_path / "biases.png", tmp_path / "scores.svg"
    outcome = run(*words(tables), "--plot", biases, "--plot-scores", scores)
    assert outcome.err.splitlines() == [f"wrote {scores}", f"wrote {biases}"]
    assert biases.read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in scores.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--sensitive", "age"], "age"),
        (["--model", "crowdbt", "--seats"], "knows no seats"),
        (["--model", "bt", "--score", "model"], "adjusted for its bias"),
        (["--trusted", "nobody"], "nobody"),
    ],
)
def test_bad_requests_are_named(
    run: Run, tables: dict[str, Path], more: list[str], said: str
) -> None:
    outcome = run(*words(tables), *more)
    assert outcome.status == 2
    assert said in outcome.err


def test_barp_without_items_is_told_what_it_needs(run: Run, tables: dict[str, Path]) -> None:
    for known in ([], ["--items", tables["items"]]):
        outcome = run("rank", tables["judgments"], *known)
        assert outcome.status == 2
        assert "give --items FILE and --sensitive COLUMN" in " ".join(outcome.err.split())


def test_a_table_without_evaluators_is_told_how_to_name_them(
    run: Run, tables: dict[str, Path], tmp_path: Path
) -> None:
    judgments = tmp_path / "judgments.csv"
    text = tables["judgments"].read_text(encoding="utf-8").replace("judge\n", "whoever\n", 1)
    judgments.write_text(text, encoding="utf-8")
    outcome = run("rank", judgments, *words(tables)[2:])
    assert outcome.status == 2
    assert "with who judged, by --evaluator" in " ".join(outcome.err.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model", "bt", "--trusted", "judge 3"], "it is about biases"),
        (["--model", "crowdbt", "--anchor", "zero mean bias"], "it is about biases"),
        (["--model", "bt", "--bias-prior", "2"], "it is about biases"),
        (["--model", "factorbt", "--suggest"], "it is about biases"),
        (["--model", "rankcentrality", "--score-prior", "2"], "has no prior"),
        (["--trusted", "judge 3", "--anchor", "zero mean bias"], "no --anchor beside them"),
        (["--suggest"], "two --sensitive columns"),
        (["--model", "bt", "--own-seats"], "it is about biases"),
        (["--model", "bt", "--reference", "m"], "it is about biases"),
        (["--reference", "m,f"], "one group for each --sensitive"),
        (["--reference", "x"], "reference group 'x'"),
        (["--model", "bt", "--uncorrected"], "it is about biases"),
        (["--model", "bt", "--score-dependent"], "it is about biases"),
        (["--score-prior", "wide"], "'wide' is neither a number"),
        (["--model", "crowdbt", "--score-prior", "cross-validation"], "prior of scores cannot be"),
        (["--bias-prior", "0"], "prior of biases cannot be 0"),
        (["--model", "bt", "--evaluator", "judge"], "takes all who judged alike"),
        (["--model", "elo", "--cluster", "judge"], "no errors that clusters could widen"),
        (["--model", "bt", "--cluster", "judge"], "10 evaluators are too few"),
        (["--cluster", "judge"], "each evaluator judged in one cluster"),
        (["--cluster", "prompt"], "prompt"),
    ],
)
def test_options_without_effect_are_bad_input(
    run: Run, tables: dict[str, Path], more: list[str], said: str
) -> None:
    outcome = run(*words(tables), *more)
    assert outcome.status == 2
    assert said in outcome.err


def test_a_bias_turns_round_with_its_reference(run: Run, tables: dict[str, Path]) -> None:
    one, other = (
        json.loads(run(*words(tables), "--reference", group, "--json").out) for group in "fm"
    )
    assert [content["contrasts"][0]["name"] for content in (one, other)] == [
        "sex: m over f",
        "sex: f over m",
    ]
    first, second = (content["biases"][0] for content in (one, other))
    assert first["evaluator"] == second["evaluator"] == "judge 9"
    assert first["bias"] == pytest.approx(-second["bias"], rel=1e-4)


def test_the_joint_maximum_draws_biases_toward_zero(run: Run, tables: dict[str, Path]) -> None:
    corrected, joint = (
        json.loads(run(*words(tables), *more, "--json").out)
        for more in (["--sharpness", "equal"], ["--uncorrected"])
    )
    assert any("--uncorrected" in note for note in corrected["notes"])
    assert not any("--uncorrected" in note for note in joint["notes"])
    strongest, drawn = (content["biases"][0]["bias"] for content in (corrected, joint))
    assert 0.7 * strongest < drawn < strongest


def test_biases_that_do_not_grow_with_the_score_are_not_said_to(
    run: Run, tables: dict[str, Path]
) -> None:
    outcome = run(*words(tables), "--score-dependent")
    assert "Do biases grow with the score?" in outcome.out
    found = json.loads(run(*words(tables), "--score-dependent", "--json").out)["score_dependence"]
    assert found["dof"] == 1
    assert found["p_value"] > 0.01


def test_groups_without_items_are_bad_input(run: Run, tables: dict[str, Path]) -> None:
    outcome = run("rank", tables["judgments"], "--model", "bt", "--sensitive", "sex")
    assert outcome.status == 2
    assert "give --items" in outcome.err


@pytest.mark.long
def test_intersections_are_shown_and_summed_up(
    run: Run, tables: dict[str, Path], tmp_path: Path
) -> None:
    rows = tables["items"].read_text(encoding="utf-8").splitlines()
    old = [f"{row},{'old' if number % 4 < 2 else 'young'}" for number, row in enumerate(rows)]
    items = tmp_path / "items.csv"
    items.write_text("\n".join([f"{rows[0]},age", *old[1:]]) + "\n", encoding="utf-8")
    options = ["--items", items, "--sensitive", "sex,age", "--suggest"]
    outcome = run("rank", tables["judgments"], *options)
    assert outcome.status == 0
    assert "Intersections, whether they deserve" in outcome.out
    assert "of 1 looked at:" in " ".join(outcome.out.split())


def test_a_hint_names_the_anchor_as_the_command_line_does(
    run: Run, tables: dict[str, Path]
) -> None:
    outcome = run(*words(tables), "--trusted", "nobody")
    assert "--anchor 'equal group means'" in outcome.err


@pytest.mark.long
def test_comparisons_that_share_a_column_widen_errors(
    run: Run, tables: dict[str, Path], tmp_path: Path
) -> None:
    head, *rows = tables["judgments"].read_text(encoding="utf-8").splitlines()
    # Judgments of one prompt are copies of each other.
    copied = [f"{row},{prompt}" for prompt, row in enumerate(rows[:900]) for _ in range(4)]
    judgments = tmp_path / "judgments.csv"
    judgments.write_text("\n".join([f"{head},prompt", *copied]) + "\n", encoding="utf-8")
    for model in ([], ["--model", "bt"]):
        outcome = run("rank", judgments, *words(tables)[2:], *model, "--cluster", "prompt")
        assert outcome.status == 0
        assert "900 clusters by prompt" in " ".join(outcome.out.split())
    once = tmp_path / "once.csv"
    once.write_text("\n".join([head, *rows[:900]]) + "\n", encoding="utf-8")
    known = ["--model", "bt", "--score-prior", "5", "--json"]
    plain = json.loads(run("rank", once, *known).out)
    clustered = json.loads(run("rank", judgments, *known, "--cluster", "prompt").out)
    assert clustered["n_clusters"] == {"prompt": 900}
    errors = [[row["standard_error"] for row in one["ranking"]] for one in (plain, clustered)]
    # Four copies of every judgment tell no more than one.
    assert np.mean(errors[1]) == pytest.approx(np.mean(errors[0]), rel=0.15)


def test_the_command_names_intersections_and_tells_places(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    sex, race, quality = rng.choice(list("fm"), 60), rng.choice(list("ab"), 60), rng.normal(size=60)
    items = [f"i{k},{sex[k]},{race[k]}" for k in range(60)]
    (tmp_path / "items.csv").write_text("\n".join(["item,sex,race", *items]))
    rows = []
    for k in range(600):
        i, j = rng.choice(60, 2, replace=False)
        i, j = (i, j) if rng.random() < 1 / (1 + np.exp(quality[j] - quality[i])) else (j, i)
        rows.append(f"i{i},i{j},judge {k % 4}")
    (tmp_path / "judged.csv").write_text("\n".join(["better,worse,judge", *rows]))
    words = ["rank", tmp_path / "judged.csv", "--items", tmp_path / "items.csv"]
    words += ["--sensitive", "sex,race", "--evaluator", "judge", "--sharpness", "equal"]
    shown = " ".join(run(*words, "--top", 5, "--protected", "f").out.split())
    assert "Places of groups by sex" in shown
    assert "The first 5 places" in shown
    plain = json.loads(run(*words, "--places", "--intersections", "sex=f & race=b", "--json").out)
    assert [one["attribute"] for one in plain["places"]] == ["sex", "race"]
    named = [(one["attribute"], one["group"]) for one in plain["contrasts"]]
    assert ("sex x race", "f & b") in named


@pytest.mark.long
def test_lapses_are_given_estimated_or_refused(run: Run, tables: dict[str, Path]) -> None:
    found = json.loads(run(*words(tables), "--lapse-rate", "estimated", "--json").out)
    assert found["lapses"]["value"] < -2
    given = run(*words(tables), "--lapse-rate", "0.1", "--chance-between-groups")
    assert "10.0% of judgments are taken for random, as given" in given.out
    for value in ("much", "2"):
        assert run(*words(tables), "--lapse-rate", value).status == 2
