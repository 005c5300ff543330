"""Judges' pages through HTTP, as a browser without scripts sees them, and as strangers try them."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import getsource
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from comparity.collect.app import create_app
from comparity.collect.joined_judge import Picture
from comparity.collect.pages import PAGES, STATIC
from comparity.collect.safety import HEADERS, ITEM_POLICY, Limits, form_secret
from comparity.collect.store import Store, open_store
from tests.collect.conftest import MakeStore
from tests.collect.page_studies import CHECKS, SECRETS, png, write_study
from tests.collect.studies import NOW
from tests.collect.visitors import Visitor

JSON = {"accept": "application/json"}


@dataclass
class Site:
    """A study that is served within the test, with a clock that the test turns."""

    store: Store
    limits: Limits = field(default_factory=Limits)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.app = create_app(self.store, limits=self.limits, clock=lambda: self.now)

    def client(self, **choices: Any) -> TestClient:
        return TestClient(self.app, base_url="http://study.example", **choices)  # type: ignore[arg-type]

    def token(self, **choices: Any) -> str:
        return self.store.insert_judges(1, now=self.now, **choices)[0][1]

    def visitor(self, token: str | None = None) -> Visitor:
        visitor = Visitor(self.client())
        visitor.open(f"/j/{token or self.token()}")
        return visitor

    def judging(self) -> Visitor:
        """Return a judge who sees the first pair."""
        visitor = self.visitor()
        visitor.press("/consent")
        return visitor

    def outcomes(self) -> list[str]:
        """Return everything that was stored of answers, in its order."""
        with self.store.owner.begin() as connection:
            rows = connection.execute(sa.text("select outcome from judgment order by id"))
            return [row[0] for row in rows]


Make = Callable[..., Site]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that writes each study once: making one takes longer than judging it."""
    folder, known = tmp_path_factory.mktemp("studies"), {}

    def write(**choices: Any) -> Path:
        key = repr(choices)
        if key not in known:
            known[key] = write_study(folder / f"{len(known)}.db", **choices)
        return known[key]

    return write


@pytest.fixture
def site(tmp_path: Path, written: Callable[..., Path]) -> Iterator[Make]:
    stores: list[Store] = []

    def make(limits: Limits | None = None, **choices: Any) -> Site:
        path = tmp_path / f"study-{len(stores)}.db"
        shutil.copy(written(**choices), path)
        stores.append(open_store(path))
        return Site(stores[-1], limits or Limits())

    yield make
    for store in stores:
        store.dispose()


def test_a_whole_study_by_plain_forms(site: Make) -> None:
    study = site(checks=CHECKS, practices=1, break_every=3, attention=True, attention_share=0.2)
    visitor = study.visitor()
    assert visitor.page.heading == "Before you begin"
    visitor.press("/consent")
    visitor.press("/comprehension", **{"check-0": "0"})
    assert "Practice" in visitor.response.text
    visitor.press("/judgment", outcome="left")
    assert "<strong>longer</strong>" in visitor.response.text
    visitor.open("/")
    seen = []
    while "Thank you" not in visitor.page.heading:
        if "break" in visitor.page.heading:
            visitor.press("/break")
        seen.append(visitor.form("/judgment").fields["assignment"])
        visitor.press("/judgment", outcome="right")
    assert len(seen) == len({*seen}) >= 6
    assert study.outcomes() == ["left", *["right"] * len(seen)]
    assert "CODE-7" in visitor.response.text


def test_pages_are_the_same_on_every_database(make_store: MakeStore) -> None:
    study = Site(make_store(each=5, judges=2, practice=1, consent="Do you agree?"), now=NOW)
    visitor = study.judging()
    visitor.press("/judgment", outcome="left")
    visitor.open("/")
    while "Thank you" not in visitor.page.heading:
        visitor.press("/judgment", outcome="right")
    assert study.outcomes() == ["left", *["right"] * (len(study.outcomes()) - 1)]
    assert len(study.outcomes()) > 5


def test_an_open_link_makes_a_judge_who_brings_ids_along(site: Make) -> None:
    study = site(open_link=True)
    visitor = Visitor(study.client())
    visitor.open("/join?PROLIFIC_PID=abc123&evil name=1&long=" + "x" * 200)
    assert visitor.form("/join").fields == {"external.PROLIFIC_PID": "abc123"}
    visitor.press("/join")
    assert visitor.page.heading == "Before you begin"
    with study.store.owner.begin() as connection:
        kept = connection.execute(sa.text("select external from judge")).scalars().all()
    assert [one for one in kept if one] == ['{"PROLIFIC_PID": "abc123"}']


def test_the_same_ids_cannot_join_twice(site: Make) -> None:
    study = site(open_link=True)
    for status in (200, 409):
        visitor = Visitor(study.client())
        visitor.open("/join?PROLIFIC_PID=abc123")
        assert visitor.press("/join").status_code == status


def test_without_an_open_link_nobody_makes_a_judge(site: Make) -> None:
    study = site()
    visitor = Visitor(study.client())
    assert "personal link" in visitor.open("/join").text
    assert visitor.client.post("/join").status_code == 403


def test_two_wrong_tries_at_the_check_end_the_study(site: Make) -> None:
    visitor = site(checks=CHECKS).visitor()
    visitor.press("/consent")
    assert visitor.press("/comprehension").status_code == 422
    assert visitor.press("/comprehension", **{"check-0": "1"}).status_code == 422
    assert "Tries left: 1" in visitor.response.text
    visitor.press("/comprehension", **{"check-0": "1"})
    assert "cannot go on" in visitor.response.text


def test_declining_stores_nothing(site: Make) -> None:
    study = site()
    visitor = study.visitor()
    assert visitor.open("/declined").status_code == 200
    assert study.visitor().page.heading == "Before you begin"
    assert study.outcomes() == []


def test_a_form_sent_twice_is_stored_once_and_shows_the_same(site: Make) -> None:
    study = site()
    visitor = study.judging()
    form = visitor.form("/judgment")
    assert visitor.send(form, outcome="left").status_code == 200
    shown = visitor.form("/judgment").fields["assignment"]
    assert visitor.send(form, outcome="right").status_code == 200
    assert visitor.form("/judgment").fields["assignment"] == shown
    assert study.outcomes() == ["left"]


def test_undo_shows_the_last_pair_again_and_keeps_both_rows(site: Make) -> None:
    study = site()
    visitor = study.judging()
    first = visitor.form("/judgment").fields["assignment"]
    visitor.press("/judgment", outcome="left")
    visitor.press("/undo")
    assert visitor.form("/judgment").fields["assignment"] == first
    visitor.press("/judgment", outcome="tie")
    assert study.outcomes() == ["left", "undo", "tie"]


def test_a_second_browser_goes_on_where_the_first_one_stopped(site: Make) -> None:
    study = site()
    token = study.token()
    visitor = study.visitor(token)
    visitor.press("/consent")
    visitor.press("/judgment", outcome="left")
    other = study.visitor(token)
    pairs = [one.form("/judgment").fields["assignment"] for one in (visitor, other)]
    assert pairs[0] == pairs[1]


def test_the_script_gets_what_it_asks_for(site: Make) -> None:
    study = site()
    visitor = study.judging()
    form = visitor.form("/judgment")
    ahead = visitor.client.get("/ahead")
    assert form.fields["assignment"] not in ahead.text
    present = visitor.client.get("/ahead?instead=present")
    assert form.fields["assignment"] in present.text
    given = {**form.fields, "outcome": "left", "milliseconds": "1234"}
    told = visitor.client.post("/judgment", data=given, headers=JSON)
    assert told.json() == {"state": "judging", "done": 1, "of": 6}
    undone = {"csrf": form.fields["csrf"], "client_id": "0123456789abcdef"}
    told = visitor.client.post("/undo", data=undone, headers=JSON)
    assert told.json()["done"] == 0
    assert form.fields["assignment"] in told.json()["pair"]


def test_a_closed_study_says_so_and_stores_nothing_more(site: Make) -> None:
    study = site()
    visitor = study.judging()
    form = visitor.form("/judgment")
    study.store.close(now=study.now)
    assert visitor.send(form, outcome="left").status_code == 409
    assert "closed" in visitor.open("/").text
    assert study.outcomes() == []


def test_a_pair_that_was_held_too_long_is_told_to_be_another_judges(site: Make) -> None:
    study = site(judges=1, lease_minutes=5.0)
    slow = study.judging()
    form = slow.form("/judgment")
    study.now += 6 * 60
    quick = study.judging()
    assert quick.press("/judgment", outcome="left").status_code == 200
    assert slow.send(form, outcome="right").status_code == 409
    assert "given to someone else" in slow.response.text
    assert slow.open("/").status_code == 200
    assert study.outcomes() == ["left"]


def test_a_clock_that_goes_back_stops_nobody(site: Make) -> None:
    study = site()
    visitor = study.judging()
    study.now -= 10_000
    assert visitor.press("/judgment", outcome="left").status_code == 200
    study.now += 1_000_000
    assert visitor.press("/judgment", outcome="right").status_code == 200
    assert study.outcomes() == ["left", "right"]


def test_pictures_are_served_by_ids_that_tell_nothing(site: Make) -> None:
    pictures = {
        f"picture{place:09d}": Picture(media_type="image/png", data=png(place))
        for place in range(8)
    }
    study = site(kind="image", texts=[*pictures], pictures=pictures)
    visitor = study.judging()
    address = re.search(r'src="(/picture/[^"]+)"', visitor.response.text)
    assert address
    found = visitor.client.get(address[1])
    assert found.headers["content-type"] == "image/png"
    assert found.headers["content-security-policy"] == ITEM_POLICY
    assert found.content.startswith(b"\x89PNG")
    assert visitor.client.get("/picture/unknown0000000").status_code == 404
    assert study.client().get(address[1]).status_code == 403


def test_html_items_are_shown_in_a_sandbox_under_their_own_policy(site: Make) -> None:
    study = site(kind="html", texts=[f"<b>{place}</b><script>ran=1</script>" for place in range(8)])
    visitor = study.judging()
    frame = re.search(r'<iframe sandbox title="[^"]+" src="([^"]+)"', visitor.response.text)
    assert frame
    assert "<script>ran" not in visitor.response.text
    found = visitor.client.get(frame[1])
    assert "<b>" in found.text
    assert found.headers["content-security-policy"] == ITEM_POLICY
    other = study.judging()
    for path in (frame[1], frame[1][:-1] + "7", frame[1].replace("left", "up")):
        assert other.client.get(path).status_code == 404
    assert visitor.client.get(frame[1][:-1] + "\u00b2").status_code == 404


# Strangers


@pytest.mark.parametrize("token", ["x" * 22, "%2e%2e.", "'; drop table judge; --", "a%0d%0ab"])
def test_forged_links_are_all_answered_alike(site: Make, token: str) -> None:
    study = site()
    expired = study.token(expires_at=study.now + 1)
    study.now += 2
    client = study.client()
    answers = [client.get(f"/j/{one}") for one in (token, expired)]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].text == answers[1].text
    assert "set-cookie" not in answers[0].headers


def test_a_revoked_judge_is_let_in_no_more_and_can_store_nothing(site: Make) -> None:
    study = site()
    (name, token), *_ = study.store.insert_judges(1, now=study.now)
    visitor = study.visitor(token)
    visitor.press("/consent")
    form = visitor.form("/judgment")
    study.store.revoke_judge(name, now=study.now)
    assert visitor.send(form, outcome="left").status_code == 403
    assert study.outcomes() == []


def test_a_judge_cannot_answer_or_see_the_pair_of_another(site: Make) -> None:
    study = site()
    mine, theirs = study.judging(), study.judging()
    form, other = mine.form("/judgment"), theirs.form("/judgment")
    stolen = {**form.fields, "assignment": other.fields["assignment"], "outcome": "left"}
    assert mine.client.post("/judgment", data=stolen).status_code == 404
    unknown = {**stolen, "assignment": "A" * 22}
    assert mine.client.post("/judgment", data=unknown).status_code == 404
    assert study.outcomes() == []


def test_a_form_without_the_secret_of_its_judge_is_refused(site: Make) -> None:
    study = site()
    mine, theirs = study.judging(), study.judging()
    form = mine.form("/judgment")
    for secret in ("", theirs.form("/judgment").fields["csrf"]):
        given = {**form.fields, "csrf": secret, "outcome": "left"}
        assert mine.client.post("/judgment", data=given).status_code == 403
    assert study.outcomes() == []


def test_a_form_of_another_site_is_refused_with_its_secret(site: Make) -> None:
    study = site()
    visitor = study.judging()
    given = {**visitor.form("/judgment").fields, "outcome": "left"}
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        refused = visitor.client.post("/judgment", data=given, headers=headers)
        assert refused.status_code == 403
    assert study.outcomes() == []


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(site: Make) -> None:
    study = site()
    plain, secure = (
        httpx.Headers(
            study.client()
            .get(f"{scheme}://study.example/j/{study.token()}", follow_redirects=False)
            .headers
        )["set-cookie"]
        for scheme in ("http", "https")
    )
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    assert "Secure" not in plain
    assert "Secure" in secure


def test_a_link_leads_to_a_page_whose_address_does_not_hold_the_token(site: Make) -> None:
    study = site()
    moved = study.client().get(f"/j/{study.token()}", follow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (303, "/")


def test_no_page_shows_groups_scores_or_ids_of_items(site: Make) -> None:
    study = site(attention=True, attention_share=0.3)
    visitor = study.judging()
    told = [visitor.response.text]
    while "Thank you" not in visitor.page.heading:
        told += [visitor.client.get("/ahead").text]
        told += [visitor.press("/judgment", outcome="left").text]
    assert len(told) > 10
    for text in told:
        assert not [secret for secret in SECRETS if secret in text]
        assert "attention" not in re.sub("(much better: )?attention</div>", "", text)


HOSTILE = [
    "<script>ran=1</script>",
    "</div></article></main><h1>gone</h1>",
    '"><svg onload=ran=1>',
    "\u202e\u2066gnorts si siht",
    "{{ 7777 * 3 }}{% raw %}",
    "\x00\x07null",
    "<style>*{display:none}</style>",
    "\ud7ff\ufffe\U0010ffff",
]


def test_hostile_texts_are_escaped_on_every_page(site: Make) -> None:
    title = "<i>title</i>"
    study = site(texts=HOSTILE, heading=title, question=title, instructions=title, consent=title)
    visitor = study.visitor()
    pages = [visitor.response.text, visitor.press("/consent").text]
    while "Thank you" not in visitor.page.heading:
        pages.append(visitor.press("/judgment", outcome="left").text)
    for page in pages:
        assert "<i>" not in page
        assert "<svg" not in page
        assert "<style>" not in page
        assert "23331" not in page
        assert re.findall("<script[^>]*>", page) in ([], ['<script src="/static/judge.js" defer>'])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/static/../app.py", 404),
        ("/static/..%2fapp.py", 404),
        ("/static/%2e%2e/words/en.toml", 404),
        ("/static//etc/passwd", 404),
        ("/picture/..%2f..", 404),
        ("/picture/....", 403),
        ("/.//evil.example", 404),
        ("/nothing", 404),
    ],
)
def test_no_path_leads_out_of_the_pages(site: Make, path: str, status: int) -> None:
    assert site().client().get(path, follow_redirects=False).status_code == status


def test_no_header_of_a_request_comes_back(site: Make) -> None:
    study = site(open_link=True)
    headers = {
        "host": "evil.example",
        "x-forwarded-host": "evil.example",
        "referer": "evil.example",
    }
    visitor = study.judging()
    for path in ("/", "/join", "/nothing", "/join?a=%0d%0aset-cookie:x=1"):
        found = visitor.client.get(path, headers=headers, follow_redirects=False)
        assert "evil.example" not in found.text + str(found.headers)
        assert "x=1" not in found.headers.get("set-cookie", "")


def test_bodies_that_are_too_large_or_of_another_kind_are_refused(site: Make) -> None:
    study = site()
    visitor = study.judging()
    form = {**visitor.form("/judgment").fields, "outcome": "left"}
    client = visitor.client
    assert client.post("/judgment", data={**form, "x": "y" * 20_000}).status_code == 413
    assert client.post("/judgment", json=form).status_code == 415
    assert client.post("/judgment", data=form, files={"x": b"y"}).status_code == 415
    assert study.outcomes() == []


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "both"},
        {"outcome": ""},
        {"client_id": ""},
        {"client_id": "x" * 65},
        {"client_id": "a b c d e f"},
        {"assignment": "' or 1=1 --"},
    ],
)
def test_an_odd_form_is_refused(site: Make, change: dict[str, str]) -> None:
    study = site()
    visitor = study.judging()
    assert visitor.press("/judgment", **{"outcome": "left", **change}).status_code == 400
    assert study.outcomes() == []


@pytest.mark.parametrize("given", ["-1", "1e9", "9" * 30, "\u0663", "abc", ""])
def test_an_odd_duration_is_not_kept(site: Make, given: str) -> None:
    study = site()
    study.judging().press("/judgment", outcome="left", milliseconds=given)
    with study.store.owner.begin() as connection:
        kept = connection.execute(sa.text("select milliseconds from judgment")).scalars().all()
    assert kept == [None]


def test_answers_that_the_study_does_not_offer_are_refused(site: Make) -> None:
    study = site(no_ties=True, no_skips=True)
    visitor = study.judging()
    assert [value for _, value in visitor.form("/judgment").buttons] == ["left", "right"]
    form = visitor.form("/judgment")
    for outcome in ("tie", "skip"):
        assert visitor.send(form, outcome=outcome).status_code == 400


def test_steps_out_of_turn_change_nothing(site: Make) -> None:
    study = site(checks=CHECKS)
    visitor = study.visitor()
    secret = visitor.form("/consent").fields["csrf"]
    given = {"csrf": secret, "client_id": "0123456789", "assignment": "0" * 22, "outcome": "left"}
    for path in ("/judgment", "/undo", "/break"):
        assert visitor.client.post(path, data=given).status_code in {200, 303, 404, 409}
    assert visitor.client.get("/ahead").status_code == 204
    assert visitor.open("/").status_code == 200
    assert visitor.page.heading == "Before you begin"
    assert study.outcomes() == []


def test_guessing_links_is_stopped_while_judges_go_on(site: Make) -> None:
    study = site(limits=Limits(stranger="5/minute"))
    visitor = study.judging()
    tries = [study.client().get(f"/j/{'g' * 20}{place:02d}").status_code for place in range(8)]
    assert tries == [404] * 5 + [429] * 3
    assert visitor.press("/judgment", outcome="left").status_code == 200


def test_a_judge_who_sends_too_much_waits_and_loses_nothing(site: Make) -> None:
    study = site(limits=Limits(judge="3/minute"))
    visitor = study.judging()
    for _ in range(2):
        visitor.press("/judgment", outcome="left")
    refused = visitor.press("/judgment", outcome="left")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "20")
    assert study.outcomes() == ["left", "left"]


# Rules of the pages


def test_every_page_that_writes_is_limited_and_asks_for_the_secret_or_makes_the_judge() -> None:
    writing = [page for page in PAGES if page.method == "POST"]
    assert len(writing) == 8
    assert all(page.limit for page in writing)
    assert [page.path for page in writing if page.guests] == ["/join"]


def test_a_handler_is_short() -> None:
    lengths = {page.handle.__name__: len(getsource(page.handle).splitlines()) for page in PAGES}
    assert {name: n for name, n in lengths.items() if n > 15 + 2} == {}


def test_every_response_has_the_safe_headers(site: Make) -> None:
    study = site()
    client = study.judging().client
    for path in ("/", "/nothing", "/static/judge.js", "/j/unknown", "/ahead"):
        found = client.get(path).headers
        for name, value in HEADERS.items():
            assert found[name] == value or name == "cache-control"


def test_a_breakdown_tells_nothing_of_itself(site: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    study = site()

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(type(study.store), "judge_of", broken)
    client = study.client(raise_server_exceptions=False)
    found = client.get("/j/" + "x" * 22)
    assert found.status_code == 500
    assert "secret" not in found.text
    assert found.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_the_script_is_small_and_no_page_has_another(site: Make) -> None:
    client = site().client()
    assert len(client.get("/static/judge.js").content) < 10_000
    for name, kind in STATIC.items():
        assert client.get(f"/static/{name}").headers["content-type"] == kind


def test_the_app_can_stand_below_a_path(site: Make) -> None:
    study = site()
    client = TestClient(study.app, base_url="http://study.example", root_path="/below")  # type: ignore[arg-type]
    moved = client.get(f"/below/j/{study.token()}", follow_redirects=False)
    assert moved.headers["location"] == "/below/"
    assert "Path=/below" in moved.headers["set-cookie"]
    assert 'action="/below/consent"' in client.get("/below/").text


def test_the_secret_of_a_form_is_not_the_token(site: Make) -> None:
    study = site()
    token = study.token()
    visitor = study.visitor(token)
    assert token not in visitor.response.text
    assert visitor.form("/consent").fields["csrf"] == form_secret(token)
