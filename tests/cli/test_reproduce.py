import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comparity.cli.reproduce import read_published
from comparity.errors import PublishedFileError
from tests.mutants import toml_mutants

Run = Callable[..., Any]

PUBLISHED = """
paper = "900"
title = "Coins"
authors = "Nobody"

[parts."table 1"]
question = "How often is heads seen?"
time = "1 s"

[parts."table 1".published]
"fair" = { share = 0.5, word = "even" }
"bent" = { share = 0.75 }

[parts."figure 2"]
question = "What does it look like?"
time = "2 s"

[absent]
"table 9" = "the coins were lost"
"""
SCRIPT = """
from pathlib import Path

from coins import share

from comparity.cli.reproduce import read_published, track_progress
from comparity.cli.reproduce import as_script
from comparity.cli.published import Conclusion

PUBLISHED = read_published(Path(__file__).parent)


def table_1(request):
    ours = {"fair": {"share": share(), "word": "even"}, "bent": {"share": 0.7, "n": 10}}
    rows = PUBLISHED.beside(
        "table 1", ours, tolerance=0.01, spread={"bent": {"share": 0.01}}, why={"bent": "few coins"}
    )
    return PUBLISHED.reproduction(
        "table 1", rows, conclusions=(Conclusion("bent coins differ", True),),
        options={"seed": request.seed, "runs": request.runs},
    )


def figure_2(request):
    request.home()
    path = request.picture("figure_2.txt")
    path.write_text("a picture")
    return PUBLISHED.reproduction("figure 2", (), figures=(str(path),))


PARTS = {"table 1": table_1, "figure 2": figure_2}

if __name__ == "__main__":
    as_script(__file__)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    paper = tmp_path / "reproductions" / "900"
    paper.mkdir(parents=True)
    (paper / "published.toml").write_text(PUBLISHED, encoding="utf-8")
    (paper / "reproduce.py").write_text(SCRIPT, encoding="utf-8")
    (paper / "coins.py").write_text("def share():\n    return 0.505\n", encoding="utf-8")
    return paper.parent


def test_papers_and_parts_are_listed_with_times_and_what_cannot_be_run(
    run: Run, folder: Path
) -> None:
    shown = run("reproduce", "--directory", folder)
    assert shown.status == 0
    for words in ("Coins", "table 1", "2 s", "table 9", "the coins were lost", "cannot be run"):
        assert words in shown.out
    (only,) = json.loads(run("reproduce", "--directory", folder, "--json").out)
    assert only["parts"]["figure 2"] == {"question": "What does it look like?", "time": "2 s"}


@pytest.mark.parametrize("option", ["--html", "--output"])
def test_a_list_is_not_written_anywhere(run: Run, folder: Path, option: str) -> None:
    outcome = run("reproduce", "--directory", folder, option, folder / "out")
    assert (outcome.status, outcome.out) == (2, "")
    assert option in outcome.err
    assert not (folder / "out").exists()


def test_published_ours_and_difference_stand_beside_each_other(run: Run, folder: Path) -> None:
    outcome = run("reproduce", "900", "--table", "1", "--directory", folder, "--json", "--runs", 7)
    content = json.loads(outcome.out)
    fair, word, bent, count = content["rows"]
    assert (fair["published"], fair["ours"], fair["matches"]) == (0.5, 0.505, True)
    assert fair["difference"] == pytest.approx(0.005)
    assert (word["published"], word["matches"], word["difference"]) == ("even", True, None)
    # Half a unit and 3.29 standard errors are 0.043; the coin is 0.05 away.
    assert (bent["matches"], bent["why"]) == (False, "few coins")
    assert (count["published"], count["matches"]) == (None, None)
    assert content["provenance"]["options"] == {"seed": 0, "runs": 7}


def test_the_terminal_counts_what_comes_out_and_says_why_the_rest_does_not(
    run: Run, folder: Path
) -> None:
    shown = run("reproduce", "900", "--table", "1", "--directory", folder).out
    assert "2 of 3 published numbers come out, 1 of 1 conclusions hold" in shown
    assert "few coins" in shown
    assert "holds: bent coins differ" in shown


def test_all_parts_run_and_what_could_not_is_said(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMPARITY_DATA", raising=False)
    words = ("reproduce", "--all", "--directory", folder, "--output", tmp_path / "pictures")
    outcome = run(*words, "--json")
    assert outcome.status == 2
    assert list(json.loads(outcome.out)) == ["900 table 1"]
    assert "900 figure 2: this part needs real data." in outcome.err
    assert "COMPARITY_DATA" in outcome.err
    outcome = run(*words, "--data", tmp_path, "--html", tmp_path / "all.html")
    assert outcome.status == 0
    assert (tmp_path / "pictures" / "figure_2.txt").read_text(encoding="utf-8") == "a picture"
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert "900 table 1" in page
    assert "0.505" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["900", "--table", "3"], "did you mean table 1?"),
        (["900", "--table", "9"], "the coins were lost"),
        (["901"], "papers 900"),
        (["--table", "1"], "say which paper"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(
    run: Run, folder: Path, words: list[str], said: str
) -> None:
    outcome = run("reproduce", *words, "--directory", folder)
    assert outcome.status == 2
    assert said in outcome.err


@pytest.mark.parametrize("name", ["", "none", "x" * 300])
def test_an_installation_without_source_says_where_the_scripts_are(
    run: Run, tmp_path: Path, name: str
) -> None:
    outcome = run("reproduce", "--directory", tmp_path / name)
    assert outcome.status == 2
    assert "clone the repository" in outcome.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('paper = "900"', "paper = ", "Invalid value (at line 2"),
        ('paper = "900"', "paper = 900", "'paper' is no text"),
        ('title = "Coins"', "", "no key 'title'"),
        ('title = "Coins"', f"title = {'9' * 5000}", "integer string conversion"),
        ('title = "Coins"', f"title = {'[' * 5000}", "recursion"),
        ("[absent]", "[[absent]]", "'absent' is no table"),
        ('"the coins were lost"', "9", "'absent'.'table 9' is no text"),
        ('time = "1 s"', "", "no key 'parts'.'table 1'.'time'"),
        ('time = "1 s"', 'time = " "', "'parts'.'table 1'.'time' is no text"),
        ('[parts."figure 2"]', "[[parts.lots]]", "'parts'.'lots' is no table"),
        ("{ share = 0.75 }", "0.75", "'parts'.'table 1'.'published'.'bent' is no table"),
        ("share = 0.75", "share = true", "'bent'.'share' is neither number nor word"),
        ("share = 0.75", "share = nan", "'bent'.'share' is neither number nor word"),
        ("share = 0.75", f"share = {10**400}", "'bent'.'share' is neither number nor word"),
        ("share = 0.75", "share = [0.75]", "'bent'.'share' is neither number nor word"),
    ],
)
def test_a_broken_file_of_numbers_is_named_with_the_place(
    run: Run, folder: Path, old: str, new: str, said: str
) -> None:
    path = folder / "900" / "published.toml"
    assert old in PUBLISHED
    path.write_text(PUBLISHED.replace(old, new), encoding="utf-8")
    outcome = run("reproduce", "900", "--directory", folder)
    assert outcome.status == 2
    assert outcome.err.startswith(f"Error: {path} does not hold the numbers of a paper.")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_a_part_without_a_function_is_named(run: Run, folder: Path) -> None:
    path = folder / "900" / "published.toml"
    path.write_text(PUBLISHED.replace("figure 2", "figure 3"), encoding="utf-8")
    outcome = run("reproduce", "900", "--figure", 3, "--directory", folder)
    assert outcome.status == 2
    assert f"{path} does not hold" in outcome.err
    assert "a part 'figure 3' that reproduce.py lacks" in outcome.err


def test_a_row_that_a_script_asks_for_and_the_file_lacks_is_named(folder: Path) -> None:
    numbers = read_published(folder / "900").numbers["table 1"]
    assert numbers["bent"] == {"share": 0.75}
    with pytest.raises(PublishedFileError, match=r"no key 'parts'\.'table 1'\.'published'\.'odd'"):
        numbers["odd"]
    with pytest.raises(PublishedFileError, match=r"'bent'\.'word'"):
        numbers["bent"]["word"]


@pytest.mark.long
def test_broken_files_of_numbers_are_read_or_refused(folder: Path) -> None:
    path, refused = folder / "900" / "published.toml", 0
    for mutant in toml_mutants(PUBLISHED, 1_000):
        path.write_bytes(mutant)
        try:
            read_published(path.parent)
        except PublishedFileError:
            refused += 1
    assert 100 < refused < 1_000


def test_neighbours_of_one_paper_are_not_those_of_another(run: Run, folder: Path) -> None:
    other = folder / "901"
    other.mkdir()
    for name in ("published.toml", "reproduce.py"):
        text = (folder / "900" / name).read_text(encoding="utf-8").replace('"900"', '"901"')
        (other / name).write_text(text, encoding="utf-8")
    (other / "coins.py").write_text("def share():\n    return 0.25\n", encoding="utf-8")
    found = [
        json.loads(run("reproduce", paper, "--table", 1, "--directory", folder, "--json").out)
        for paper in ("900", "901")
    ]
    assert [one["rows"][0]["ours"] for one in found] == [0.505, 0.25]


def test_the_script_runs_alone(folder: Path) -> None:
    words = [sys.executable, str(folder / "900" / "reproduce.py"), "--table", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert "2 of 3 published numbers come out" in done.stdout


def test_a_file_that_the_data_folder_lacks_is_named(run: Run, tmp_path: Path) -> None:
    outcome = run("reproduce", "002", "--table", 2, "--data", tmp_path)
    assert outcome.status == 2
    assert f"no file {tmp_path / 'scut_fbp5500' / 'Ratings.csv'}" in outcome.err


def test_a_real_part_is_found_without_a_folder_being_named(run: Run) -> None:
    """The bridges of section 2.3 of 002, beside an independent simulation of 1,500 runs."""
    outcome = run("reproduce", "002", "--part", "Simulation", "--runs", 8, "--json")
    content = json.loads(outcome.out)
    assert (outcome.status, content["paper"], content["part"]) == (0, "002", "Simulation")
    effects = [row for row in content["rows"] if row["column"].endswith("effect")]
    assert len(effects) == 12
    assert [row["row"] for row in effects if not row["matches"]] == []
