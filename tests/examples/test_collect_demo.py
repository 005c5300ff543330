"""The demonstration of ``make collect-demo`` can be joined and judged to its end."""

from pathlib import Path

from starlette.testclient import TestClient

from comparity.collect.app import create_app
from comparity.collect.store import open_store
from tests.collect.visitors import Visitor
from tests.examples.test_bridges import example


def test_the_demonstration_can_be_judged_to_its_end(tmp_path: Path) -> None:
    example("collect_demo").make_study(tmp_path / "study.db")
    with open_store(tmp_path / "study.db") as store:
        visitor = Visitor(TestClient(create_app(store)))  # type: ignore[arg-type]
        visitor.open("/join")
        visitor.press("/join")
        visitor.press("/consent")
        visitor.press("/comprehension", **{"check-0": "0", "check-1": "0"})
        visitor.press("/judgment", outcome="left")
        assert "most people would invite" in visitor.response.text
        visitor.open("/")
        n = 0
        while "Thank you" not in visitor.page.heading:
            if "break" in visitor.page.heading:
                visitor.press("/break")
            visitor.press("/judgment", outcome="right")
            n += 1
    assert n >= 24
    assert "THANKS-24" in visitor.response.text
