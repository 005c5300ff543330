"""A ready study that can be joined in the browser: ``make collect-demo``.

24 invented applicants for a job in a warehouse, described in Markdown; consent, a comprehension
check, a practice pair, attention pairs, breaks. The study is made in ``demo/collect`` and kept: the
next start goes on with the same answers. Export them with the command that is printed.

Needs ``pip install 'comparity[collect]'``. Run as
``python examples/collect_demo.py [PORT] [FOLDER]``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from comparity.cli import main as comparity
from comparity.collect.options import CollectOptions
from comparity.collect.setup import Items
from comparity.collect.store import create_store, open_store
from comparity.collect.study import study_of

CONSENT = """You will compare **pairs of short, invented profiles**. It takes about five minutes.

Your answers are stored without your name. You can stop at any time, and ask for your answers to be
erased."""
INSTRUCTIONS = """Read both profiles and choose the person whom you would rather invite.

- Decide by what is written, not by what you guess.
- If you see no difference, choose *Same*.
- There is no time limit."""
CHECKS = [
    {
        "question": "What do you decide by?",
        "answers": ["What is written in the profiles", "The side on which a profile stands"],
        "right": 1,
    },
    {
        "question": "What do you do if you see no difference?",
        "answers": ["Choose Same", "Choose the left profile"],
        "right": 1,
    },
]
JOBS = ("Picker", "Packer", "Forklift driver", "Shift lead", "Stock clerk", "Returns clerk")
STRENGTHS = (
    "trained new colleagues",
    "cut picking errors by a third",
    "never missed a delivery slot in a year",
    "introduced a new inventory list",
    "led a team of nine for six months",
    "speaks three languages with drivers",
    "holds a forklift licence and a first-aid certificate",
    "took an evening course in logistics",
)
REMARKS = (
    "Reliable and calm.",
    "Quick to learn.",
    "Prefers to work alone.",
    "Often late at first.",
)


def profile(quality: int, rng: np.random.Generator) -> str:
    """Return an invented profile; better ones have more years and more strengths."""
    job, remark = rng.choice(JOBS), rng.choice(REMARKS)
    years = int(rng.integers(2, 5)) + quality
    strengths = rng.choice(STRENGTHS, size=1 + quality // 2, replace=False)
    lines = "\n".join(f"- {one}" for one in strengths)
    return f"## {job}\n\n{years} years in warehouses.\n\n{lines}\n\n> {remark}"


def make_study(path: Path) -> None:
    """Write the study."""
    rng = np.random.default_rng(2026)
    quality = rng.integers(0, 7, size=24)
    sex = np.where(np.arange(24) % 2, "f", "m")
    score = quality + rng.normal(size=24) - 0.8 * (sex == "f")
    options = CollectOptions(
        heading="Warehouse jobs: a demonstration",
        question="Whom would you rather invite?",
        show="profile:markdown",
        sensitive="sex",
        score="model",
        consent=CONSENT,
        instructions=INSTRUCTIONS,
        judges=50,
        each=24,
        break_every=12,
        open_link=True,
        completion_code="THANKS-24",
        seed=1,
    )
    better, worse = (
        profile(6, rng),
        "## Picker\n\nNo experience yet.\n\n> Did not come to the call.",
    )
    known = {"better": {"profile": better}, "worse": {"profile": worse}}
    note = "More experience and more strengths: most people would invite this person."
    study = study_of(options, checks=CHECKS, practice=[{**known, "note": note}], attention=[known])
    items = Items(
        names=[f"a{number:02d}" for number in range(24)],
        shown=[[profile(int(one), rng)] for one in quality],
        sensitive={"sex": sex.tolist()},
        scores=score.round(3).tolist(),
    )
    create_store(path, study, items, now=time.time())


def main(port: str = "8000", folder: str = "demo/collect") -> None:
    """Make the study where there is none, say how to join, and serve it."""
    path = Path(folder) / "study.db"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make_study(path)
    with open_store(path) as store:
        token = store.insert_judges(1, now=time.time())[0][1]
    print(f"a personal link:             http://127.0.0.1:{port}/j/{token}")
    print(f"the link for everybody:      http://127.0.0.1:{port}/join")
    print(f"how far it is:               comparity collect status {path}")
    print(f"the answers, at any moment:  comparity collect export {path} --folder {folder}/answers")
    print("Ctrl-C ends the server; every answer is kept.", flush=True)
    comparity(["collect", "serve", str(path), "--port", port])


if __name__ == "__main__":
    main(*sys.argv[1:])
