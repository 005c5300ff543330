"""The pages of whoever runs a study: log in, watch, pause, stop, export.

They have nothing in common with the pages of judges but their style: another cookie, sessions
instead of links, and statements with all rights.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)

from comparity.collect.dashboard_words import dashboard_values
from comparity.collect.export import export_study
from comparity.collect.owner import SESSION_SECONDS, has_password
from comparity.collect.rendering import render_template
from comparity.collect.safety import check_owner_origin, check_secret, form_secret, read_form
from comparity.collect.visits import TOKEN, Place, address_of, cookie_name
from comparity.errors import EmptyTableError

if TYPE_CHECKING:
    from starlette.requests import Request

    from comparity.collect.monitor import Monitor, Snapshot

HOME = "/study"
"""Where the dashboard is; its cookie is sent nowhere else."""
COMMAND = "comparity collect password"
"""What sets its password."""
PARTS = ("summary", "verdict", "coverage", "judges")
"""Parts of the page that change as answers arrive; ``controls`` is one more."""
FORMATS = ("csv", "parquet", "jsonl")
MOST_LISTENERS = 20
"""Windows that are kept up to date at the same time."""
PAUSE, HEARTBEAT = 1.0, 15.0
"""Seconds between two looks for a window, and after which it is told that nothing is new."""
SECONDS_TO_WAIT_FOR_LOGIN = 2.0
"""Seconds that somebody who logs in waits for others who do."""


@dataclass
class OwnersPlace:
    """Where the dashboard stands, and how many are there."""

    place: Place
    monitor: Monitor
    checking: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1))
    exporting: threading.Lock = field(default_factory=threading.Lock)
    listeners: int = 0
    _parts: tuple[int, dict[str, str]] = (0, {})

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return cookie_name(self.place.store.study).replace("judge_", "owner_")

    def parts(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the parts of the page that are the same for every window."""
        number, known = self._parts
        if number != snapshot.number:
            values = dashboard_values(snapshot, self.place.store.study, self.place.words)
            known = {name: render_template(f"dashboard_{name}", values) for name in PARTS}
            self._parts = (snapshot.number, known)
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnersVisit:
    """One request to the dashboard, read and checked."""

    here: OwnersPlace
    now: float
    token: str
    is_owner: bool
    path: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    base: str = ""
    is_secure: bool = False

    @property
    def place(self) -> Place:
        """What is shared with judges' pages."""
        return self.here.place

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        shared = {"words": self.place.words, "study": self.place.store.study, "base": self.base}
        csrf = form_secret(self.token) if self.is_owner else ""
        page = render_template(template, {**shared, "csrf": csrf, "home": HOME, **values})
        return HTMLResponse(page, status_code=status)

    def controls(self, snapshot: Snapshot) -> str:
        """Return the buttons, whose forms only this session can send."""
        study, words = self.place.store.study, self.place.words
        values = dashboard_values(snapshot, study, words)
        forms = {"csrf": form_secret(self.token), "base": self.base, "home": HOME}
        return render_template("dashboard_controls", {**values, **forms})

    def go_home(self) -> Response:
        """Send the browser to the dashboard."""
        return RedirectResponse(f"{self.base}{HOME}", status_code=303)


def show_dashboard(visit: OwnersVisit) -> Response:
    """Show the dashboard, ask for the password, or say that there is none."""
    if not visit.is_owner:
        if not visit.place.store.look(has_password):
            return visit.show("dashboard_off", status=404, command=COMMAND)
        return visit.show("dashboard_login", message="")
    snapshot = visit.here.monitor.look()
    parts = {**visit.here.parts(snapshot), "controls": visit.controls(snapshot)}
    return visit.show("dashboard", parts=parts)


def log_in(visit: OwnersVisit) -> Response:
    """Compare the password, and let whoever knows it in."""
    if not visit.here.checking.acquire(timeout=SECONDS_TO_WAIT_FOR_LOGIN):
        raise HTTPException(429, "too_many", headers={"retry-after": "20"})
    try:
        token = visit.place.store.log_in(visit.form.get("password", ""), now=visit.now)
    finally:
        visit.here.checking.release()
    if token is None:
        return visit.show("dashboard_login", status=403, message="wrong")
    response = visit.go_home()
    response.set_cookie(
        visit.here.cookie,
        token,
        max_age=int(SESSION_SECONDS),
        path=f"{visit.base}{HOME}",
        secure=visit.is_secure,
        httponly=True,
        samesite="strict",
    )
    return response


def log_out(visit: OwnersVisit) -> Response:
    """End the session."""
    visit.place.store.log_out(visit.token)
    response = visit.go_home()
    response.delete_cookie(visit.here.cookie, path=f"{visit.base}{HOME}")
    return response


def _change(name: Literal["pause", "resume", "close", "reopen"]) -> Callable[..., Response]:
    def change(visit: OwnersVisit) -> Response:
        getattr(visit.place.store, name)(now=visit.now)
        visit.here.monitor.look_again()
        return visit.go_home()

    return change


def tell_dashboard(visit: OwnersVisit) -> Response:
    """Return everything as JSON."""
    return JSONResponse(visit.here.monitor.look().to_dict())


def send_export(visit: OwnersVisit) -> Response:
    """Send the exported tables as one file."""
    file_format = visit.path["name"].removeprefix("study-").removesuffix(".zip")
    if file_format not in FORMATS or visit.path["name"] != f"study-{file_format}.zip":
        raise HTTPException(404, "unknown_page")
    if not visit.here.exporting.acquire(blocking=False):
        raise HTTPException(429, "too_many", headers={"retry-after": "20"})
    folder = tempfile.mkdtemp(prefix="comparity-export-")
    try:
        tables = Path(folder) / "study"
        export_study(visit.place.store, tables, file_format=file_format)
        packed = shutil.make_archive(str(Path(folder) / "packed"), "zip", tables)
    except EmptyTableError as error:
        shutil.rmtree(folder)
        raise HTTPException(409, "nothing_yet") from error
    except BaseException:
        shutil.rmtree(folder)
        raise
    finally:
        visit.here.exporting.release()
    name, gone = f"study-{file_format}.zip", BackgroundTask(shutil.rmtree, folder)
    return FileResponse(packed, media_type="application/zip", filename=name, background=gone)


def send_events(visit: OwnersVisit) -> Response:
    """Keep a window up to date, by server-sent events."""
    if visit.here.listeners >= MOST_LISTENERS:
        raise HTTPException(429, "too_many", headers={"retry-after": "60"})
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(events(visit), media_type="text/event-stream", headers=headers)


async def events(visit: OwnersVisit) -> AsyncIterator[str]:
    """Yield the parts of the page that have changed, until the session ends."""
    sent: dict[str, str] = {}
    told = time.monotonic()
    visit.here.listeners += 1
    try:
        yield "retry: 5000\n\n"
        while await run_in_threadpool(_is_still_owner, visit):
            found = await run_in_threadpool(_parts_now, visit)
            new = {name: html for name, html in found.items() if sent.get(name) != html}
            sent |= new
            if new:
                yield f"event: parts\ndata: {json.dumps(new)}\n\n"
                told = time.monotonic()
            elif time.monotonic() - told > HEARTBEAT:
                yield ": nothing new\n\n"
                told = time.monotonic()
            await asyncio.sleep(PAUSE)
        yield "event: over\ndata: 0\n\n"
    finally:
        visit.here.listeners -= 1


def _is_still_owner(visit: OwnersVisit) -> bool:
    return visit.place.store.is_logged_in(visit.token, now=visit.place.clock())


def _parts_now(visit: OwnersVisit) -> dict[str, str]:
    snapshot = visit.here.monitor.look()
    return {**visit.here.parts(snapshot), "controls": visit.controls(snapshot)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnersPage:
    """A route of the dashboard.

    Attributes
    ----------
    path, method : str
    handle : callable
        Visit in, response out; it runs in a thread.
    strangers : bool
        Whether it is for those who are not logged in, too.
    """

    path: str
    method: Literal["GET", "POST"]
    handle: Callable[[OwnersVisit], Response]
    strangers: bool = False

    async def answer(self, here: OwnersPlace, request: Request) -> Response:
        """Return the response to one request."""
        form: dict[str, str] = {}
        if self.method == "POST":
            check_owner_origin(request.headers)
            form = await read_form(request)
        return await run_in_threadpool(self._answer, here, request, form)

    def _answer(self, here: OwnersPlace, request: Request, form: Mapping[str, str]) -> Response:
        place, address = here.place, address_of(request)
        token = request.cookies.get(here.cookie, "")
        if self.method == "POST" and self.strangers:
            place.gatekeeper.count_login(address)
        visit = OwnersVisit(
            here=here,
            now=place.clock(),
            token=token,
            is_owner=_is_owner(place, address, token),
            path=request.path_params,
            form=form,
            base=request.scope.get("root_path", ""),
            is_secure=request.url.scheme == "https",
        )
        if not visit.is_owner and not self.strangers:
            raise HTTPException(403, "logged_out")
        if visit.is_owner:
            place.gatekeeper.count_judge(token)
        if self.method == "POST" and not self.strangers:
            check_secret(form, token)
        return self.handle(visit)


def _is_owner(place: Place, address: str, token: str) -> bool:
    """Return whether a token is of a session; who tries too many has to wait."""
    if not token:
        return False
    place.gatekeeper.check_stranger(address, token)
    known = TOKEN.fullmatch(token) is not None
    if known and place.store.is_logged_in(token, now=place.clock()):
        place.gatekeeper.remember(token)
        return True
    place.gatekeeper.count_stranger(address)
    return False


OWNERS_PAGES = (
    OwnersPage(path=HOME, method="GET", handle=show_dashboard, strangers=True),
    OwnersPage(path=f"{HOME}/login", method="POST", handle=log_in, strangers=True),
    OwnersPage(path=f"{HOME}/logout", method="POST", handle=log_out),
    OwnersPage(path=f"{HOME}/pause", method="POST", handle=_change("pause")),
    OwnersPage(path=f"{HOME}/resume", method="POST", handle=_change("resume")),
    OwnersPage(path=f"{HOME}/close", method="POST", handle=_change("close")),
    OwnersPage(path=f"{HOME}/reopen", method="POST", handle=_change("reopen")),
    OwnersPage(path=f"{HOME}/now", method="GET", handle=tell_dashboard),
    OwnersPage(path=f"{HOME}/events", method="GET", handle=send_events),
    OwnersPage(path=f"{HOME}/export/{{name}}", method="GET", handle=send_export),
)
