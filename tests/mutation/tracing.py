"""A plugin of pytest: tells coverage which test runs, and keeps how long each of them takes."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

SECONDS = Counter[str]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note what runs from here on as this test's, all its cases together."""
    name = item.nodeid.partition("[")[0]
    traced = Coverage.current()
    assert traced is not None
    traced.switch_context(name)
    before = time.process_time()
    answer = yield
    SECONDS[name] += time.process_time() - before
    traced.switch_context("")
    return answer


def pytest_sessionfinish() -> None:
    """Write the seconds where the environment says."""
    Path(os.environ["MUTANTS_SECONDS"]).write_text(json.dumps(SECONDS), encoding="utf-8")
