"""The metrics of the catalogue against AIF360 and Fairlearn, and consistency against scikit-learn.

Run as ``python benchmarks/bench_metrics.py --max 1e6``. Everything in a table is timed in one run;
the answers are checked against each other before they are timed. Each table runs in a process of
its own, whose peak memory is printed. ``values`` are the 26 metrics of predictions, the 3 of data
that follow from counts, and nothing else; ``scorecard`` is what a user calls: with intervals.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

from measure import SEED, best_seconds, growth, in_subprocess, largest_size, report, show, sizes


def simulated(n: int) -> tuple[Any, Any, Any]:
    """Return labels, predictions and groups as bytes, four people in ten unprivileged."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    group = (rng.random(n) < 0.6).astype(np.uint8)
    label = (rng.random(n) < 0.4 + 0.1 * group).astype(np.uint8)
    wrong = rng.random(n) < 0.2
    return label, (label ^ wrong).astype(np.uint8), group


def values(n: int) -> None:
    """Time all metrics of predictions: ours, AIF360's, and those Fairlearn has."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import fairlearn.metrics as fairlearn
    import numpy as np
    import pandas
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import ClassificationMetric

    from comparity import fairness_metrics
    from comparity.catalogue.listing import CATALOGUE
    from comparity.catalogue.resampling import metric_values
    from comparity.contrasts import Contrast
    from comparity.counting.paired import count_small_codes

    label, said, group = simulated(n)

    def ours() -> Any:
        counts = count_small_codes(label, said, group)
        assert counts is not None
        return metric_values(Contrast.of(counts, {"1"}))

    def card() -> Any:
        return fairness_metrics(label, said, sensitive_features=group, privileged=1)

    def bincount() -> Any:
        return np.bincount(group.astype(np.int64) * 4 + label * 2 + said, minlength=8)

    columns = {"group": group.astype(float), "label": label.astype(float)}
    truth = BinaryLabelDataset(
        df=pandas.DataFrame(columns), label_names=["label"], protected_attribute_names=["group"]
    )
    copy = truth.copy(deepcopy=True)
    copy.labels = said.astype(float).reshape(-1, 1)
    names = {number: one.aif360 for number, one in CATALOGUE.items() if number[0] == "C"}

    def aif360() -> Any:
        camps = {"unprivileged_groups": [{"group": 0}], "privileged_groups": [{"group": 1}]}
        metric = ClassificationMetric(truth, copy, **camps)
        return {number: getattr(metric, name)() for number, name in names.items()}

    rates = {
        name: getattr(fairlearn, name)
        for name in (
            *("selection_rate", "true_positive_rate", "false_positive_rate"),
            *("false_negative_rate", "true_negative_rate"),
        )
    }

    def frame() -> Any:
        found = fairlearn.MetricFrame(
            metrics=rates, y_true=label, y_pred=said, sensitive_features=group
        )
        return found.difference(), found.ratio()

    answers: dict[str, Any] = {}
    mine = ours()
    ours_seconds, card_seconds, counted = best_seconds(ours, card, bincount, repeats=7)
    (aif,) = best_seconds(lambda: answers.update(aif360=aif360()), repeats=2)
    # Minutes at a million rows, so once.
    (fair,) = best_seconds(lambda: answers.update(frame=frame()), repeats=1)
    assert all(abs(float(mine[k]) - float(v)) < 1e-10 for k, v in answers["aif360"].items())
    assert abs(answers["frame"][0]["selection_rate"] - abs(float(mine["C15"]))) < 1e-10
    report(values=ours_seconds, card=card_seconds, bincount=counted, aif360=aif, fairlearn=fair)


def neighbours(n: int) -> None:
    """Time consistency with 20 features against scikit-learn's brute force."""
    import numpy as np
    from sklearn.neighbors import NearestNeighbors

    from comparity.counting.neighbours import count_neighbours
    from comparity.metrics.labels import consistency

    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(n, 20))
    label = features[:, 0] + rng.normal(size=n) > 0
    found: dict[str, float] = {}

    def ours() -> None:
        counts = count_neighbours(features, label, rng=np.random.default_rng(1))
        found["ours"] = consistency(counts)
        found["stated"] = 2 * counts.error[1] + abs(counts.error[0])

    def brute() -> None:
        model = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(features)
        nearest = model.kneighbors(features)[1]
        found["exact"] = float(1 - np.abs(label - label[nearest].mean(axis=1)).mean())

    count_neighbours(features[:5000], label[:5000], rng=rng)  # compiles the kernel
    (seconds,) = best_seconds(ours, repeats=2)
    (reference,) = best_seconds(brute, repeats=1)
    assert abs(found["ours"] - found["exact"]) < 3e-3, found
    error = abs(found["ours"] - found["exact"])
    report(seconds=seconds, reference=reference, error=error, stated=found["stated"])


def bootstrap(replicates: int) -> None:
    """Time resamples of all metrics that follow from counts; the number of rows does not matter."""
    import numpy as np

    from comparity.catalogue.resampling import resampled_values
    from comparity.contrasts import Contrast

    tables = np.array([[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]) * 1000
    contrast = Contrast(tables, np.array([False, True]))

    def ours() -> Any:
        return resampled_values(contrast, replicates=replicates, rng=np.random.default_rng(SEED))

    # The mean over resamples of a difference of rates is the difference itself.
    assert abs(float(ours()["C0"].mean()) + 0.2) < 1e-3
    (seconds,) = best_seconds(ours, repeats=3)
    report(seconds=seconds)


def main() -> None:
    largest = largest_size(__doc__ or "")
    counts = sizes(largest)
    rows, seconds = [], []
    for n in counts:
        found = in_subprocess(__file__, "values", str(n))
        seconds.append(found["values"])
        ratios = [found[peer] / found["values"] for peer in ("aif360", "fairlearn", "bincount")]
        own = (found["values"], found["card"])
        rows.append(
            (
                f"{n:,}",
                *(f"{1000 * one:.2f}" for one in own),
                *(f"{ratio:,.1f}" for ratio in ratios),
                f"{found['peak_gib']:.2f}",
            )
        )
    show(
        "All metrics of predictions from labels, predictions and groups",
        (
            "rows",
            "values ms",
            "scorecard ms",
            "AIF360 /",
            "MetricFrame /",
            "bincount /",
            "peak GiB",
        ),
        rows,
        f"growth exponent {growth(counts, seconds):.2f}; times of peers over ours; MetricFrame has "
        "five of the rates, and spends its time stacking rows",
    )
    rows = []
    for n in sizes(min(largest, 1e5), 1e4):
        found = in_subprocess(__file__, "neighbours", str(n))
        ratio = found["reference"] / found["seconds"]
        errors = (f"{found['error']:.1e}", f"{found['stated']:.1e}")
        rows.append((f"{n:,}", f"{found['seconds']:.2f}", f"{ratio:.1f}", *errors))
    show(
        "Consistency, 20 features, 5 neighbours",
        ("rows", "seconds", "brute /", "error", "stated"),
        rows,
        "time of scikit-learn's brute force over ours; exact up to 20,000 rows",
    )
    rows = []
    for replicates in (1000, 10_000):
        found = in_subprocess(__file__, "bootstrap", str(replicates))
        rows.append((f"{replicates:,}", f"{found['seconds']:.3f}", f"{found['peak_gib']:.2f}"))
    caption = "29 metrics of every resample"
    show("Resamples of all metrics", ("resamples", "seconds", "peak GiB"), rows, caption)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("values", "neighbours", "bootstrap"):
        {"values": values, "neighbours": neighbours, "bootstrap": bootstrap}[sys.argv[1]](
            int(sys.argv[2])
        )
    else:
        main()
