"""One request of a judge or a guest: who asks, when, and what came along.

Everything that a page needs is read here, and everything that must hold before a page is shown is
checked here: the token, the origin and the secret of a form, and how often somebody asks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from comparity.collect.rendering import render_template
from comparity.collect.safety import (
    Gatekeeper,
    check_origin,
    check_secret,
    form_secret,
    read_form,
    read_json,
)
from comparity.errors import (
    AlreadyJoinedError,
    ClosedStudyError,
    LapsedAssignmentError,
    NotOpenError,
    PausedStudyError,
    UnknownAssignmentError,
)

if TYPE_CHECKING:
    from starlette.requests import Request

    from comparity.collect.joined_judge import Judge
    from comparity.collect.store import Store
    from comparity.collect.study import StudyDescription

TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)
MONTH = 30 * 24 * 3600
# What the store refuses, as the status and the words that a judge is told.
REFUSALS: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownAssignmentError, 404, "unknown_assignment"),
    (LapsedAssignmentError, 409, "lapsed"),
    (ClosedStudyError, 409, "closed"),
    (PausedStudyError, 409, "paused"),
    (AlreadyJoinedError, 409, "joined"),
    (NotOpenError, 403, "unknown_link"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the app stands: its store, its clock, who may come in, its words and its cookie."""

    store: Store
    clock: Callable[[], float]
    gatekeeper: Gatekeeper
    words: Mapping[str, Any]
    cookie: str


def cookie_name(study: StudyDescription) -> str:
    """Return the name of the cookie, which other studies on the same host do not share."""
    return f"judge_{hashlib.sha256(study.identity.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request, read and checked."""

    place: Place
    now: float
    token: str
    judge: Judge | None
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    base: str = ""
    is_secure: bool = False
    wants_json: bool = False

    @property
    def store(self) -> Store:
        """The study's store."""
        return self.place.store

    @property
    def known_judge(self) -> Judge:
        """The judge who asks; only pages that need one ask for it."""
        if self.judge is None:
            raise HTTPException(403, "unknown_link")
        return self.judge

    def again(self) -> Judge:
        """Return the judge as they stand after what was just written."""
        found = self.store.judge_of(self.token, now=self.now)
        return found if found is not None else self.known_judge

    def render(self, template: str, **values: Any) -> str:
        """Return a page or a part of one as HTML."""
        shared = {"words": self.place.words, "study": self.store.study, "base": self.base}
        csrf = form_secret(self.token) if self.token else ""
        task = self.judge.task if self.judge else "compare"
        shared |= {"task": task, "instructions": self.store.study.instructions_of(task)}
        return render_template(template, {**shared, "judge": self.judge, "csrf": csrf, **values})

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        return HTMLResponse(self.render(template, **values), status_code=status)

    def tell(self, content: Mapping[str, Any]) -> Response:
        """Return JSON, for the script of a page."""
        return JSONResponse(dict(content))

    def go_home(self) -> Response:
        """Send the browser to the page of whatever is next."""
        return RedirectResponse(f"{self.base}/", status_code=303)

    def let_in(self, token: str) -> Response:
        """Give the browser the judge's token, and send it to what is next."""
        response = self.go_home()
        response.set_cookie(
            self.place.cookie,
            token,
            max_age=MONTH,
            path=self.base or "/",
            secure=self.is_secure,
            httponly=True,
            samesite="lax",
        )
        return response


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A route: what answers it, who may ask, and what counts against which limit.

    Attributes
    ----------
    path, method : str
        The address, and ``GET`` or ``POST``.
    handle : callable
        Visit in, response out. It runs in a thread, so that it may wait for the store.
    guests : bool
        Whether it is shown to somebody without a valid token, too.
    asks_who : bool
        Whether the judge is looked up; what is the same for everybody needs none.
    limit : {"judge", "join"} or None
        Whose limit a request counts against; every page that writes has one.
    is_call : bool
        Whether programs ask: the token is in the header ``Authorization``, which no browser adds
        by itself, so that a call needs no secret of a form, and JSON comes and goes.
    """

    path: str
    method: Literal["GET", "POST"]
    handle: Callable[[Visit], Response]
    guests: bool = False
    asks_who: bool = True
    limit: Literal["judge", "join"] | None = None
    is_call: bool = False

    async def answer(self, place: Place, request: Request) -> Response:
        """Return the response to one request."""
        form = await self._checked_form(request) if self.method == "POST" else {}
        return await run_in_threadpool(self._answer, place, request, form)

    async def _checked_form(self, request: Request) -> dict[str, str]:
        if self.is_call:
            return await read_json(request)
        check_origin(request.headers)
        return await read_form(request)

    def _answer(self, place: Place, request: Request, form: Mapping[str, str]) -> Response:
        token = bearer_token(request) if self.is_call else browser_token(place, request)
        visit = begin_visit(place, request, form, token=token if self.asks_who else "")
        if visit.judge is None and self.is_call:
            raise HTTPException(401, "unknown_link", headers={"www-authenticate": "Bearer"})
        if visit.judge is None and not self.guests:
            raise HTTPException(403, "unknown_link")
        if self.method == "POST" and not (self.guests or self.is_call):
            check_secret(form, visit.token)
        if self.limit == "judge":
            place.gatekeeper.count_judge(visit.token)
        elif self.limit == "join":
            place.gatekeeper.count_join(address_of(request))
        try:
            return self.handle(visit)
        except tuple(kind for kind, _, _ in REFUSALS) as error:
            status, words = next(
                (status, words) for kind, status, words in REFUSALS if isinstance(error, kind)
            )
            raise HTTPException(status, words) from error


def browser_token(place: Place, request: Request) -> str:
    """Return the token in the address or else in the cookie."""
    return str(request.path_params.get("token") or request.cookies.get(place.cookie, ""))


def bearer_token(request: Request) -> str:
    """Return the token that a program sends."""
    found = BEARER.fullmatch(request.headers.get("authorization", ""))
    return found[1] if found else ""


def begin_visit(place: Place, request: Request, form: Mapping[str, str], *, token: str) -> Visit:
    """Look who asks."""
    now = place.clock()
    judge = _find_judge(place, address_of(request), token, now) if token else None
    return Visit(
        place=place,
        now=now,
        token=token if judge is not None else "",
        judge=judge,
        path=request.path_params,
        query=request.query_params,
        form=form,
        base=request.scope.get("root_path", ""),
        is_secure=request.url.scheme == "https",
        wants_json="application/json" in request.headers.get("accept", ""),
    )


def _find_judge(place: Place, address: str, token: str, now: float) -> Judge | None:
    place.gatekeeper.check_stranger(address, token)
    judge = place.store.judge_of(token, now=now) if TOKEN.fullmatch(token) else None
    if judge is None:
        place.gatekeeper.count_stranger(address)
    else:
        place.gatekeeper.remember(token)
    return judge


def address_of(request: Request) -> str:
    """Return the address a request comes from, behind a proxy the one that the proxy names."""
    return request.client.host if request.client else ""
