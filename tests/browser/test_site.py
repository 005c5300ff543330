"""The documentation in a real browser: pages of every kind, on a desk and a phone, light and dark.

What the theme does is its own matter; what pages, formulas, tables and colours of ours do is told.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import SCREENS, Look, Once, failures
from tests.documentation.test_site import built_site

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = (
    *("index", "tutorial", "commands", "coming_from", "limits"),
    *("how_to/index", "how_to/comparative", "metrics", "training", "reproductions"),
    *("api/audits", "api/errors", "reproductions/004"),
)
# The theme names navigations alike: in the side bar, and one for each block of code.
OF_THE_THEME = {"landmark-unique"}


@pytest.fixture(scope="session")
def seen(look: Look, once: Once) -> dict[str, Any]:
    """Return what the browser saw of each page."""

    def looked(folder: Path) -> dict[str, Any]:
        site = built_site(folder)
        paths = {name: site / f"{name}.html" for name in PAGES}
        assert all(path.exists() for path in paths.values())
        found = look(paths.values())
        return {name: found[str(path)] for name, path in paths.items()}

    found: dict[str, Any] = once("site_seen", looked)
    return found


def barriers(one: dict[str, Any]) -> list[Any]:
    return [barrier for barrier in one["violations"] if barrier["id"] not in OF_THE_THEME]


def test_no_page_has_a_barrier(seen: dict[str, Any]) -> None:
    assert failures(seen, barriers) == {}
    # A checker that looked at nothing would find nothing.
    assert min(len(seen[name][screen]["passes"]) for name in seen for screen in SCREENS) > 30


def test_no_page_asks_another_server(seen: dict[str, Any]) -> None:
    def outside(one: dict[str, Any]) -> list[str]:
        return [url for url in one["foreign"] if not url.startswith(Path("/").as_uri())]

    assert failures(seen, outside) == {}


def test_no_page_scrolls_sideways_on_any_screen(seen: dict[str, Any]) -> None:
    assert failures(seen, lambda one: max(one["overflow"], 0)) == {}
