"""The dashboard: who is let in, what it does, and what its windows are told."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from comparity.cli import commands
from comparity.collect import dashboard, monitor, owner
from comparity.collect.dashboard import HOME, OWNERS_PAGES, OwnersPlace, OwnersVisit, events
from comparity.collect.monitor import Monitor
from comparity.collect.safety import form_secret
from comparity.collect.status import assess_study
from comparity.collect.store import Store, open_store
from tests.collect.page_studies import write_study
from tests.collect.test_pages import Site
from tests.collect.visitors import Forms, Visitor

PASSWORD = "correct horse battery"
SAME = {"origin": "http://study.example"}


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords with little memory, but where that is what is tested."""
    if "takes_as_long" not in request.node.name:
        cheap = owner.PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
        monkeypatch.setattr(owner, "_HASHER", cheap)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = write_study(tmp_path / "study.db", consent="", instructions="")
    with open_store(path) as found:
        found.set_password(PASSWORD, now=0.0)
        yield found


@pytest.fixture
def site(store: Store) -> Site:
    return Site(store)


def log_in(site: Site, password: str = PASSWORD, **headers: str) -> TestClient:
    client = site.client(follow_redirects=False)
    client.post(f"{HOME}/login", data={"password": password}, headers={**SAME, **headers})
    return client


def press(client: TestClient, name: str, **fields: str) -> Any:
    """Send a form of the dashboard, as its page shows it."""
    shown = Forms(client.get(HOME).text).found
    form = next(one for one in shown if one.action.endswith(f"/{name}"))
    return client.post(form.action, data={**form.fields, **fields}, headers=SAME)


@pytest.mark.long
def test_without_a_password_there_is_no_dashboard_and_checking_takes_as_long(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []

    class Watched:
        def verify(self, kept: str, given: str) -> bool:
            checked.append(kept)
            return owner.PasswordHasher().verify(kept, given)

        hash = staticmethod(owner._HASHER.hash)

    monkeypatch.setattr(owner, "_HASHER", Watched())
    client = site.client()
    wrong = client.post(f"{HOME}/login", data={"password": "guess"}, headers=SAME)
    store.set_password(None, now=0.0)
    off = client.get(HOME)
    assert off.status_code == 404
    assert "comparity collect password" in off.text
    nobody = client.post(f"{HOME}/login", data={"password": "guess"}, headers=SAME)
    assert (nobody.status_code, nobody.text) == (wrong.status_code, wrong.text) == (403, wrong.text)
    # Both were compared with a hash of the same cost.
    assert len(checked) == 2
    assert len({one.split("$")[3] for one in checked}) == 1
    assert all(one.startswith("$argon2id$") for one in checked)


def test_whoever_knows_the_password_is_let_in_for_a_while(store: Store, site: Site) -> None:
    client = site.client(follow_redirects=False)
    answer = client.post(f"{HOME}/login", data={"password": PASSWORD}, headers=SAME)
    given = answer.headers["set-cookie"].lower()
    assert answer.status_code == 303
    for part in ("httponly", "samesite=strict", "path=/study", "max-age=43200"):
        assert part in given
    assert "secure" not in given
    assert client.get(f"{HOME}/now").status_code == 200
    site.now += owner.SESSION_SECONDS - 1
    assert client.get(f"{HOME}/now").status_code == 200
    site.now += 2
    assert client.get(f"{HOME}/now").status_code == 403
    assert "Log in" in client.get(HOME).text


def test_behind_tls_the_cookie_is_sent_by_tls_alone(site: Site) -> None:
    client = TestClient(site.app, base_url="https://study.example", follow_redirects=False)  # type: ignore[arg-type]
    origin = {"origin": "https://study.example"}
    answer = client.post(f"{HOME}/login", data={"password": PASSWORD}, headers=origin)
    assert "secure" in answer.headers["set-cookie"].lower()


def test_only_hashes_are_kept(store: Store, site: Site) -> None:
    client = log_in(site)
    (token,) = client.cookies.values()
    with sqlite3.connect(store.address) as file:
        everything = "\n".join(file.iterdump())
    assert len(token) >= 22
    assert token not in everything
    assert PASSWORD not in everything
    assert "$argon2id$" in everything


def test_logging_out_and_a_new_password_end_sessions(store: Store, site: Site) -> None:
    first, second = log_in(site), log_in(site)
    kept = dict(first.cookies)
    assert press(first, "logout").status_code == 303
    assert site.client(cookies=kept).get(f"{HOME}/now").status_code == 403
    assert second.get(f"{HOME}/now").status_code == 200
    store.set_password("another password", now=0.0)
    assert second.get(f"{HOME}/now").status_code == 403


def test_passwords_are_tried_five_times_a_minute(site: Site) -> None:
    client = site.client()
    tried = [
        client.post(f"{HOME}/login", data={"password": "guess"}, headers=SAME).status_code
        for _ in range(6)
    ]
    assert tried == [403] * 5 + [429]
    # The right one does not help before the minute is over.
    assert (
        client.post(f"{HOME}/login", data={"password": PASSWORD}, headers=SAME).status_code == 429
    )


CLOSED = [page for page in OWNERS_PAGES if not page.strangers]


@pytest.mark.parametrize("page", CLOSED, ids=lambda page: f"{page.method} {page.path}")
def test_nobody_else_sees_or_changes_anything(store: Store, site: Site, page: Any) -> None:
    path = page.path.replace("{name}", "study-csv.zip")
    judge = site.token()
    for token in ("", "x" * 22, judge, "'; drop table session; --"):
        cookies = {_cookie(store): token}
        client = site.client(cookies=cookies, follow_redirects=False)
        data = {"csrf": form_secret(token)} if page.method == "POST" else None
        answer = client.request(page.method, path, data=data, headers=SAME)
        assert answer.status_code == 403, token
        assert "secret-" not in answer.text


def _cookie(store: Store) -> str:
    from comparity.collect.visits import cookie_name

    return cookie_name(store.study).replace("judge_", "owner_")


@pytest.mark.parametrize("page", [one for one in OWNERS_PAGES if one.method == "POST"])
def test_forms_of_other_sites_are_refused(store: Store, site: Site, page: Any) -> None:
    client, other = log_in(site), log_in(site)
    (token,), (another,) = client.cookies.values(), other.cookies.values()
    right = {"csrf": form_secret(token), "password": PASSWORD}
    foreign: list[dict[str, str]] = [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", **SAME},
        {"sec-fetch-site": "same-site"},
        {},
    ]
    for headers in foreign:
        assert client.post(page.path, data=right, headers=headers).status_code == 403
    if not page.strangers:
        for csrf in ("", form_secret(another), token):
            wrong = client.post(page.path, data={"csrf": csrf}, headers=SAME)
            assert wrong.status_code == 403
    assert client.get(f"{HOME}/now").json()["state"] == "open"


def test_a_pause_shows_no_pairs_and_keeps_what_is_answered(site: Site) -> None:
    client, judge = log_in(site), site.visitor()
    shown = judge.form("/judgment")
    assert press(client, "pause").status_code == 303
    assert client.get(f"{HOME}/now").json()["state"] == "paused"
    assert judge.send(shown, outcome="left").status_code == 200
    assert "paused" in judge.page.heading
    assert site.outcomes() == ["left"]
    undo = {"csrf": shown.fields["csrf"], "client_id": "another-client"}
    assert judge.client.post("/undo", data=undo).status_code == 409
    assert site.outcomes() == ["left"]
    press(client, "resume")
    judge.open("/")
    judge.press("/judgment", outcome="right")
    assert site.outcomes() == ["left", "right"]


def test_a_study_is_stopped_and_opened_again_by_hand(site: Site) -> None:
    client, judge = log_in(site), site.visitor()
    judge.press("/judgment", outcome="left")
    shown = judge.form("/judgment")
    press(client, "close")
    now = client.get(f"{HOME}/now").json()
    assert (now["state"], now["stopped_by_rule"]) == ("closed", False)
    assert judge.send(shown, outcome="left").status_code == 409
    judge.open("/")
    # Whoever has answered something gets the code that shows it.
    assert "CODE-7" in judge.response.text
    press(client, "reopen")
    judge.open("/")
    judge.press("/judgment", outcome="right")
    assert site.outcomes() == ["left", "right"]


def test_the_dashboard_follows_answers_and_undo(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(monitor, "LEAST_SECONDS", 0.0)
    client, judge = log_in(site), site.visitor()
    for outcome, judged in (("left", 1), ("right", 2), ("skip", 2)):
        judge.press("/judgment", outcome=outcome)
        status = client.get(f"{HOME}/now").json()["status"]
        assert status["judged"] == judged
    judge.press("/undo")
    judge.press("/undo")
    status = client.get(f"{HOME}/now").json()["status"]
    assert (status["judged"], status["undone"]) == (1, 2)
    assert "1 " in client.get(HOME).text


def test_a_fit_is_made_in_a_process_of_its_own_and_says_why_there_is_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(store)
    site.visitor().press("/judgment", outcome="left")
    found = assess_study(store.address)
    assert found.why_not == "too few"
    eye = Monitor(store)
    begun: list[bool] = []
    monkeypatch.setattr(eye, "_begin_process", lambda: begun.append(True))
    eye.tick()
    assert begun == []
    eye.look()
    eye.tick()
    assert begun == [True]
    eye._ended = eye._looked
    eye.tick()
    # Not again within a minute.
    assert begun == [True]
    eye.dispose()


def test_windows_are_told_what_has_changed_until_the_session_ends(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "PAUSE", 0.0)
    monkeypatch.setattr(dashboard, "HEARTBEAT", 0.0)
    monkeypatch.setattr(monitor, "LEAST_SECONDS", 0.0)
    token = store.log_in(PASSWORD, now=site.now)
    assert token is not None
    place = next(
        one.endpoint.__closure__
        for one in site.app.app.routes  # type: ignore[attr-defined]
        if one.path == HOME
    )
    here = next(cell.cell_contents for cell in place if isinstance(cell.cell_contents, OwnersPlace))
    visit = OwnersVisit(here=here, now=site.now, token=token, is_owner=True)
    judge = site.visitor()

    async def watch() -> list[str]:
        told = []
        stream = events(visit)
        told.append(await anext(stream))
        told.append(await anext(stream))
        told.append(await anext(stream))
        judge.press("/judgment", outcome="left")
        told.append(await anext(stream))
        store.log_out(token)
        told.append(await anext(stream))
        await stream.aclose()
        return told

    first, whole, beat, new, over = asyncio.run(watch())
    assert first.startswith("retry:")
    parts = json.loads(whole.partition("data: ")[2])
    assert {*parts} == {"summary", "verdict", "coverage", "judges", "controls"}
    assert beat.startswith(":")
    changed = json.loads(new.partition("data: ")[2])
    assert "controls" not in changed
    assert "judges" in changed
    assert over.startswith("event: over")
    assert here.listeners == 0


def test_there_are_no_more_windows_than_can_be_kept_up_to_date(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "MOST_LISTENERS", 0)
    assert log_in(site).get(f"{HOME}/events").status_code == 429


def test_there_is_nothing_to_export_at_first_and_other_names_are_refused(site: Site) -> None:
    client = log_in(site)
    assert client.get(f"{HOME}/export/study-csv.zip").status_code == 409
    for name in ("study-xlsx.zip", "study-csv", "..%2fstudy.db", "study-.zip", "csv"):
        assert client.get(f"{HOME}/export/{name}").status_code == 404


@pytest.mark.parametrize("language", ["en", "de", "es", "zh"])
def test_every_language_says_all_of_it(tmp_path: Path, language: str) -> None:
    path = write_study(tmp_path / "study.db", language=language, consent="", instructions="")
    with open_store(path) as store:
        store.set_password(PASSWORD, now=0.0)
        site = Site(store)
        judge = site.visitor()
        for outcome in ("left", "right", "left", "tie"):
            judge.press("/judgment", outcome=outcome)
        page = log_in(site).get(HOME)
        judge = Visitor(site.client())
    assert page.status_code == 200
    assert f'<html lang="{language}"' in page.text
    assert "{" not in page.text.partition("<main")[2]


def test_the_command_reads_passwords_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_study(tmp_path / "study.db")
    (tmp_path / "secret").write_text("from a file, one line\n", encoding="utf-8")
    ask = CliRunner()
    words = ["collect", "password", str(path)]
    assert ask.invoke(commands, [*words, "--file", str(tmp_path / "secret")]).exit_code == 0
    with open_store(path) as store:
        assert store.log_in("from a file, one line", now=0.0)
    monkeypatch.setenv("COMPARITY_PASSWORD", "short")
    short = ask.invoke(commands, words)
    assert short.exit_code == 2 or short.exception is not None
    monkeypatch.delenv("COMPARITY_PASSWORD")
    typed = ask.invoke(commands, words, input="typed by hand\ntyped by hand\n")
    assert "typed by hand" not in typed.output
    with open_store(path) as store:
        assert store.log_in("typed by hand", now=0.0)
    assert ask.invoke(commands, [*words, "--off"]).exit_code == 0
    with open_store(path) as store:
        assert store.log_in("typed by hand", now=0.0) is None


def test_both_scripts_together_are_short(site: Site) -> None:
    client = site.client()
    sizes = [len(client.get(f"/static/{name}.js").content) for name in ("judge", "dashboard")]
    assert sum(sizes) < 10_000
    page = log_in(site).get(HOME).text
    assert "style=" not in page
    assert "<script>" not in page
