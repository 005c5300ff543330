"""The app that judges use: routes, error pages, and what every response carries."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from comparity.collect.pages import PAGES
from comparity.collect.rendering import known_language, read_words, render_template
from comparity.collect.safety import Gatekeeper, Limits, SafeHeaders
from comparity.collect.visits import Page, Place, cookie_name

if TYPE_CHECKING:
    from starlette.requests import Request

    from comparity.collect.store import Store


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

    Raises
    ------
    OptionError
        There are no words in the study's language.
    """
    language = known_language(store.study.language)
    place = Place(
        store=store,
        clock=clock,
        gatekeeper=Gatekeeper(limits or Limits()),
        language=language,
        cookie=cookie_name(store.study),
    )
    routes = [Route(page.path, _endpoint(page, place), methods=[page.method]) for page in PAGES]
    handlers = {
        HTTPException: partial(_show_error, language),
        Exception: partial(_show_breakdown, language),
    }
    return SafeHeaders(Starlette(routes=routes, exception_handlers=handlers))


def _endpoint(page: Page, place: Place) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await page.answer(place, request)

    return answer


def _show_error(language: str, request: Request, error: Exception) -> Response:
    """Say what did not work, in the words of the pages or, to a script, by name."""
    assert isinstance(error, HTTPException)
    known = {404: "unknown_page", 405: "method"}
    words = read_words(language)["errors"]
    name = error.detail if error.detail in words else known.get(error.status_code, "broken")
    headers = error.headers
    return _error_page(language, request, name, status=error.status_code, headers=headers)


def _show_breakdown(language: str, request: Request, error: Exception) -> Response:
    return _error_page(language, request, "broken", status=500)


def _error_page(
    language: str,
    request: Request,
    name: str,
    *,
    status: int,
    headers: Mapping[str, str] | None = None,
) -> Response:
    words = read_words(language)
    if "application/json" in request.headers.get("accept", ""):
        told = {"error": name, "message": words["errors"][name]}
        return JSONResponse(told, status_code=status, headers=headers)
    base = request.scope.get("root_path", "")
    page = render_template("error", {"words": words, "base": base, "name": name})
    return HTMLResponse(page, status_code=status, headers=headers)
