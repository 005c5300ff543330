"""The metrics of the catalogue against AIF360 and Fairlearn, and consistency against scikit-learn.

Run as ``python benchmarks/bench_metrics.py --max 1e6``. Everything in a table is timed in one run,
in core-seconds; answers are checked against each other. Each row runs in a process of its own,
whose peak memory is printed. *values* are the metrics that follow from counts and nothing else;
*scorecard* is what a user calls: with intervals.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

from cores import core_seconds
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

NEIGHBOURS = 5
RATES = (
    *("selection_rate", "true_positive_rate", "false_positive_rate"),
    *("false_negative_rate", "true_negative_rate"),
)
"""What MetricFrame has of the rates; their gaps are C15, C0, C1 and C2."""


def simulated(n: int) -> tuple[Any, Any, Any]:
    """Return labels, predictions and groups as bytes, four people in ten unprivileged."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    group = (rng.random(n) < 0.6).astype(np.uint8)
    label = (rng.random(n) < 0.4 + 0.1 * group).astype(np.uint8)
    wrong = rng.random(n) < 0.2
    return label, (label ^ wrong).astype(np.uint8), group


def aif360_data(columns: dict[str, Any]) -> Any:
    """Return a data set of AIF360 with a group and a label."""
    import pandas
    from aif360.datasets import BinaryLabelDataset

    return BinaryLabelDataset(
        df=pandas.DataFrame(columns), label_names=["label"], protected_attribute_names=["group"]
    )


def aif360_metrics(label: Any, said: Any, group: Any) -> Callable[[], dict[str, float]]:
    """Return a job: the 26 metrics of predictions by AIF360, its data sets built beforehand."""
    from aif360.metrics import ClassificationMetric

    from comparity.metrics.catalogue import CATALOGUE

    truth = aif360_data({"group": group.astype(float), "label": label.astype(float)})
    copy = truth.copy(deepcopy=True)
    copy.labels = said.astype(float).reshape(-1, 1)
    names = {number: one.aif360 for number, one in CATALOGUE.items() if number[0] == "C"}
    camps = {"unprivileged_groups": [{"group": 0}], "privileged_groups": [{"group": 1}]}

    def job() -> dict[str, float]:
        metric = ClassificationMetric(truth, copy, **camps)
        return {number: float(getattr(metric, name)()) for number, name in names.items()}

    return job


def fairlearn_metrics(label: Any, said: Any, group: Any) -> Callable[[], Any]:
    """Return a job: gaps and ratios of the rates that MetricFrame has."""
    import fairlearn.metrics as fairlearn

    rates = {name: getattr(fairlearn, name) for name in RATES}

    def job() -> Any:
        frame = fairlearn.MetricFrame(
            metrics=rates, y_true=label, y_pred=said, sensitive_features=group
        )
        return frame.difference(), frame.ratio()

    return job


def our_values(label: Any, said: Any, group: Any) -> Any:
    """Count, and work out every metric that follows from counts."""
    from comparity.counts.decisions import GroupedDecisions, count_small_codes
    from comparity.metrics.comparison import metric_values

    counts = count_small_codes(label, said, group)
    assert counts is not None
    return metric_values(GroupedDecisions.of(counts, {"1"}))


def values(n: int) -> None:
    """Time all metrics of predictions: ours, AIF360's, and those Fairlearn has."""
    import numpy as np

    from comparity import fairness_metrics

    rows = label, said, group = simulated(n)
    mine = our_values(*rows)
    own, card, counted = core_seconds(
        lambda: our_values(*rows),
        lambda: fairness_metrics(label, said, sensitive_features=group, privileged=1),
        lambda: np.bincount(group.astype(np.int64) * 4 + label * 2 + said, minlength=8),
        repeats=7,
    )
    found: dict[str, Any] = {}
    jobs = {"aif360": aif360_metrics(*rows), "fairlearn": fairlearn_metrics(*rows)}
    (aif360,) = core_seconds(lambda: found.update(aif360=jobs["aif360"]()), repeats=2)
    # Minutes at a million rows, so once.
    (frame,) = core_seconds(lambda: found.update(fairlearn=jobs["fairlearn"]()), repeats=1)
    assert len(found["aif360"]) == 26
    assert all(abs(float(mine[k]) - v) < 1e-10 for k, v in found["aif360"].items())
    gaps = {name: found["fairlearn"][0][name] for name in RATES[:4]}
    for number, gap in zip(("C15", "C0", "C1", "C2"), gaps.values(), strict=True):
        assert abs(gap - abs(float(mine[number]))) < 1e-10
    report(values=own, card=card, bincount=counted, aif360=aif360, fairlearn=frame)


def neighbourhood(n: int, d: int) -> tuple[Any, Any]:
    """Return features, and labels that depend on the first of them."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(n, d))
    return features, features[:, 0] + rng.normal(size=n) > 0


def brute_force(features: Any, labels: Any) -> float:
    """Return consistency by scikit-learn's brute force."""
    import numpy as np
    from sklearn.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(features)
    nearest = model.kneighbors(features, return_distance=False)
    return float(1 - np.abs(labels - labels[nearest].mean(axis=1)).mean())


def aif360_consistency(features: Any, labels: Any) -> Callable[[], float]:
    """Return a job: consistency by AIF360, over features of which the last is the group."""
    from aif360.metrics import BinaryLabelDatasetMetric

    columns = {f"x{place}": column for place, column in enumerate(features.T[:-1])}
    # AIF360 has the group among the features; here it is the last of them.
    data = aif360_data({**columns, "group": features[:, -1], "label": labels.astype(float)})
    return lambda: float(BinaryLabelDatasetMetric(data).consistency(NEIGHBOURS)[0])


def neighbours(n: int, d: int, peer: str) -> None:
    """Time consistency, exact and approximate, against a peer."""
    import numpy as np

    from comparity.counts.neighbours import count_neighbours
    from comparity.metrics.entropy import consistency

    features, labels = neighbourhood(n, d)
    found: dict[str, float] = {}

    def ours(kind: str, exact_rows: int) -> None:
        rng = np.random.default_rng(1)
        counts = count_neighbours(features, labels, rng=rng, exact_rows=exact_rows)
        found[kind] = consistency(counts)
        found["stated"] = 2 * counts.error[1] + abs(counts.error[0])

    jobs = {"brute": lambda: brute_force(features, labels)}
    if peer == "aif360":
        jobs["aif360"] = aif360_consistency(features, labels)
    count_neighbours(features[:5000], labels[:5000], rng=np.random.default_rng(1), exact_rows=1000)
    (exact,) = core_seconds(lambda: ours("exact", n), repeats=1)
    (near,) = core_seconds(lambda: ours("near", 0), repeats=2)
    (theirs,) = core_seconds(lambda: found.update(peer=jobs[peer]()), repeats=1)
    assert abs(found["exact"] - found["peer"]) < 1e-9, found
    error = abs(found["near"] - found["exact"])
    assert error <= 2 * found["stated"], found
    report(exact=exact, near=near, peer=theirs, error=error, stated=found["stated"])


def bootstrap(replicates: int) -> None:
    """Time resamples of all metrics that follow from counts; the number of rows does not matter."""
    import numpy as np

    from comparity.counts.decisions import GroupedDecisions
    from comparity.inference.metric_intervals import resample_table
    from comparity.metrics.comparison import metric_values

    tables = np.array([[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]) * 1000
    contrast = GroupedDecisions(tables, np.array([False, True]))

    def ours() -> Any:
        rng = np.random.default_rng(SEED)
        return metric_values(resample_table(contrast, replicates=replicates, rng=rng))

    drawn = ours()
    assert {len(column) for column in drawn.values()} == {replicates}
    # The mean over resamples of a difference of rates is the difference itself.
    assert abs(float(drawn["C0"].mean()) + 0.2) < 1e-3
    (seconds,) = core_seconds(ours, repeats=3)
    report(seconds=seconds, metrics=len(drawn))


def show_values(counts: list[int]) -> None:
    rows, seconds = [], []
    for n in counts:
        found = in_subprocess(__file__, "values", str(n))
        seconds.append(found["values"])
        own = (f"{1000 * found[one]:.2f}" for one in ("values", "card"))
        peers = ("aif360", "fairlearn", "bincount")
        ratios = (f"{found[peer] / found['values']:,.1f}" for peer in peers)
        rows.append((f"{n:,}", *own, *ratios, f"{found['peak_gib']:.2f}"))
    show(
        "All metrics of predictions from labels, predictions and groups",
        ("rows", "values ms", "scorecard ms", "AIF360 /", "MetricFrame /", "bincount /", "GiB"),
        rows,
        f"growth exponent {growth(counts, seconds):.2f}; times of peers over ours; MetricFrame has "
        "five of the rates, and spends its time stacking rows",
    )


def show_neighbours(largest: int) -> None:
    rows = []
    for d, peer, name in ((10, "aif360", "AIF360"), (20, "brute", "scikit-learn, brute force")):
        for n in sizes(min(largest, 1e5), 1e4):
            found = in_subprocess(__file__, "neighbours", str(n), str(d), peer)
            own = (f"{found[one]:.2f}" for one in ("exact", "near"))
            ratios = (f"{found['peer'] / found[one]:.1f}" for one in ("exact", "near"))
            errors = (f"{found['error']:.1e}", f"{found['stated']:.1e}")
            rows.append((f"{n:,} x {d}", name, *own, *ratios, *errors))
    show(
        f"Consistency, {NEIGHBOURS} neighbours",
        ("rows", "peer", "exact s", "near s", "peer / exact", "peer / near", "error", "stated"),
        rows,
        "core-seconds; near: approximate, as above 20,000 rows, with its error and the error that "
        "is stated",
    )


def show_bootstrap() -> None:
    rows = []
    for replicates in (1000, 10_000):
        found = in_subprocess(__file__, "bootstrap", str(replicates))
        row = (f"{replicates:,}", str(found["metrics"]), f"{found['seconds']:.3f}")
        rows.append((*row, f"{found['peak_gib']:.2f}"))
    header = ("resamples", "metrics", "seconds", "GiB")
    show("Resamples of all metrics", header, rows, "core-seconds, whatever the number of rows")


def main() -> None:
    largest = largest_size(__doc__ or "")
    show_values(sizes(largest))
    show_neighbours(largest)
    show_bootstrap()


if __name__ == "__main__":
    jobs: dict[str, Callable[..., None]] = {
        "values": values,
        "neighbours": neighbours,
        "bootstrap": bootstrap,
    }
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        # AIF360 tells of optional packages that are not installed.
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        jobs[sys.argv[1]](*(int(one) if one.isdigit() else one for one in sys.argv[2:]))
    else:
        main()
