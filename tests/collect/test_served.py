"""A small study through HTTP, with the server that the command starts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from comparity.collect.export import select_answers
from comparity.collect.store import open_store
from tests.collect.page_studies import CHECKS, write_study
from tests.collect.visitors import Visitor, served

pytestmark = pytest.mark.long


def judge_all(address: str, token: str) -> list[tuple[str, str]]:
    """Go through a whole study; return each pair and what was answered."""
    answers = []
    with httpx.Client(base_url=address, timeout=30) as client:
        visitor = Visitor(client)
        visitor.open(f"/j/{token}")
        visitor.press("/consent")
        visitor.press("/comprehension", **{"check-0": "0"})
        visitor.press("/judgment", outcome="left")
        visitor.open("/")
        while "Thank you" not in visitor.page.heading:
            if "break" in visitor.page.heading:
                visitor.press("/break")
            outcome = ("left", "right", "tie", "skip")[len(answers) % 4]
            answers.append((visitor.form("/judgment").fields["assignment"], outcome))
            assert visitor.press("/judgment", outcome=outcome).status_code == 200
    return answers


def test_five_judges_at_once_lose_nothing(tmp_path: Path) -> None:
    choices = {"checks": CHECKS, "practices": 1, "break_every": 4, "judges": 5, "each": 8}
    path = write_study(tmp_path / "study.db", **choices)
    with open_store(path) as store:
        tokens = [token for _, token in store.insert_judges(5, now=0.0)]
    with served(path) as address, ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda token: judge_all(address, token), tokens))
    with open_store(path) as store, store.owner.begin() as connection:
        kept = [one for one in select_answers(connection) if one["kind"] == "pair"]
    assert [len(one) for one in answers] == [8] * 5
    assert len({pair for one in answers for pair, _ in one}) == 40
    assert sorted(one["outcome"] for one in kept) == sorted(
        outcome for one in answers for _, outcome in one
    )
    assert {one["evaluator"] for one in kept} == {f"judge {number}" for number in range(1, 6)}


def test_the_server_tells_nothing_of_itself_and_trusts_no_stranger_as_proxy(tmp_path: Path) -> None:
    path = write_study(tmp_path / "study.db")
    with open_store(path) as store:
        token = store.insert_judges(1, now=0.0)[0][1]
    with served(path, "--proxy", "10.9.9.9") as address:
        forwarded = {"x-forwarded-proto": "https"}
        answer = httpx.get(f"{address}/j/{token}", headers=forwarded)
        assert answer.status_code == 303
        assert "server" not in answer.headers
        assert "Secure" not in answer.headers["set-cookie"]
    with served(path) as address:
        behind = httpx.get(f"{address}/j/{token}", headers=forwarded)
        assert "Secure" in behind.headers["set-cookie"]
        assert "strict-transport-security" in behind.headers
