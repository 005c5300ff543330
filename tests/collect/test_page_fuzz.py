"""Odd requests to every route, drawn from a seed: no breakdown, no leak, nothing stored in vain."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from comparity.collect.app import create_app
from comparity.collect.pages import PAGES
from comparity.collect.safety import HEADERS, Limits
from comparity.collect.store import open_store
from tests.collect.page_studies import CHECKS, SECRETS, write_study
from tests.collect.visitors import Form, Forms

UNLIMITED = Limits(**dict.fromkeys(("judge", "stranger", "join", "login"), "1000000/minute"))
ODD = (
    *("", "0", "-1", "x" * 22, "x" * 5000, "..", "../../etc/passwd", "%00", "\x00", "\r\nX: y"),
    *("' or 1=1 --", '"><script>', "{{7777*3}}", "${7777*3}", "\u202e", "\U0001f600", "NaN"),
    *("left", "right", "tie", "skip", "undo", "true", "null", "[]", "1e309", "\u0663", "a&b=c;d"),
)
NAMES = ("csrf", "assignment", "client_id", "outcome", "milliseconds", "kind", "check-0", "instead")
HEADER_NAMES = ("accept", "origin", "host", "sec-fetch-site", "content-type", "x-forwarded-for")
HEADER_NAMES += ("cookie", "range", "if-none-match", "transfer-encoding-x", "content-encoding")
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")
ALLOWED = {200, 204, 303, 307, 400, 403, 404, 405, 409, 413, 415, 422, 429}
TRACES = ("Traceback", "sqlalchemy", "sqlite", "site-packages", "SELECT ", *SECRETS)


class Fuzzer:
    """Somebody who sends odd requests and now and then good ones, as a judge or as nobody."""

    paths: Sequence[str] = tuple(page.path for page in PAGES)

    def __init__(self, client: httpx.Client, tokens: list[str], seed: int) -> None:
        self.client = client
        self.tokens = tokens
        self.rng = random.Random(seed)
        self.fields: dict[str, list[str]] = {name: [] for name in NAMES}
        self.shown: list[Form] = []

    def value(self, name: str = "") -> str:
        """Return something odd, or something that a page has shown."""
        seen = self.fields.get(name, [])
        return (
            self.rng.choice(seen[-4:]) if seen and self.rng.random() < 0.8 else self.rng.choice(ODD)
        )

    def path(self) -> str:
        """Return the path of a page, with odd parts where it has any, and perhaps more of them."""
        path = self.rng.choice(self.paths)
        path = re.sub(r"\{\w+\}", lambda _: quote(self.value("assignment"), safe="./"), path)
        if "/j/" in path and self.rng.random() < 0.3:
            path = f"/j/{self.rng.choice(self.tokens)}"
        if self.rng.random() < 0.1:
            path += "/" + quote(self.rng.choice(ODD), safe="./%")
        if self.rng.random() < 0.2:
            path += f"?{quote(self.rng.choice(NAMES))}={quote(self.rng.choice(ODD))}"
        return path

    def form(self) -> dict[str, str]:
        names = self.rng.sample(NAMES, self.rng.randint(0, len(NAMES)))
        good = ("csrf", "assignment", "client_id") if self.rng.random() < 0.6 else ()
        given = {name: self.value(name) for name in (*names, *good)}
        if self.rng.random() < 0.7:
            given["outcome"] = self.rng.choice(["left", "right", "tie", "skip"])
        return given

    def step(self) -> httpx.Response:
        """Send one request and remember what its page shows."""
        good = self.shown and self.rng.random() < 0.4
        response = self.press(self.rng.choice(self.shown)) if good else self.request()
        if "<form" in response.text:
            self.shown = Forms(response.text).found
        for form in self.shown:
            for name, value in form.fields.items():
                self.fields.setdefault(name, []).append(value)
        return response

    def press(self, form: Form) -> httpx.Response:
        """Send a form as a judge would, perhaps with one field that is odd."""
        given = {**form.fields, **dict(self.rng.sample(form.buttons, min(1, len(form.buttons))))}
        given |= {name: self.rng.choice(values) for name, values in form.choices.items()}
        given.pop("", None)
        if given and self.rng.random() < 0.2:
            given[self.rng.choice([*given])] = self.rng.choice(ODD)
        return self.client.post(form.action, data=given)

    def request(self) -> httpx.Response:
        """Send something odd."""
        headers = {}
        for name in self.rng.sample(HEADER_NAMES, self.rng.choice([0, 0, 0, 1, 2])):
            value = self.rng.choice(ODD).encode("utf-8", "replace").replace(b"\r\n", b"")
            headers[name.encode()] = value.replace(b"\x00", b"")
        method = (
            self.rng.choice(METHODS)
            if self.rng.random() < 0.1
            else self.rng.choice(["GET", "POST"])
        )
        if self.rng.random() < 0.02:
            self.client.cookies.clear()
        body: dict[str, Any] = {}
        if method == "POST":
            body = (
                {"data": self.form()} if self.rng.random() < 0.9 else {"content": b"\xff=\x00" * 9}
            )
        return self.client.request(method, self.path(), headers=headers, **body)


def fuzz(folder: Path, n: int, seed: int) -> tuple[dict[int, int], int]:
    """Send odd requests; return how often which status came back, and how much was stored."""
    choices = {"checks": CHECKS, "practices": 1, "break_every": 4, "open_link": True}
    path = write_study(
        folder / "study.db", **choices, each=200, texts=[f"Text {k}" for k in range(40)]
    )
    statuses: dict[int, int] = {}
    with open_store(path) as store:
        tokens = [token for _, token in store.insert_judges(8, now=0.0)]
        client = TestClient(
            create_app(store, limits=UNLIMITED, clock=lambda: 10.0), follow_redirects=True
        )  # type: ignore[arg-type]
        fuzzer = Fuzzer(client, tokens, seed)
        for _ in range(n):
            response = fuzzer.step()
            asked = (response.request.method, str(response.request.url)[:200], response.text[:500])
            assert response.status_code in ALLOWED, asked
            assert not [one for one in TRACES if one in response.text], asked
            assert response.headers["x-content-type-options"] == HEADERS["x-content-type-options"]
            assert "23331" not in response.text, asked
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        with store.owner.begin() as connection:
            stored = connection.execute(sa.text("select count(*) from judgment")).scalar_one()
    return statuses, stored


@pytest.mark.long
@pytest.mark.parametrize(("n", "seed"), [(500, 1), pytest.param(10_000, 2, marks=pytest.mark.slow)])
def test_odd_requests_break_and_reveal_nothing(tmp_path: Path, n: int, seed: int) -> None:
    statuses, stored = fuzz(tmp_path, n, seed)
    # A fuzz that only knocked at the door would find nothing behind it.
    assert {200, 400, 403, 404, 405} <= {*statuses}
    assert stored > 0
