"""What a user waits for: whole public calls and commands, beside their peers, in one run.

Run as ``python benchmarks/bench_calls.py``, or with names of rows: ``... "separation, 20 groups"``.
A row is a process of its own. Calls are made once on little data first, so that nothing is compiled
or loaded while they are timed; commands are timed as they are, from the shell to the verdict.
Times are core-seconds of all threads, the least of some runs. Where the unit is a sort, one
``np.argsort`` of as many scores as the call has rows is timed in turns with it. Every answer is
compared with the peer's or with the truth that the data were drawn from.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from cores import core_seconds
from measure import SEED, in_subprocess, report, show

EVALUATORS = 100
CORRELATION = math.sqrt(0.5)
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    run : callable
        Times the call and prints ``seconds``, and ``sort``, ``peer`` or ``peak_gib`` where known.
    goal : float
        The most it may take, in `unit`.
    unit : str
        ``"sorts"``, ``"s"`` or ``"peer"`` (as long as the peer takes).
    peer : str
        Whose time stands beside it.
    """

    run: Callable[[], None]
    goal: float
    unit: str
    peer: str = ""


def scored_rows(n: int, n_groups: int, levels: int) -> Columns:
    """Return normal labels, in so many levels (0: as they are), scores with noise, and groups."""
    rng = np.random.default_rng(SEED)
    label = rng.normal(size=n)
    score = label + rng.normal(size=n)
    if levels:
        cuts = np.quantile(label, np.arange(1, levels) / levels)
        label = np.searchsorted(cuts, label).astype(np.float64)
    return {"label": label, "score": score, "group": rng.integers(0, n_groups, n)}


def judged_rows(n: int) -> Columns:
    """Return comparisons of ten times fewer items, who judged, scores and groups of items."""
    rng = np.random.default_rng(SEED)
    items = n // 10
    quality, group = rng.normal(size=items), rng.integers(0, 2, items).astype(np.int8)
    one = rng.integers(0, items, n).astype(np.int32)
    two = ((one + rng.integers(1, items, n)) % items).astype(np.int32)
    won = rng.random(n) < 1 / (1 + np.exp(quality[two] - quality[one]))
    pairs = np.where(won[:, None], np.column_stack([one, two]), np.column_stack([two, one]))
    judge = rng.integers(0, EVALUATORS, n).astype(np.int32)
    score = quality + rng.normal(size=items)
    return {"pairs": pairs, "judge": judge, "group": group, "score": score, "quality": quality}


def areas(rows: Columns, n_groups: int) -> np.ndarray:
    """Return scikit-learn's area under the curve of every cell."""
    from sklearn.metrics import roc_auc_score

    found = np.empty((n_groups, n_groups))
    y, group = rows["label"], rows["group"]
    for a, b in product(range(n_groups), repeat=2):
        chosen = ((group == a) & (y == 1)) | ((group == b) & (y == 0))
        found[a, b] = roc_auc_score(y[chosen], rows["score"][chosen])
    return found


def pairwise(n: int, levels: int, n_groups: int = 2, *, peer: bool = False) -> None:
    """Time `pairwise_accuracy`."""
    from comparity import pairwise_accuracy

    rows = scored_rows(n, n_groups, levels)

    def call(few: int | None = None) -> Any:
        part = {name: values[:few] for name, values in rows.items()}
        return pairwise_accuracy(part["label"], part["score"], sensitive_features=part["group"])

    call(20_000)
    jobs: list[Callable[[], Any]] = [call, lambda: np.argsort(rows["score"])]
    jobs += [lambda: areas(rows, n_groups)] if peer else []
    spent = core_seconds(*jobs, repeats=3)
    found = call()
    if peer:
        assert np.allclose(found.matrix, areas(rows, n_groups), rtol=1e-12, atol=0)
    elif not levels:
        # Kendall's tau of two normal variables; five of its standard errors, at the most.
        expected = 0.5 + math.asin(CORRELATION) / math.pi
        assert abs(found.overall - expected) < 5 * math.sqrt(0.5 / n)
    else:
        assert np.ptp(found.matrix) < 0.01
    report(seconds=spent[0], sort=spent[1], **({"peer": spent[2]} if peer else {}))


def comparative(n: int, *, evaluators: bool) -> None:
    """Time `comparative_separation`; groups are alike."""
    from comparity import comparative_separation

    rows = judged_rows(n)

    def call(few: int | None = None) -> Any:
        judges = rows["judge"][:few] if evaluators else None
        return comparative_separation(
            rows["pairs"][:few],
            scores=rows["score"],
            sensitive_features=rows["group"],
            evaluators=judges,
        )

    call(20_000)
    other = np.random.default_rng(SEED).normal(size=n)
    spent = core_seconds(call, lambda: np.argsort(other), repeats=3)
    found = call()
    one, two = rows["pairs"].T
    expected = float((rows["score"][one] > rows["score"][two]).mean())
    agreed = sum(rate.rate * rate.trials for rate in found.rates) / found.n
    assert abs(agreed - expected) < 1e-12
    report(seconds=spent[0], sort=spent[1])


def ranking(n: int, model: str, sharpness: str | None = None) -> None:
    """Time `bradley_terry`, or `barp` by evaluators none of whom leans."""
    from comparity import barp, bradley_terry

    rows = judged_rows(n)

    def call(few: int | None = None) -> Any:
        pairs = rows["pairs"][:few]
        if model == "bt":
            return bradley_terry(pairs, n_items=n // 10)
        known = {"evaluators": rows["judge"][:few], "sensitive_features": rows["group"]}
        return barp(pairs, sharpness=sharpness, **known)

    call(n // 5)
    (spent,) = core_seconds(call, repeats=1 if n > 10**6 else 3)
    together = float(np.corrcoef(call().scores, rows["quality"])[0, 1]) if n <= 10**6 else 1.0
    # Ten comparisons of each item: scores and truth go together, and not perfectly.
    assert together > 0.8
    report(seconds=spent)


def few_comparisons() -> None:
    """Time `bradley_terry` with standard errors beside evalica, which has none."""
    import evalica

    from comparity import bradley_terry

    rng, n, items = np.random.default_rng(SEED), 5_000, 100
    quality = rng.normal(size=items)
    one = rng.integers(0, items, n)
    two = (one + rng.integers(1, items, n)) % items
    won = rng.random(n) < 1 / (1 + np.exp(quality[two] - quality[one]))
    pairs = np.where(won[:, None], np.column_stack([one, two]), np.column_stack([two, one]))
    sides = [[f"{item:03d}" for item in side] for side in pairs.T.tolist()]
    wins = [evalica.Winner.X] * n
    ours, theirs = (
        lambda: bradley_terry(pairs, n_items=items, prior=None),
        lambda: evalica.bradley_terry(*sides, wins, tolerance=1e-8, limit=10**5),
    )
    ours(), theirs()
    seconds, peer = core_seconds(ours, theirs, repeats=30)
    expected = np.log(theirs().scores.sort_index().to_numpy())
    assert np.abs(ours().scores - expected + expected.mean()).max() < 1e-4
    report(seconds=seconds, peer=peer)


def separated(n: int) -> None:
    """Time `separation` of groups that are words; rates are alike."""
    from comparity import separation

    rng = np.random.default_rng(SEED)
    y_true = rng.integers(0, 2, n)
    y_pred = np.where(rng.random(n) < 0.8, y_true, 1 - y_true)
    group = np.array(["women", "men"])[rng.integers(0, 2, n)]

    def call(few: int | None = None) -> Any:
        return separation(y_true[:few], y_pred[:few], sensitive_features=group[:few])

    call(1000)
    (spent,) = core_seconds(call, repeats=3)
    rates = {rate.of: rate.rate for rate in call().rates if rate.name == "true positive rate"}
    for name in ("women", "men"):
        assert rates[name] == y_pred[(group == name) & (y_true == 1)].mean()
    report(seconds=spent)


def many_groups() -> None:
    """Time `separation` of twenty groups of 25 rows: exact tests of every pair."""
    from scipy.stats import barnard_exact

    from comparity import separation

    rng = np.random.default_rng(SEED)
    group = np.repeat([f"g{number:02d}" for number in range(20)], 25)
    y_true = rng.integers(0, 2, len(group))
    y_pred = np.where(rng.random(len(group)) < 0.75, y_true, 1 - y_true)

    def call(few: int | None = None) -> Any:
        return separation(y_true[:few], y_pred[:few], sensitive_features=group[:few])

    call(50)
    (spent,) = core_seconds(call, repeats=1)
    good = [y_pred[(group == name) & (y_true == 1)] for name in ("g00", "g01")]
    table = [[int((one == said).sum()) for one in good] for said in (1, 0)]
    p_value = call().tests[0].p_value
    assert abs(p_value - barnard_exact(table, pooled=True, n=64).pvalue) < 1e-6
    report(seconds=spent)


def command(name: str, n: int) -> None:
    """Time a command on a Parquet file, beside DuckDB reading the same columns."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_tables(duckdb, n)
        about = ["--items", "items.parquet", "--sensitive", "sex", "--evaluator", "judge"]
        asked = ["comparative", "--score", "model"] if name == "comparative" else ["rank"]
        script = [sys.executable, "-m", "comparity", asked[0], "judged.parquet", *asked[1:]]
        read = "import duckdb; print(duckdb.sql('select count(distinct better), count(distinct "
        read += 'worse), count(distinct judge) from read_parquet("judged.parquet")\').fetchall())'
        spent, peak, told = children([*script, *about, "--json"])
        assert json.loads(told)["n" if name == "comparative" else "n_comparisons"] == n
        peer, _, _ = children([sys.executable, "-c", read])
    print(json.dumps({"seconds": spent, "peer": peer, "peak_gib": peak}))


def write_tables(duckdb: Any, n: int) -> None:
    """Write items, and judgments in which items of higher numbers tend to win."""
    items = n // 10
    with duckdb.connect() as base:
        base.sql("select setseed(0.5)").fetchall()
        base.sql(f"""copy (select i as item, random() as model,
            case when random() < 0.5 then 'f' else 'm' end as sex
            from range({items}) t(i)) to 'items.parquet'""")
        base.sql(f"""create view drawn as select cast(floor(random() * {items}) as int) as a,
            1 + cast(floor(random() * {items - 1}) as int) as step, random() as chance,
            'judge ' || cast(floor(random() * {EVALUATORS}) as int) as judge from range({n})""")
        base.sql(f"""copy (
            select if(wins, a, b) as better, if(wins, b, a) as worse, judge from (
                select *, (a + step) % {items} as b,
                chance < 1 / (1 + exp(3.0 * (b - a) / {items})) as wins from drawn)
            ) to 'judged.parquet'""")


def children(arguments: Sequence[str]) -> tuple[float, float, str]:
    """Run a command; return its core-seconds, its peak in GiB and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, after.ru_maxrss / 2**20, done.stdout


SKLEARN, DUCKDB = "scikit-learn, AUC of each cell", "DuckDB, distinct values of the columns"
ROWS = {
    "all pairs, binary, 1e6": Row(lambda: pairwise(10**6, 2, peer=True), 1.9, "sorts", SKLEARN),
    "all pairs, binary, 1e7": Row(lambda: pairwise(10**7, 2), 0.8, "sorts"),
    "all pairs, 9 levels, 1e6": Row(lambda: pairwise(10**6, 9), 6, "sorts"),
    "all pairs, 9 levels, 1e7": Row(lambda: pairwise(10**7, 9), 3, "sorts"),
    "all pairs, continuous, 1e6": Row(lambda: pairwise(10**6, 0), 15, "sorts"),
    "all pairs, continuous, 1e7": Row(lambda: pairwise(10**7, 0), 10, "sorts"),
    "all pairs, continuous, 5 groups, 1e6": Row(lambda: pairwise(10**6, 0, 5), 25, "sorts"),
    "judged pairs, 1e6": Row(lambda: comparative(10**6, evaluators=False), 6, "sorts"),
    "judged pairs, 100 evaluators, 1e6": Row(
        lambda: comparative(10**6, evaluators=True), 12, "sorts"
    ),
    "judged pairs, 1e7": Row(lambda: comparative(10**7, evaluators=False), 5, "s"),
    "judged pairs, 100 evaluators, 1e7": Row(lambda: comparative(10**7, evaluators=True), 10, "s"),
    "barp, equal sharpness, 1e6": Row(lambda: ranking(10**6, "barp", "equal"), 1, "s"),
    "barp, own sharpness, 1e6": Row(lambda: ranking(10**6, "barp", "own"), 2, "s"),
    "barp, equal sharpness, 1e7": Row(lambda: ranking(10**7, "barp", "equal"), 12, "s"),
    "bradley_terry, 5,000": Row(few_comparisons, 1, "peer", "evalica"),
    "bradley_terry, 1e6": Row(lambda: ranking(10**6, "bt"), 0.5, "s"),
    "bradley_terry, 1e7": Row(lambda: ranking(10**7, "bt"), 6, "s"),
    "separation, words, 1e7": Row(lambda: separated(10**7), 1, "s"),
    "separation, 20 groups": Row(many_groups, 2, "s"),
    "comparity comparative, 1e7": Row(lambda: command("comparative", 10**7), 10, "s", DUCKDB),
    "comparity rank, 1e7": Row(lambda: command("rank", 10**7), 25, "s", DUCKDB),
}
"""Every call that has a goal."""


def told(name: str, facts: dict[str, float]) -> tuple[str, ...]:
    """Return the line of one call."""
    row = ROWS[name]
    by = {"sorts": facts.get("sort"), "s": 1.0, "peer": facts.get("peer")}[row.unit]
    found = facts["seconds"] / (by or math.nan)
    peer = f"{facts['peer'] / facts['seconds']:.2g}x {row.peer}" if "peer" in facts else ""
    goal = f"{row.goal:g} {row.unit}"
    kept = "yes" if found <= row.goal else "no"
    peak = f"{facts['peak_gib']:.2f}"
    return name, f"{facts['seconds']:.3g}", f"{found:.2f}", goal, kept, peer, peak


def main(names: Sequence[str]) -> None:
    """Print the table."""
    rows = []
    for name in names or ROWS:
        rows.append(told(name, in_subprocess(__file__, "run", name)))
        print(*rows[-1], sep="  ", file=sys.stderr)
    columns = ("call", "core, s", "in units", "goal", "kept", "peer takes", "peak, GiB")
    show("Public calls", columns, rows, "sorts: one np.argsort of as many scores")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        ROWS[sys.argv[2]].run()
    else:
        sys.path.insert(0, str(Path(__file__).parent))
        main(sys.argv[1:])
