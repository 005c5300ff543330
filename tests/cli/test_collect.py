"""A study from the command line: made, judged, watched, exported, closed, copied, erased."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comparity.collect.store import open_store
from comparity.results.result import read_result

Run = Callable[..., Any]
NOW = 1_700_000_000.0


@pytest.fixture
def study(run: Run, tmp_path: Path) -> Path:
    rows = [f"{k:03d},{'fm'[k % 2]},text {k},{k / 7:.4f}" for k in range(40)]
    (tmp_path / "items.csv").write_text("\n".join(["item,sex,text,model", *rows]))
    (tmp_path / "study.toml").write_text(
        'question = "Which is clearer?"\nitems = "items.csv"\nshow = "text"\nsensitive = "sex"\n'
        'score = "model"\njudges = 2\neach = 30\nseed = 3\nopen_link = true\n'
    )
    made = run("collect", "init", tmp_path / "study.toml", "--to", tmp_path / "study.db")
    assert made.status == 0, made.err
    assert "0 of 60 judgments collected" in made.out
    return tmp_path / "study.db"


def judge_all(study: Path) -> int:
    """Let one more judge put the item first whose text comes first."""
    with open_store(study) as store:
        ((_, token),) = store.insert_judges(1, now=NOW)
        for done in range(1000):
            judge = store.judge_of(token, now=NOW)
            assert judge is not None
            pair = store.next_assignment(judge, now=NOW)
            if pair is None:
                return done
            first = pair.left.shown[0].text < pair.right.shown[0].text
            store.insert_judgment(
                judge,
                assignment=pair.public_id,
                outcome="left" if first else "right",
                client_id=f"c{done}",
                milliseconds=900,
                now=NOW,
            )
    raise AssertionError


def test_what_judges_answer_is_exported_and_audited(run: Run, study: Path) -> None:
    folder = study.parent / "out"
    n = judge_all(study)
    exported = run("collect", "export", study, "--folder", folder)
    assert exported.status == 0
    assert f"{n} judgments exported" in exported.out
    tables = (folder / "comparisons.csv", "--items", folder / "items.csv", "--sensitive", "sex")
    audit = run("comparative", *tables, "--score", "model", "--json")
    assert audit.status in (0, 1, 3)
    assert sum(json.loads(audit.out)["tests"][0]["n"]) <= n
    ranking = run("rank", *tables, "--json")
    assert ranking.status in (0, 1, 3), ranking.err


def test_status_is_a_result_that_can_be_read_back(run: Run, study: Path) -> None:
    n = judge_all(study)
    told = run("collect", "status", study, "--json")
    found = read_result(json.loads(told.out))
    assert (found.judged, found.judges[0].state, found.judges[0].answered) == (n, "done", n)


def test_options_make_a_study_without_a_file(run: Run, study: Path) -> None:
    items = study.parent / "items.csv"
    words = ("--items", items, "--show", "text", "--question", "Q?", "--goal", "rank")
    made = run("collect", "init", *words, "--to", study.parent / "two.db", "--each", 5)
    assert "0 of 5 judgments collected" in made.out


def test_options_win_over_the_file(run: Run, study: Path) -> None:
    file = study.with_suffix(".toml")
    made = run("collect", "init", file, "--to", study.parent / "two.db", "--each", 10)
    assert "0 of 20 judgments collected" in made.out
    (study.parent / "plan.json").write_text('{"n_pairs": 31}')
    planned = ("--to", study.parent / "three.db", "--plan", study.parent / "plan.json")
    assert "0 of 32 judgments collected" in run("collect", "init", file, *planned).out


def test_links_are_printed_once_and_open_the_study(run: Run, study: Path) -> None:
    words = ("--number", 3, "--days", 2, "--base", "https://a.example/")
    printed = run("collect", "judges", "add", study, *words).out.splitlines()
    names, links = zip(*(line.split("\t") for line in printed), strict=True)
    assert names == ("judge 1", "judge 2", "judge 3")
    tokens = [link.removeprefix("https://a.example/j/") for link in links]
    assert run("collect", "judges", "revoke", study, "--judge", "judge 2").status == 0
    with open_store(study) as store:
        known = [store.judge_of(token, now=0.0) is not None for token in tokens]
    assert known == [True, False, True]
    listed = run("collect", "judges", "list", study).out
    assert listed.splitlines()[1] == "judge 2\trevoked\t0"
    assert not any(token in listed for token in tokens)


def test_a_study_is_closed_opened_copied_and_erased(run: Run, study: Path) -> None:
    n = judge_all(study)
    assert "closed" in run("collect", "close", study).err
    assert "The study is closed" in run("collect", "status", study).out
    assert "open" in run("collect", "close", study, "--reopen").err
    copy = study.parent / "copy.db"
    assert run("collect", "backup", study, "--to", copy).status == 0
    assert "erased 1 judge" in run("collect", "erase", study, "--judge", "judge 1").err
    assert "0 of 60" in run("collect", "status", study).out
    assert f"{n} of 60" in run("collect", "status", copy).out


@pytest.mark.long
def test_tasks_are_compared_from_the_study_and_from_its_export(run: Run, study: Path) -> None:
    both = study.parent / "both.db"
    words = (
        "--task",
        "both",
        "--rating-question",
        "How clear is it?",
        "--judges",
        12,
        "--each",
        16,
    )
    words += ("--swapped-share", 0.2, "--shared-share", 0.3)
    assert run("collect", "init", study.with_suffix(".toml"), "--to", both, *words).status == 0
    answer_both(both)
    assert run("collect", "export", both, "--folder", study.parent / "out").status == 0
    asked = ("--json", "--gap", 0.1)
    found = [run("collect", "compare", one, *asked) for one in (both, study.parent / "out")]
    assert found[0].status == 0, found[0].err
    assert found[0].out == found[1].out
    told = read_result(json.loads(found[0].out))
    assert (told.n_raters, told.n_comparers, told.n_ratings) == (6, 6, 6 * 16)
    # Ratings take half a second and comparisons 0.9, by everybody.
    assert told["time"].value == pytest.approx(5 / 9)
    assert told["median time"].ratings.value == 0.5
    # Everybody orders texts in the same way, always.
    assert told["consistency"].comparisons.value == told["agreement"].comparisons.value == 1


def answer_both(study: Path) -> None:
    """Let 12 judges order texts by their numbers, pairs and points alike."""
    with open_store(study) as store:
        for _, token in store.insert_judges(12, now=NOW):
            judge = store.judge_of(token, now=NOW)
            assert judge is not None
            while (shown := store.next_assignment(judge, now=NOW)) is not None:
                left, right = (int(s.shown[0].text.split()[1]) for s in (shown.left, shown.right))
                side = "left" if left > right else "right"
                rates = judge.task == "rate"
                store.insert_judgment(
                    judge,
                    assignment=shown.public_id,
                    outcome=str(1 + left * 7 // 40) if rates else side,
                    client_id=shown.public_id,
                    milliseconds=500 if rates else 900,
                    now=NOW,
                )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("init",), "needs items"),
        (("compare", "none.db"), "holds no study"),
        (("compare", "."), "holds no study"),
        (("status", "none.db"), "holds no study"),
        (("erase", "STUDY"), "--judge"),
        (("erase", "STUDY", "--judge", "nobody"), "no judge is called 'nobody'"),
        (("judges", "revoke", "STUDY", "--judge", "nobody"), "no judge is called"),
        (("init", "TOML", "--to", "STUDY"), "holds a study already"),
        (("export", "STUDY"), "table is empty"),
        (("status", "TOML"), "no study"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Run, study: Path, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    known = {"STUDY": study, "TOML": study.with_suffix(".toml")}
    told = run("collect", *(known.get(word, word) for word in words))
    assert told.status == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_a_password_is_not_shown(run: Run) -> None:
    told = run("collect", "status", "postgresql://ann:secret@127.0.0.1:1/none")
    assert told.status == 2
    assert "secret" not in told.err
