"""Headers, forged forms and limits, each without a study."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import parse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from comparity.collect.safety import (
    HEADERS,
    ITEM_POLICY,
    MOST_BYTES,
    POLICY,
    SWEEP,
    Gatekeeper,
    Limits,
    MovingWindows,
    SafeHeaders,
    check_origin,
    check_secret,
    form_secret,
    read_form,
)


def posted(body: bytes, kind: str = "application/x-www-form-urlencoded") -> dict[str, str]:
    """Return what is read of a form that arrives in pieces."""
    pieces = [body[start : start + 5000] for start in range(0, len(body), 5000)] or [b""]

    async def receive() -> dict[str, Any]:
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    headers = [(b"content-type", kind.encode())]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    return asyncio.run(read_form(Request(scope, receive)))


def status_of(work: Callable[[], Any]) -> int:
    with pytest.raises(HTTPException) as refused:
        work()
    return refused.value.status_code


def test_a_form_is_read_as_browsers_send_it() -> None:
    assert posted(b"a=1&b=%C3%A4+%26&a=2&c=") == {"a": "2", "b": "ä &", "c": ""}
    assert posted(b"") == {}


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"a=" + b"x" * MOST_BYTES, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a=1" for _ in range(41)), "application/x-www-form-urlencoded", 413),
        (b"a=\xff", "application/x-www-form-urlencoded", 400),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b'{"a": 1}', "application/json", 415),
        (b"--x", "multipart/form-data; boundary=x", 415),
        (b"a=1", "text/plain", 415),
    ],
)
def test_what_is_no_small_form_is_refused(body: bytes, kind: str, status: int) -> None:
    assert status_of(lambda: posted(body, kind)) == status


def test_a_form_that_breaks_off_is_refused() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    assert status_of(lambda: asyncio.run(read_form(Request(scope, receive)))) == 400


def test_the_largest_form_that_is_allowed_is_read() -> None:
    assert len(posted(b"a=" + b"x" * (MOST_BYTES - 2))["a"]) == MOST_BYTES - 2


def test_a_form_carries_a_hash_that_only_its_judge_can_make() -> None:
    expected = hashlib.sha256(b"comparity form mine").hexdigest()[:32]
    assert form_secret("mine") == expected
    check_secret({"csrf": expected}, "mine")
    for form in ({}, {"csrf": ""}, {"csrf": form_secret("other")}, {"csrf": "ä"}):
        assert status_of(lambda form=form: check_secret(form, "mine")) == 403


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "http://own:80", "host": "own:80"}, False),
        ({"origin": "http://own:80", "host": "OWN:80"}, True),
        ({"origin": "http://other", "host": "own"}, False),
        ({"origin": "null", "host": "own"}, False),
        ({"origin": "http://[", "host": "own"}, False),
        ({"origin": "http://own@other", "host": "own"}, False),
    ],
)
def test_a_form_of_another_site_is_refused(headers: dict[str, str], allowed: bool) -> None:
    given = Headers(headers)
    if allowed:
        check_origin(given)
    else:
        assert status_of(lambda: check_origin(given)) == 403


def test_a_judge_is_stopped_at_the_limit_and_others_are_not() -> None:
    gate = Gatekeeper(Limits(judge="3/minute"))
    for _ in range(3):
        gate.count_judge("one")
    assert status_of(lambda: gate.count_judge("one")) == 429
    gate.count_judge("another")


def test_guessing_tokens_is_stopped_and_judges_who_are_in_go_on() -> None:
    gate = Gatekeeper(Limits(stranger="2/minute"))
    gate.check_stranger("10.0.0.1", "good")
    gate.remember("good")
    for _ in range(2):
        gate.check_stranger("10.0.0.1", "guess")
        gate.count_stranger("10.0.0.1")
    assert status_of(lambda: gate.check_stranger("10.0.0.1", "guess")) == 429
    gate.check_stranger("10.0.0.1", "good")
    gate.check_stranger("10.0.0.2", "guess")


def test_an_open_link_makes_no_crowd_for_one_address() -> None:
    gate = Gatekeeper(Limits(join="1/minute"))
    gate.count_join("10.0.0.1")
    assert status_of(lambda: gate.count_join("10.0.0.1")) == 429


def sent_headers(scheme: str, own: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers of a response that has some of its own."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": own})

    async def keep(message: Any) -> None:
        sent.append(message)

    asyncio.run(SafeHeaders(app)({"type": "http", "scheme": scheme}, None, keep))  # type: ignore[arg-type]
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_every_response_has_the_safe_headers_unless_it_has_its_own() -> None:
    assert sent_headers("http", []) == HEADERS
    own = sent_headers("https", [(b"content-security-policy", ITEM_POLICY.encode())])
    assert own["content-security-policy"] == ITEM_POLICY
    assert "strict-transport-security" in own


def test_the_policy_lets_nothing_in_from_elsewhere_and_no_inline_script() -> None:
    for policy in (POLICY, ITEM_POLICY):
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "*" not in policy
    assert "unsafe" not in POLICY
    assert "script" not in ITEM_POLICY
    assert ITEM_POLICY.startswith("sandbox;")


@given(
    st.lists(st.tuples(st.floats(0, 40), st.sampled_from("ab")), max_size=60),
    st.integers(1, 4),
)
def test_a_window_lets_in_so_many_in_any_stretch_of_time(
    asked: list[tuple[float, str]], most: int
) -> None:
    now = 0.0
    windows = MovingWindows(clock=lambda: now)
    limit = parse(f"{most}/10 seconds")
    let_in: list[tuple[float, str]] = []
    for wait, who in asked:
        now += wait
        recent = [at for at, sender in let_in if sender == who and at > now - 10]
        assert windows.test(limit, "judge", who) == (len(recent) < most)
        assert windows.hit(limit, "judge", who) == (len(recent) < most)
        if len(recent) < most:
            let_in.append((now, who))
    assert len(windows) <= len({who for at, who in let_in if at > now - 10 - SWEEP - 40})
