"""The app that judges use: routes, error pages, and what every response carries."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from comparity.collect.languages import words_of
from comparity.collect.pages import PAGES
from comparity.collect.programs import CALLS, START
from comparity.collect.rendering import render_template
from comparity.collect.safety import Gatekeeper, Limits, SafeHeaders
from comparity.collect.visits import Page, Place, cookie_name

if TYPE_CHECKING:
    from starlette.requests import Request

    from comparity.collect.store import Store

Words = Mapping[str, Any]


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
    routes = [
        Route(page.path, _endpoint(page, place), methods=[page.method]) for page in PAGES + CALLS
    ]
    handlers = {
        HTTPException: partial(_show_error, words),
        Exception: partial(_show_breakdown, words),
    }
    return SafeHeaders(Starlette(routes=routes, exception_handlers=handlers))


def _endpoint(page: Page, place: Place) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await page.answer(place, request)

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
