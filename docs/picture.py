"""Take the picture of the report that the landing page shows.

``make demo && .venv/bin/python docs/picture.py`` opens ``demo/report.html`` in a browser without a
window (Chromium or Chrome), crops the upper part and writes ``docs/pictures/report.png`` with few
colours, so that it stays below 200 kB.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "demo" / "report.html"
PICTURE = ROOT / "docs" / "pictures" / "report.png"

WIDTH, HEIGHT = 1000, 1330
COLOURS = 64
LIMIT = 200_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def photograph(page: Path, target: Path) -> None:
    """Write what a browser shows of the upper part of a page."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"no browser was found; one of {', '.join(BROWSERS)} is needed")
    subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={target}"),
            page.resolve().as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )


def main(page: Path = REPORT) -> None:
    """Take the picture again."""
    if not page.exists():
        sys.exit(f"{page} is not there; `make demo` writes it")
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "report.png"
        photograph(page, raw)
        with Image.open(raw) as shot:
            shot.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    size = PICTURE.stat().st_size
    print(f"wrote {PICTURE}, {size:,} bytes")
    if size > LIMIT:
        sys.exit(f"that is more than {LIMIT:,}; take fewer colours or a smaller part")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
