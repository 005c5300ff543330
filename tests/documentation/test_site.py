"""The site builds without a warning, and asks nothing of any other server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.documentation.blocks import ROOT

SECONDS = 300
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Requests(HTMLParser):
    """Collects what a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if LOADING.get(tag) == name and value:
                self.found.append(value)


def outside(page: str) -> list[str]:
    parser = Requests()
    parser.feed(page)
    return [one for one in parser.found if re.match(r"(https?:)?//", one)]


def built_site(folder: Path) -> Path:
    """Build the site in a folder without running its notebooks, which have tests of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        import build_site
        import notebooks

        patch.setattr(notebooks, "shown", lambda path, pictures: f"# {path.stem}\n")
        build_site.stage(folder / "build" / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    words += ["--config-file", str(folder / "zensical.toml")]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=folder, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_the_site_is_whole_and_asks_nothing_of_others(tmp_path: Path) -> None:
    site = built_site(tmp_path)
    built = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {site / "index.html", site / "tutorial.html", site / "api" / "audits.html"} <= set(built)
    assert not {str(path): found for path, page in built.items() if (found := outside(page))}
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", styles)
    assert "<math" in built[site / "api" / "rankings.html"]
    assert 'src="pictures/report.png"' in built[site / "index.html"]


def test_an_outside_request_would_be_noticed() -> None:
    page = '<script src="https://a.example/b.js"></script><a href="https://c.example">c</a>'
    assert outside(page) == ["https://a.example/b.js"]
    assert outside('<link href="//fonts.example/x.css" rel="stylesheet">') == [
        "//fonts.example/x.css"
    ]


def test_links_are_turned_to_where_pages_stand_on_the_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from build_site import turned

    known = {"README.md": "index.md", "docs/how_to/plan.md": "how_to/plan.md"}
    assert turned("[a](docs/how_to/plan.md#x)", "README.md", known) == "[a](how_to/plan.md#x)"
    assert turned("[a](../../README.md)", "docs/how_to/plan.md", known) == "[a](../index.md)"
    assert turned("[a](LICENSE) `[b](LICENSE)`", "README.md", known) == "a `[b](LICENSE)`"
    assert turned("[a](https://a.example)", "README.md", known) == "[a](https://a.example)"
