"""Judges that are programs, through HTTP: what they get and send, and what strangers try."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from comparity.collect.export import select_answers, select_judges
from comparity.collect.joined_judge import Picture
from comparity.collect.pages import FOLDER
from comparity.collect.programs import CALLS
from comparity.collect.safety import HEADERS, MOST_BYTES, Limits
from comparity.collect.store import open_store
from tests.collect.page_studies import CHECKS, SECRETS, png, write_study
from tests.collect.test_page_fuzz import ALLOWED, ODD, TRACES, UNLIMITED
from tests.collect.test_pages import Site
from tests.collect.visitors import served
from tests.examples.test_bridges import example

SPEC = json.loads((FOLDER / "static" / "openapi.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Program:
    """A program with a token, which remembers what it was told and compares it with the schema."""

    def __init__(self, site: Site, token: str) -> None:
        self.client = site.client(headers={"authorization": f"Bearer {token}"})

    def get(self, call: str) -> Any:
        return self._checked("get", call, self.client.get(f"/api/v1/{call}"))

    def post(self, call: str, **fields: object) -> Any:
        return self._checked("post", call, self.client.post(f"/api/v1/{call}", json=fields))

    def judge(self, outcome: str = "left", client_id: str = "") -> Any:
        pair = self.get("next")["assignment"]
        chosen = client_id or f"client-{pair['id']}"
        return self.post("judgment", assignment=pair["id"], outcome=outcome, client_id=chosen)

    @staticmethod
    def _checked(method: str, call: str, found: httpx.Response) -> Any:
        said = SPEC["paths"][f"/api/v1/{call}"][method]["responses"][str(found.status_code)]
        told = found.json()
        check_schema(told, said["content"]["application/json"]["schema"])
        return {**told, "status": found.status_code}


def check_schema(value: Any, schema: dict[str, Any], where: str = "") -> None:
    """Compare a value with the part of JSON Schema that the description uses."""
    if "$ref" in schema:
        schema = SPEC["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        schema = schema["anyOf"][value is None]
        check_schema(value, schema, where)
        return
    if "enum" in schema:
        assert value in schema["enum"], where
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    is_whole = type(value) is int
    assert is_whole if kinds == ["integer"] else type(value) in [TYPES[one] for one in kinds], where
    if isinstance(value, str) and "pattern" in schema:
        assert re.search(schema["pattern"], value), where
    if isinstance(value, dict):
        assert {*schema["required"]} <= {*value} <= {*schema["properties"]}, where
        for name, one in value.items():
            check_schema(one, schema["properties"][name], f"{where}/{name}")
    if isinstance(value, list):
        for one in value:
            check_schema(one, schema["items"], f"{where}[]")


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A study that is served within the test, with the choices that a test names."""
    choices = dict(getattr(request, "param", {}))
    limits = choices.pop("limits", Limits())
    path = write_study(tmp_path / "study.db", **{"consent": "", "instructions": "", **choices})
    with open_store(path) as store:
        yield Site(store, limits)


def study(**choices: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("site", [choices], indirect=True, ids=["study"])


def test_the_description_names_every_call_and_no_other() -> None:
    described = {(path, method) for path, one in SPEC["paths"].items() for method in one}
    assert described == {(one.path, one.method.lower()) for one in CALLS}
    assert all(one.limit == "judge" and one.is_call and not one.guests for one in CALLS)


@study(practices=1, checks=CHECKS, consent="Do you agree?", instructions="Choose.")
def test_any_personal_token_goes_the_way_of_a_person(site: Site) -> None:
    program = Program(site, site.token())
    asked = program.get("study")
    assert (asked["consent"], asked["checks"][0]["answers"]) == (
        "Do you agree?",
        ["The text", "The order"],
    )
    assert program.get("next")["assignment"] is None
    assert program.post("consent")["state"] == "comprehension"
    assert program.post("comprehension")["status"] == 400
    assert program.post("comprehension", **{"check-0": 1})["passed"] is False
    assert program.post("comprehension", **{"check-0": 0})["state"] == "practice"
    told = program.judge("left")
    assert told["is_right"] is not None
    assert told["note"] == "The first one is **longer**."
    assert program.judge("right")["done"] == 1


@study(checks=CHECKS, consent="Do you agree?")
def test_a_judge_added_as_a_program_begins_at_once_and_is_told_apart(site: Site) -> None:
    ((name, token),) = site.store.insert_judges(1, program="model-x", now=site.now)
    program = Program(site, token)
    assert program.judge("tie")["done"] == 1
    with site.store.owner.begin() as connection:
        (row,) = select_judges(connection, site.store.study)
    assert (name, json.loads(row["external"])) == ("program 1", {"program": "model-x"})


def test_a_program_sees_what_a_person_sees_and_nothing_else(site: Site) -> None:
    token = site.token()
    pair = Program(site, token).get("next")["assignment"]
    page = site.visitor(token).response.text
    for side in ("left", "right"):
        (shown,) = pair[side]
        assert shown["text"] in page
        assert shown["name"] == ""
    assert pair["id"] in page
    told = json.dumps([pair, Program(site, token).get("study")])
    assert not [one for one in SECRETS if one in told]


@study(
    pictures={"k" * 22: Picture(media_type="image/png", data=png(3))},
    kind="image",
    texts=["k" * 22] * 12,
)
def test_a_program_fetches_pictures_by_its_token(site: Site) -> None:
    program = Program(site, site.token())
    address = program.get("next")["assignment"]["left"][0]["text"]
    assert program.client.get(address).content == png(3)
    assert site.client().get(address).status_code == 401


def test_an_answer_sent_twice_is_stored_once_and_undo_is_a_row(site: Site) -> None:
    program = Program(site, site.token())
    pair = program.get("next")["assignment"]["id"]
    sent = {"assignment": pair, "outcome": "left", "client_id": "client-1", "milliseconds": 12}
    assert [program.post("judgment", **sent)["is_new"] for _ in range(2)] == [True, False]
    assert program.post("undo", client_id="client-2")["assignment"]["id"] == pair
    assert site.outcomes() == ["left", "undo"]
    assert program.get("progress")["done"] == 0


def test_pages_and_calls_share_one_judge(site: Site) -> None:
    token = site.token()
    visitor = site.visitor(token)
    visitor.press("/judgment", outcome="right")
    program = Program(site, token)
    assert program.get("progress")["done"] == 1
    assert program.get("next")["assignment"]["id"] in site.visitor(token).response.text


@study(each=2, judges=1)
def test_a_pair_that_was_held_too_long_goes_to_another_judge(site: Site) -> None:
    slow, quick = Program(site, site.token()), Program(site, site.token())
    pair = slow.get("next")["assignment"]["id"]
    site.now += 3600
    assert quick.judge()["is_new"]
    late = slow.post("judgment", assignment=pair, outcome="left", client_id="client-1")
    assert (late["status"], late["error"]) == (409, "lapsed")


def test_a_closed_study_takes_nothing_more(site: Site) -> None:
    program = Program(site, site.token())
    pair = program.get("next")["assignment"]["id"]
    site.store.close(now=site.now)
    assert program.get("next")["state"] == "closed"
    late = program.post("judgment", assignment=pair, outcome="left", client_id="client-1")
    assert (late["status"], late["error"]) == (409, "closed")


def test_nobody_answers_or_takes_back_for_another(site: Site) -> None:
    first, second = Program(site, site.token()), Program(site, site.token())
    pair = first.get("next")["assignment"]["id"]
    stolen = second.post("judgment", assignment=pair, outcome="left", client_id="client-1")
    assert (stolen["status"], stolen["error"]) == (404, "unknown_assignment")
    first.judge()
    second.post("undo", client_id="client-2")
    assert site.outcomes() == ["left"]


def test_tokens_that_are_forged_expired_revoked_or_in_the_wrong_place_are_answered_alike(
    site: Site,
) -> None:
    expired = site.token(expires_at=site.now - 1)
    ((name, revoked),) = site.store.insert_judges(1, now=site.now)
    site.store.revoke_judge(name, now=site.now)
    good = site.token()
    heads = [{}, {"authorization": f"Basic {good}"}, {"authorization": good}]
    heads += [
        {"authorization": f"Bearer {one}"} for one in ("", "x" * 22, expired, revoked, "é" * 22)
    ]
    seen = set()
    for head in heads:
        encoded = {name: value.encode("latin-1") for name, value in head.items()}
        for found in (
            site.client().get("/api/v1/next", headers=encoded),
            site.client().post("/api/v1/judgment", headers=encoded, json={}),
        ):
            assert found.headers["www-authenticate"] == "Bearer"
            seen.add((found.status_code, found.text))
    assert len(seen) == 1
    assert seen.pop()[0] == 401


def test_a_cookie_is_no_token_so_that_no_site_can_call_for_a_browser(site: Site) -> None:
    visitor = site.visitor()
    assert visitor.client.get("/api/v1/next").status_code == 401
    preflight = visitor.client.options(
        "/api/v1/judgment", headers={"origin": "http://evil.example"}
    )
    assert preflight.status_code == 405
    assert "access-control-allow-origin" not in preflight.headers


BAD = [
    (b"", 400), (b"{", 400), (b"[]", 400), (b"null", 400), (b'"text"', 400), (b"\xff", 400),
    (b"[" * 9000, 400), (b'{"outcome": {}}', 400), (b'{"a": []}', 400), (b'{"a": true}', 400),
    (b'{"assignment": 1.5}', 400), (b'{"milliseconds": NaN}', 400), (b"1" * 5000, 400),
    (b"{}" + b" " * MOST_BYTES, 413), (json.dumps({str(n): 1 for n in range(41)}).encode(), 413),
    (b'{"assignment": "\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800\\ud800"}', 400),
]  # fmt: skip


def test_bodies_that_are_odd_or_too_large_are_refused(site: Site) -> None:
    program = Program(site, site.token())
    head = {"content-type": "application/json"}
    for body, status in BAD:
        found = program.client.post("/api/v1/judgment", content=body, headers=head)
        assert (found.status_code, [*found.json()]) == (status, ["error", "message"]), body[:40]
    form = program.client.post("/api/v1/judgment", data={"outcome": "left"})
    assert form.status_code == 415
    assert site.outcomes() == []


@study(no_ties=True)
def test_an_answer_that_the_study_does_not_offer_is_refused(site: Site) -> None:
    program = Program(site, site.token())
    assert program.judge("tie")["error"] == "bad_form"
    assert program.get("next")["assignment"]["outcomes"] == ["left", "right", "skip"]


@study(limits=Limits(judge="3/minute", stranger="3/minute"))
def test_a_program_has_the_limits_of_a_person(site: Site) -> None:
    program = Program(site, site.token())
    assert [program.get("progress")["status"] for _ in range(4)] == [200, 200, 200, 429]
    guesses = [Program(site, "x" * 22).get("progress")["status"] for _ in range(4)]
    assert guesses == [401, 401, 401, 429]


@pytest.mark.long
def test_the_example_judges_a_whole_study_over_http(tmp_path: Path) -> None:
    texts = ["x" * (place + 1) for place in range(12)]
    path = write_study(tmp_path / "study.db", texts=texts, practices=1, break_every=3, each=8)
    with open_store(path) as store:
        ((_, token),) = store.insert_judges(1, program="length", now=0.0)
    client = example("program_judge")
    with served(path) as address:
        assert client.judge_all(f"{address}/j/{token}") == 8
        with pytest.raises(Exception, match="401"):
            client.judge_all(f"{address}/j/{token[::-1]}")
    with open_store(path) as store, store.owner.begin() as connection:
        kept = [one for one in select_answers(connection) if one["kind"] == "pair"]
    # Item number n has n + 1 letters, and the longer text is to be the better one.
    for one in kept:
        left, right = (int(one[side].rpartition("-")[2]) for side in ("left", "right"))
        assert one["outcome"] == ("left" if left > right else "right")


def odd_call(rng: random.Random, seen: list[str]) -> tuple[str, str, dict[str, Any]]:
    """Return method, path and body of a call that is odd, or nearly right."""
    call = rng.choice(CALLS)
    path = call.path.replace("{key}", rng.choice([*seen, "x" * 22, "..%2f"]))
    method = call.method if rng.random() < 0.9 else rng.choice(["GET", "POST", "PUT", "OPTIONS"])
    if rng.random() < 0.1:
        return method, path, {"content": rng.choice(BAD)[0]}
    values = [*ODD, *seen[-3:], None, 0, -1, 10**400, 1.5, True, [], {"a": []}]
    fields = {
        "assignment": rng.choice(seen[-2:] or [""]),
        "client_id": f"client-{rng.randrange(10**6)}",
        "outcome": rng.choice(["left", "right", "tie", "skip"]),
        "check-0": rng.choice([0, 1]),
    }
    for name in rng.sample([*fields], rng.choice([0, 0, 1, 2])):
        fields[name] = rng.choice(values)
    return method, path, {"content": json.dumps(fields).encode("utf-8", "surrogatepass")}


@pytest.mark.long
@pytest.mark.parametrize(("n", "seed"), [(300, 1), pytest.param(10_000, 2, marks=pytest.mark.slow)])
def test_odd_calls_break_and_reveal_nothing(tmp_path: Path, n: int, seed: int) -> None:
    texts = [f"Text {place}" for place in range(40)]
    choices = {"checks": CHECKS, "practices": 1, "each": 200, "texts": texts, "attention": True}
    path = write_study(tmp_path / "study.db", **choices)
    rng, statuses, seen = random.Random(seed), set(), [""]
    with open_store(path) as store:
        site = Site(store, UNLIMITED)
        tokens = [token for _, token in store.insert_judges(4, program="p", now=0.0)]
        tokens += [site.token(), "x" * 22, ""]
        client = site.client()
        for _ in range(n):
            method, path_, body = odd_call(rng, seen)
            head = {
                "authorization": f"Bearer {rng.choice(tokens)}",
                "content-type": "application/json",
            }
            found = client.request(method, path_, headers=head, **(body if method != "GET" else {}))
            asked = (method, path_, body, found.text[:300])
            assert found.status_code in ALLOWED | {401}, asked
            assert not [one for one in TRACES if one in found.text], asked
            assert found.headers["content-security-policy"] == HEADERS["content-security-policy"]
            statuses.add(found.status_code)
            seen += re.findall(r'"id":"([\w-]+)"', found.text)
        stored = len(site.outcomes())
    assert {200, 400, 401, 404, 405} <= statuses
    assert stored > 0
