"""A study from plan to report, with 20 simulated judges who use the pages over HTTP.

Applicants have a quality that nobody sees. A model scores them by their references, which
understate women. 20 judges compare applicants in the web app; five of them add something to men.
Because the world is simulated, the true gaps and the true leans are known. The script

1. plans how many judgments are needed,
2. makes a study with as many, and serves it,
3. lets every judge open their link, agree, and judge pair after pair, each in a thread,
4. exports the answers and audits them: ``comparative``, ``rank``, one report,
5. checks that what the judges remember gives the same verdict as the exported files.

Needs ``pip install 'comparity[collect]'``. Run as
``python examples/collect_a_study.py [JUDGMENTS OF EACH JUDGE]``.
"""

from __future__ import annotations

import html
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import numpy as np

from comparity import comparative_separation, plan_comparative
from comparity.collect.export import export_study
from comparity.collect.options import CollectOptions
from comparity.collect.setup import Items
from comparity.collect.store import create_store, open_store
from comparity.collect.study import study_of
from comparity.comparative.audit import audit_files
from comparity.datasets.simulated import Hiring, Round
from comparity.ranking.rank import rank_files
from comparity.reports.page import page
from comparity.results.audit import Audit

WORLD = Hiring(n_judges=20, n_leaning=5, lean=2.0, shifts=(0.0, -1.5, -1.0))
N_ITEMS = 400
WEIGHTS = (0.0, 1.0, 0.0)
"""The model scores by references alone."""

Answer = tuple[str, str]


def make_study(path: Path, applicants: Round, each: int) -> list[str]:
    """Write a study of these applicants and return the judges' links."""
    options = CollectOptions(
        heading="Applicants",
        question="Who is the better applicant?",
        show="file",
        sensitive="sex",
        score="model",
        consent="Answers are stored without your name.",
        judges=WORLD.n_judges,
        each=each,
        seed=1,
    )
    items = Items(
        names=applicants.items.tolist(),
        shown=[[f"File of applicant {name}"] for name in applicants.items],
        sensitive={"sex": applicants.sex.tolist()},
        scores=(applicants.features @ WEIGHTS).tolist(),
    )
    create_store(path, study_of(options), items, now=time.time())
    with open_store(path) as store:
        judges = store.insert_judges(WORLD.n_judges, now=time.time())
    return [f"/j/{token}" for _, token in judges]


@contextmanager
def serve(path: Path) -> Iterator[str]:
    """Serve the study in a process of its own; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "comparity", "collect", "serve", str(path), "--port", port]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            while not is_up(address) and server.poll() is None:
                time.sleep(0.1)
            yield address
        finally:
            server.terminate()


def is_up(address: str) -> bool:
    """Say whether the server answers."""
    try:
        urlopen(address).close()
    except URLError:
        return False
    return True


class SimulatedJudge:
    """Somebody who opens pages, reads both files and answers, with a mind of their own."""

    def __init__(self, address: str, link: str, applicants: Round, number: int) -> None:
        self.address = address
        self.browser = build_opener(HTTPCookieProcessor(CookieJar()))
        self.value = dict(
            zip(
                applicants.items.tolist(),
                applicants.quality + WORLD.leans[number] * (applicants.sex == "m"),
                strict=True,
            )
        )
        self.rng = np.random.default_rng([7, number])
        self.answers: list[Answer] = []
        self.shown = self.ask(link)
        self.shown = self.ask("/consent", csrf=self.field("csrf"))

    def ask(self, path: str, **form: str) -> str:
        """Open a page, or send a form, and return what comes back."""
        body = urlencode(form).encode() if form else None
        with self.browser.open(Request(self.address + path, body)) as page:
            return str(page.read().decode())

    def field(self, name: str) -> str:
        """Return a hidden field of the page that is shown."""
        found = re.search(f'name="{name}" value="([^"]*)"', self.shown)
        assert found, self.shown
        return html.unescape(found[1])

    def judge(self) -> list[Answer]:
        """Answer pair after pair; return the better and the worse applicant of each."""
        while 'name="outcome"' in self.shown:
            left, right = re.findall(r"File of applicant (\w+)", self.shown)
            seen = self.value[left] - self.value[right]
            outcome = "left" if self.rng.logistic() < seen else "right"
            form = {name: self.field(name) for name in ("csrf", "assignment", "client_id")}
            self.answers.append((left, right) if outcome == "left" else (right, left))
            self.shown = self.ask("/judgment", outcome=outcome, **form)
        return self.answers


def collect(address: str, links: list[str], applicants: Round) -> list[list[Answer]]:
    """Let all judges work at the same time; return what each of them remembers."""
    # Whoever comes first gets the first pairs, so judges arrive one after the other.
    judges = [
        SimulatedJudge(address, link, applicants, number) for number, link in enumerate(links)
    ]
    with ThreadPoolExecutor(len(judges)) as threads:
        return list(threads.map(SimulatedJudge.judge, judges))


def audit_memory(applicants: Round, remembered: list[list[Answer]]) -> Audit:
    """Return the verdict from what the judges remember, without any file."""
    places = {name: place for place, name in enumerate(applicants.items.tolist())}
    pairs = [[places[better], places[worse]] for one in remembered for better, worse in one]
    return comparative_separation(
        np.array(pairs),
        scores=applicants.features @ WEIGHTS,
        sensitive_features={"sex": applicants.sex},
        evaluators=np.repeat(WORLD.judge_names, [len(one) for one in remembered]),
    )


def planned_judgments() -> int:
    """Return how many judgments find a model that errs more often in one group, mostly."""
    plan = plan_comparative(
        tpr=(0.75, 0.9),
        tnr=(0.9, 0.75),
        shares=(0.5, 0.5),
        base_rates=(0.5, 0.5),
        n_items=N_ITEMS,
        n_evaluators=WORLD.n_judges,
        power=0.8,
    )
    return int(plan.n_pairs)


def main(each: int = 0, folder: Path | None = None) -> None:
    """Plan, collect, export, audit, report; `each` judgments of a judge, or as many as planned."""
    home = folder or Path(tempfile.mkdtemp(prefix="comparity-study-"))
    applicants = WORLD.draw(n_items=N_ITEMS, n_judgments=0, rng=np.random.default_rng(3))
    n = planned_judgments()
    each = each or -(-n // WORLD.n_judges)
    print(f"planned: {n:,} judgments for a power of 0.8; {each} asked of each of 20 judges")
    links = make_study(home / "study.db", applicants, each)
    with serve(home / "study.db") as address:
        remembered = collect(address, links, applicants)
    with open_store(home / "study.db") as store:
        exported = export_study(store, home)
    print(f"collected over HTTP: {exported.n_judgments:,} judgments of {len(links)} judges\n")
    names = {"item": "item", "sensitive": "sex"}
    comparisons, items = home / "comparisons.csv", home / "items.csv"
    audit = audit_files(comparisons, items, score="model", **names)
    truth = WORLD.gaps_with_judges(WEIGHTS)
    for test in audit.tests:
        print(f"{test.null}: gap {test.gap:+.3f}, true {truth[test.null]:+.3f}, {test.finding}")
    again = audit_memory(applicants, remembered)
    is_same = np.allclose([one.gap for one in audit.tests], [one.gap for one in again.tests])
    is_same = is_same and audit.finding == again.finding
    print(f"what the judges remember gives the same verdict: {'yes' if is_same else 'NO'}\n")
    panel = rank_files(comparisons, items, model="barp", **names)
    found = panel.ranking.evaluators[panel.ranking.cautious_q[:, 0] < 0.05]
    print("judges found to lean:  ", ", ".join(sorted(found, key=by_number)))
    print("judges who do lean:    ", ", ".join(leaning_judges()))
    report = page({"the model": audit, "the judges": panel}, title="Applicants")
    (home / "report.html").write_text(report, encoding="utf-8")
    print(f"\nwrote {home / 'report.html'}")


def by_number(name: str) -> int:
    """Return the number of ``judge 12``."""
    return int(name.split()[-1])


def leaning_judges() -> list[str]:
    """Return those who lean in truth, in the order of their links."""
    return [f"judge {place + 1}" for place in np.flatnonzero(WORLD.leans)]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
