"""The app of a study: routes, error pages, and what every response carries."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from comparity.collect.dashboard import OWNERS_PAGES, OwnersPage, OwnersPlace
from comparity.collect.monitor import Monitor
from comparity.collect.pages import PAGES
from comparity.collect.programs import CALLS, START
from comparity.collect.rendering import render_template, words_of
from comparity.collect.safety import Gatekeeper, Limits, SafeHeaders
from comparity.collect.visits import Page, Place, cookie_name
from comparity.errors import ComparityError

if TYPE_CHECKING:
    from starlette.requests import Request

    from comparity.collect.store import Store

Words = Mapping[str, Any]

LOG = logging.getLogger(__name__)
TICK = 2.0
"""Seconds between two looks at a study that is to stop by itself, or that somebody watches."""


def create_app(
    store: Store, *, limits: Limits | None = None, clock: Callable[[], float] = time.time
) -> SafeHeaders:
    """Return the web app of a study.

    Parameters
    ----------
    store : Store
        An open store; it must outlive the app.
    limits : Limits, optional
        How often each judge and each address may ask.
    clock : callable, optional
        Returns the time in seconds since 1970.

    Returns
    -------
    SafeHeaders
        An ASGI app: Starlette's, with safe headers on every response.
    """
    words = words_of(store.study)
    place = Place(
        store=store,
        clock=clock,
        gatekeeper=Gatekeeper(limits or Limits()),
        words=words,
        cookie=cookie_name(store.study),
    )
    monitor = Monitor(store, clock)
    here = OwnersPlace(place, monitor)
    routes = [
        *(Route(page.path, _endpoint(page, place), methods=[page.method]) for page in PAGES),
        *(Route(page.path, _endpoint(page, place), methods=[page.method]) for page in CALLS),
        *(Route(page.path, _endpoint(page, here), methods=[page.method]) for page in OWNERS_PAGES),
    ]
    handlers = {
        HTTPException: partial(_show_error, words),
        Exception: partial(_show_breakdown, words),
    }
    lifespan = partial(_watch, monitor)
    return SafeHeaders(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan))


@asynccontextmanager
async def _watch(monitor: Monitor, _: Starlette) -> AsyncIterator[None]:
    """Keep an eye on the study for as long as the app runs."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await run_in_threadpool(monitor.tick)
            except (SQLAlchemyError, sqlite3.Error, OSError, ComparityError):
                LOG.exception("the study could not be looked at; trying again")

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await run_in_threadpool(monitor.dispose)


def _endpoint(
    page: Page | OwnersPage, place: Place | OwnersPlace
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await page.answer(place, request)  # type: ignore[arg-type]

    return answer


def _show_error(words: Words, request: Request, error: Exception) -> Response:
    """Say what did not work, in the words of the pages or, to a script, by name."""
    assert isinstance(error, HTTPException)
    name = error.detail
    if name not in words["errors"]:
        name = {404: "unknown_page", 405: "method"}.get(error.status_code, "broken")
    headers = error.headers
    return _error_page(words, request, name, status=error.status_code, headers=headers)


def _show_breakdown(words: Words, request: Request, error: Exception) -> Response:
    return _error_page(words, request, "broken", status=500)


def _error_page(
    words: Words,
    request: Request,
    name: str,
    *,
    status: int,
    headers: Mapping[str, str] | None = None,
) -> Response:
    base = request.scope.get("root_path", "")
    is_call = request.scope["path"].removeprefix(base).startswith(START)
    if is_call or "application/json" in request.headers.get("accept", ""):
        told = {"error": name, "message": words["errors"][name]}
        return JSONResponse(told, status_code=status, headers=headers)
    page = render_template("error", {"words": words, "base": base, "name": name})
    return HTMLResponse(page, status_code=status, headers=headers)
