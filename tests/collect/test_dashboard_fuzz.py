"""Odd requests to the dashboard, by somebody who is logged in at times: no breakdown, no leak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from comparity.collect import dashboard, owner
from comparity.collect.app import create_app
from comparity.collect.dashboard import HOME, OWNERS_PAGES
from comparity.collect.pages import PAGES
from comparity.collect.safety import HEADERS
from comparity.collect.store import Store, open_store
from tests.collect.page_studies import SECRETS, write_study
from tests.collect.test_page_fuzz import ALLOWED, ODD, TRACES, UNLIMITED, Fuzzer
from tests.collect.visitors import Form

PASSWORD = "known to the fuzz"
ORIGIN = {"origin": "http://testserver"}
FACTS = [one for one in TRACES if one not in SECRETS]
"""What nobody is told, also not whoever runs the study."""


class OwnersFuzzer(Fuzzer):
    """Somebody who knows the dashboard's addresses, and sometimes its password."""

    paths = (*(page.path for page in OWNERS_PAGES for _ in range(4)), *(one.path for one in PAGES))

    def step(self) -> httpx.Response:
        if self.rng.random() < 0.05:
            # What forms of this page have is sent on, also after the session is over.
            given = PASSWORD if self.rng.random() < 0.7 else self.rng.choice(ODD)
            path = f"{HOME}/login"
            return self.client.post(path, data={"password": given}, headers=ORIGIN)
        if self.rng.random() < 0.03:
            cookies = [one for one in self.client.cookies if one.startswith("owner_")]
            for one in cookies:
                self.client.cookies.set(one, self.rng.choice(["x" * 22, "y", *self.tokens]))
        return super().step()

    def path(self) -> str:
        path = super().path()
        if "/export/" in path and self.rng.random() < 0.5:
            kind = self.rng.choice(["csv", "parquet", "jsonl", "", "xlsx"])
            return f"{HOME}/export/study-{kind}.zip"
        return path

    def press(self, form: Form) -> httpx.Response:
        response = super().press(form)
        if response.status_code == 403 and form.action.startswith(HOME):
            return self.client.post(form.action, data=form.fields, headers=ORIGIN)
        return response


def is_owner(store: Store, response: httpx.Response) -> bool:
    sent = response.request.headers.get("cookie", "")
    tokens = [one.partition("=")[2] for one in sent.split("; ") if one.startswith("owner_")]
    return any(store.is_logged_in(one, now=10.0) for one in tokens)


def fuzz(folder: Path, n: int, seed: int) -> dict[tuple[int, bool], int]:
    """Send odd requests; return how often which status came back, to the owner and to others."""
    path = write_study(folder / "study.db", consent="", instructions="", each=60, open_link=True)
    found: dict[tuple[int, bool], int] = {}
    with open_store(path) as store:
        store.set_password(PASSWORD, now=0.0)
        tokens = [token for _, token in store.insert_judges(4, now=0.0)]
        app: Any = create_app(store, limits=UNLIMITED, clock=lambda: 10.0)
        fuzzer = OwnersFuzzer(TestClient(app, follow_redirects=True), tokens, seed)
        for _ in range(n):
            response = fuzzer.step()
            knows = is_owner(store, response)
            asked = (response.request.method, str(response.request.url)[:200], response.text[:500])
            assert response.status_code in ALLOWED, asked
            assert not [one for one in FACTS if one in response.text], asked
            assert knows or not [one for one in SECRETS if one in response.text], asked
            assert response.headers["x-content-type-options"] == HEADERS["x-content-type-options"]
            found[response.status_code, knows] = found.get((response.status_code, knows), 0) + 1
    return found


@pytest.mark.long
@pytest.mark.parametrize(("n", "seed"), [(250, 1), pytest.param(10_000, 2, marks=pytest.mark.slow)])
def test_odd_requests_to_the_dashboard_break_and_reveal_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, seed: int
) -> None:
    cheap = owner.PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr(owner, "_HASHER", cheap)
    # A window that is kept up to date would never end.
    monkeypatch.setattr(dashboard, "MOST_LISTENERS", 0)
    found = fuzz(tmp_path, n, seed)
    # A fuzz that only knocked at the door would find nothing behind it.
    assert {(200, True), (403, False), (404, True), (429, True)} <= {*found}
