"""What keeps judges' pages safe: headers, forms that cannot be forged, and limits of size and rate.

Nothing here knows a study. A judge's secret is the token in a cookie; a form proves that it comes
from a page that the judge was shown by carrying a hash of that token, so that nothing is kept on
the server and a restart breaks no form.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from limits import RateLimitItem
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# What an item brings along may style itself and nothing else: no script, no request, no form.
ITEM_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    # Without any referrer browsers send "Origin: null" with forms, which then look foreign.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
MOST_BYTES = 16_384
MOST_FIELDS = 40
SWEEP = 60.0
"""Seconds after which senders are forgotten who sent nothing lately."""
MOST_KNOWN = 100_000


class SafeHeaders:
    """Middleware that adds the headers above to every response that does not say otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https":
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        await self.app(scope, receive, send_safely)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; the last one of a name counts.

    Raises
    ------
    HTTPException
        413 for more than 16 kB or 40 fields, 415 for another type, 400 for text that is not UTF-8
        and for a form that breaks off.
    """
    text = await _read_text(request, FORM)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except UnicodeDecodeError as error:
        raise HTTPException(400, "bad_form") from error
    except ValueError as error:
        raise HTTPException(413, "too_large") from error
    return dict(pairs)


async def read_json(request: Request) -> dict[str, str]:
    """Return the fields of a JSON object as those of a form: texts and whole numbers, as text.

    Raises
    ------
    HTTPException
        As :func:`read_form`; also 400 for what is no JSON, and for other values. A field that is
        null counts as left out.
    """
    text = await _read_text(request, JSON)
    try:
        found = json.loads(text)
    # Brackets within brackets are read by a function that calls itself.
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "bad_form") from error
    if not isinstance(found, dict):
        raise HTTPException(400, "bad_form")
    if len(found) > MOST_FIELDS:
        raise HTTPException(413, "too_large")
    given = {name: value for name, value in found.items() if value is not None}
    if not all(type(value) in (str, int) for value in given.values()):
        raise HTTPException(400, "bad_form")
    return {name: str(value) for name, value in given.items()}


async def _read_text(request: Request, kind: str) -> str:
    if request.headers.get("content-type", kind).split(";")[0].strip().lower() != kind:
        raise HTTPException(415, "bad_form")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                raise HTTPException(413, "too_large")
        return body.decode("utf-8")
    except (ClientDisconnect, UnicodeDecodeError) as error:
        raise HTTPException(400, "bad_form") from error


def form_secret(token: str) -> str:
    """Return what the forms of a judge carry: a hash of the token that tells nothing of it.

    Examples
    --------
    >>> form_secret("token") == form_secret("token") != form_secret("other")
    True
    """
    return hashlib.sha256(f"comparity form {token}".encode()).hexdigest()[:32]


def check_secret(form: Mapping[str, str], token: str) -> None:
    """Refuse a form that was not made for this judge."""
    given = form.get("csrf", "").encode()
    if not hmac.compare_digest(given, form_secret(token).encode()):
        raise HTTPException(403, "forged")


def check_origin(headers: Headers) -> None:
    """Refuse a form that a browser says was sent from another site.

    Browsers say so in ``Sec-Fetch-Site``, older ones in ``Origin``. Programs send neither, and
    have no cookie that somebody else could use.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        is_foreign = site not in {"same-origin", "none"}
    else:
        origin = headers.get("origin")
        is_foreign = origin is not None and _host(origin) != headers.get("host", "").lower()
    if is_foreign:
        raise HTTPException(403, "forged")


def check_owner_origin(headers: Headers) -> None:
    """Refuse a form that no browser says was sent from this site.

    Whoever runs a study uses a browser, and every one of today names the origin of a form.
    """
    if "sec-fetch-site" not in headers and "origin" not in headers:
        raise HTTPException(403, "forged")
    check_origin(headers)


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How often each may ask, as the package ``limits`` writes it.

    Attributes
    ----------
    judge : str
        What one judge may send.
    stranger : str
        Unknown tokens that may come from one address before it has to wait.
    join : str
        Judges that an open link makes for one address.
    login : str
        Passwords that may be tried from one address.
    """

    judge: str = "300/minute"
    stranger: str = "30/minute"
    join: str = "60/minute"
    login: str = "5/minute"


class MovingWindows:
    """Times of what was let in, by whom it was sent, as far back as a limit looks.

    The memory of the package ``limits`` starts a thread for nearly every request, to forget what is
    old; here that is done by the next request of the same sender, and for all once a minute.

    Parameters
    ----------
    clock : callable
        Returns seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[tuple[str, ...], deque[float]] = {}
        self._lock = threading.Lock()
        self._swept = clock()
        self._longest = 0.0

    def __len__(self) -> int:
        """Return how many senders are remembered."""
        return len(self._times)

    def hit(self, limit: RateLimitItem, *sender: str) -> bool:
        """Count a request, if it is within the limit; say whether it is."""
        with self._lock:
            recent, now = self._recent(limit, sender)
            if len(recent) >= limit.amount:
                return False
            recent.append(now)
            self._times[sender] = recent
            return True

    def test(self, limit: RateLimitItem, *sender: str) -> bool:
        """Return whether another request would be within the limit."""
        with self._lock:
            return len(self._recent(limit, sender)[0]) < limit.amount

    def _recent(self, limit: RateLimitItem, sender: tuple[str, ...]) -> tuple[deque[float], float]:
        now, window = self._clock(), float(limit.get_expiry())
        self._longest = max(self._longest, window)
        if now - self._swept > SWEEP:
            self._swept = now
            old = [one for one, times in self._times.items() if times[-1] <= now - self._longest]
            for one in old:
                del self._times[one]
        recent = self._times.get(sender, deque())
        while recent and recent[0] <= now - window:
            recent.popleft()
        if not recent:
            self._times.pop(sender, None)
        return recent, now


class Gatekeeper:
    """Counts requests, and refuses those beyond the limits with status 429.

    An address that tried too many unknown tokens waits before it may try another; judges who
    were let in before go on meanwhile, so that a stranger in their house does not shut them out.
    """

    def __init__(self, limits: Limits) -> None:
        from limits import parse

        self._windows = MovingWindows()
        self._judge = parse(limits.judge)
        self._stranger = parse(limits.stranger)
        self._join = parse(limits.join)
        self._login = parse(limits.login)
        self._known: set[str] = set()

    def count_judge(self, token: str) -> None:
        """Count something that a judge sends."""
        self._refuse_unless(self._windows.hit(self._judge, "judge", form_secret(token)))

    def count_join(self, address: str) -> None:
        """Count a judge who is about to be made."""
        self._refuse_unless(self._windows.hit(self._join, "join", address))

    def count_login(self, address: str) -> None:
        """Count a password that is tried."""
        self._refuse_unless(self._windows.hit(self._login, "login", address))

    def check_stranger(self, address: str, token: str) -> None:
        """Refuse a token from an address with too many unknown ones, unless it was let in."""
        if form_secret(token) not in self._known:
            self._refuse_unless(self._windows.test(self._stranger, "stranger", address))

    def remember(self, token: str) -> None:
        """Let a judge in, whoever else asks from the same address."""
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known.add(form_secret(token))

    def count_stranger(self, address: str) -> None:
        """Count an unknown token."""
        self._windows.hit(self._stranger, "stranger", address)

    @staticmethod
    def _refuse_unless(allowed: bool) -> None:
        if not allowed:
            raise HTTPException(429, "too_many", headers={"retry-after": "20"})
