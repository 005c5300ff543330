"""Reference: Ferrara et al. (2024), "Bias-aware ranking from pairwise comparisons", Figures 2, 3.

The numbers are of an independent run of the authors' algorithms on fresh panels of section 5.1 (100
items, 70 and 30 in two groups, 50 evaluators of 100 pairs each): mean and standard deviation of
Kendall's tau-b against the true scores over `panels` panels, and of the exposure of the minority
less that of the majority under Bradley-Terry, best item first and, as in the authors' figure, worst
item first. Rank Centrality comes twice: the authors' ("teleport": win shares plus 1 everywhere) and
that of choix with alpha = 0.01. FA*IR re-ranks all items by Bradley-Terry with the majority
protected, p = 0.7 and alpha = 0.15.

Panels differ, so means of 20 panels are compared within three standard errors of a difference of
means, from the larger of the two standard deviations (those of three panels are unreliable). The
small version, of three panels, allows what has the same probability under Student's t.

What differs here from what the authors ran: Bradley-Terry, CrowdBT and FactorBT have a normal prior
with standard deviation 5 on the scores and are fitted until the gradient vanishes; FactorBT's
gradient is right; Rank Centrality is a proper walk. None of this moves a column by three standard
errors; on the same panels the published schemes and these agree closely, as tested below. (The
published curve of FactorBT in Figure 2 is that of CrowdBT and cannot be compared.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from math import sqrt

import numpy as np
import pytest
from scipy.stats import norm, t, uniform

from comparity import bradley_terry, crowd_bt, exposure, factor_bt, fair_topk, rank_centrality
from comparity.datasets.simulated_panels import Distribution, SimulatedPanel, simulate_comparisons
from comparity.ranking.exposure import kendall_tau
from comparity.ranking.judgments import judgments_of
from comparity.ranking.mixture_likelihoods import mixture_of
from tests.plain.published import alternating

FLAT = (1.0, 1.0)
ERRORS = 3
WIDE = 30.0

METHODS = ("BT", "teleport", "choix", "CrowdBT", "FactorBT", "FA*IR", "best first", "worst first")

# Column: panels in the rerun, then (mean, standard deviation) by method.
RERUNS: dict[str, tuple[int, list[tuple[float, float]]]] = {
    "mean 0": (
        4,
        [
            (0.9511, 0.0045),
            (0.9236, 0.006),
            (0.8786, 0.0081),
            (0.9495, 0.0057),
            (0.9483, 0.0054),
            (0.9511, 0.0045),
            (-0.0015, 0.0101),
            (-0.0065, 0.0083),
        ],
    ),
    "mean 1": (
        4,
        [
            (0.9288, 0.0098),
            (0.9096, 0.007),
            (0.8687, 0.004),
            (0.9282, 0.0111),
            (0.9277, 0.011),
            (0.9288, 0.0098),
            (0.005, 0.0097),
            (-0.0129, 0.0084),
        ],
    ),
    "mean 2": (
        4,
        [
            (0.8811, 0.0172),
            (0.8661, 0.0116),
            (0.8366, 0.0076),
            (0.8808, 0.0165),
            (0.8821, 0.0185),
            (0.8843, 0.0198),
            (0.0124, 0.0086),
            (-0.0189, 0.0076),
        ],
    ),
    "mean 3": (
        4,
        [
            (0.8455, 0.0143),
            (0.8274, 0.0128),
            (0.7959, 0.0104),
            (0.8439, 0.0148),
            (0.8448, 0.0162),
            (0.8593, 0.0238),
            (0.0238, 0.0125),
            (-0.0236, 0.0062),
        ],
    ),
    "mean 4": (
        4,
        [
            (0.7978, 0.0202),
            (0.7806, 0.0191),
            (0.7498, 0.0154),
            (0.7965, 0.021),
            (0.798, 0.0209),
            (0.8368, 0.0314),
            (0.0387, 0.0101),
            (-0.0285, 0.006),
        ],
    ),
    "mean 5": (
        4,
        [
            (0.7655, 0.0243),
            (0.7471, 0.0236),
            (0.7112, 0.0241),
            (0.7659, 0.0246),
            (0.7653, 0.0226),
            (0.8302, 0.034),
            (0.0481, 0.0067),
            (-0.0331, 0.0046),
        ],
    ),
    "SD 0": (
        3,
        [
            (0.9499, 0.0063),
            (0.9222, 0.0086),
            (0.8828, 0.0047),
            (0.9486, 0.0067),
            (0.9484, 0.0069),
            (0.9499, 0.0063),
            (-0.0038, 0.0109),
            (-0.0094, 0.0076),
        ],
    ),
    "SD 2": (
        3,
        [
            (0.9407, 0.0045),
            (0.9147, 0.0008),
            (0.8791, 0.0026),
            (0.9395, 0.0029),
            (0.9386, 0.0032),
            (0.9407, 0.0045),
            (-0.002, 0.0113),
            (-0.0106, 0.0081),
        ],
    ),
    "SD 5": (
        3,
        [
            (0.9209, 0.0098),
            (0.8987, 0.0129),
            (0.8683, 0.0107),
            (0.9068, 0.01),
            (0.8917, 0.0279),
            (0.9209, 0.0098),
            (-0.0036, 0.0107),
            (-0.0153, 0.0075),
        ],
    ),
    "SD 10": (
        3,
        [
            (0.8886, 0.0081),
            (0.8739, 0.017),
            (0.8439, 0.0141),
            (0.7997, 0.0819),
            (0.7787, 0.0254),
            (0.8886, 0.0081),
            (-0.0061, 0.0093),
            (-0.0196, 0.0073),
        ],
    ),
    "uniform": (
        8,
        [
            (0.9348, 0.0053),
            (0.9107, 0.0097),
            (0.8729, 0.0107),
            (0.9304, 0.0066),
            (0.923, 0.0187),
            (0.9348, 0.0053),
            (-0.0021, 0.01),
            (-0.006, 0.0097),
        ],
    ),
    "uniform scores": (
        8,
        [
            (0.8974, 0.0177),
            (0.8795, 0.0163),
            (0.8555, 0.0149),
            (0.891, 0.0177),
            (0.8777, 0.0236),
            (0.8974, 0.0177),
            (-0.0077, 0.0101),
            (-0.0065, 0.0115),
        ],
    ),
}

COLUMNS: dict[str, dict[str, Distribution]] = {
    **{f"mean {m}": {"bias": norm(m, 0.1)} for m in range(6)},
    **{f"SD {sd}": {"bias": norm(0, sd)} for sd in (0, 2, 5, 10)},
    "uniform": {"bias": uniform(-5, 10)},
    "uniform scores": {"bias": uniform(-5, 10), "scores": uniform(-5, 10)},
}


def panels(column: str, number: int) -> Iterator[SimulatedPanel]:
    for seed in range(number):
        yield simulate_comparisons(rng=np.random.default_rng([3, seed]), **COLUMNS[column])


def measured(panel: SimulatedPanel) -> list[float]:
    pairs, group = panel.comparisons, panel.sensitive_features
    known = {"evaluators": panel.evaluators}
    bt = bradley_terry(pairs, n_items=100, prior=5.0)
    crowd = crowd_bt(pairs, **known, n_items=100, reliability_prior=FLAT)
    factor = factor_bt(pairs, **known, sensitive_features=group, attention_prior=FLAT)
    walk = rank_centrality(pairs, n_items=100, smoothing=0, teleport=1)
    smooth = rank_centrality(pairs, n_items=100, smoothing=0.01, smoothed="all")
    again = fair_topk(
        bt, sensitive_features=group, protected="a", k=100, p=0.7, alpha=0.15, correction="closest"
    )
    scores = [bt.scores, walk.scores, smooth.scores, crowd.scores, factor.scores, -again.ranks]
    gaps = [
        exposure(values, sensitive_features=group, discount="ferrara").gap("b", "a")
        for values in (bt.scores, -bt.scores)
    ]
    return [*(kendall_tau(one, panel.scores) for one in scores), *gaps]


def far_from_rerun(column: str, number: int, errors: float) -> dict[str, float]:
    """Return the methods whose mean is out, with the difference in standard errors."""
    found = np.array([measured(panel) for panel in panels(column, number)])
    before, rerun = RERUNS[column]
    out = {}
    for name, values, (mean, spread) in zip(METHODS, found.T, rerun, strict=True):
        error = max(values.std(ddof=1), spread) * sqrt(1 / number + 1 / before)
        if abs(values.mean() - mean) > errors * error:
            out[name] = (values.mean() - mean) / error
    return out


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
def test_means_of_20_panels_are_those_of_the_rerun(column: str) -> None:
    assert far_from_rerun(column, 20, ERRORS) == {}


@pytest.mark.parametrize("column", ["mean 0", "mean 5", "SD 5"])
def test_means_of_3_panels_are_those_of_the_rerun(column: str) -> None:
    errors = t.isf(norm.sf(ERRORS), df=RERUNS[column][0] + 3 - 2)
    assert far_from_rerun(column, 3, errors) == {}


def test_a_common_bias_misleads_all_baselines_and_fair_topk_mends_some_of_it() -> None:
    """Figure 2, left, and Figure 3, left: the conclusions."""
    fair, biased = (
        np.mean([measured(panel) for panel in panels(column, 2)], axis=0)
        for column in ("mean 0", "mean 5")
    )
    taus = len(METHODS) - 2
    assert (biased[:taus] < fair[:taus] - 0.08).all()
    by_name = dict(zip(METHODS, biased, strict=True))
    assert by_name["FA*IR"] > by_name["BT"] + 0.01
    assert by_name["best first"] > 0.02
    assert by_name["worst first"] < -0.02


def on_one_panel(panel: SimulatedPanel) -> dict[str, tuple[float, float, float, float]]:
    """Return tau published and here, and log-likelihood published and here with a wide prior."""
    pairs, who, group = panel.comparisons, panel.evaluators, panel.sensitive_features
    judgments = judgments_of(pairs, n_items=len(group), evaluators=who)
    inside = (group == "b").astype(float)
    contrast = (inside[pairs[:, 0]] - inside[pairs[:, 1]])[:, None]
    found = {}
    for name in ("CrowdBT", "FactorBT"):
        factor = name == "FactorBT"
        model = mixture_of(judgments, contrast=contrast if factor else None, score_sd=np.inf)
        with warnings.catch_warnings():
            # Single steps end before scipy is content with them.
            warnings.simplefilter("ignore")
            end = alternating(model, wrong_factor=factor)
        fits = []
        for sd in (5.0, WIDE):
            if factor:
                options = {"sensitive_features": group, "slope_prior": sd, "attention_prior": FLAT}
                fits.append(factor_bt(pairs, evaluators=who, score_prior=sd, **options))
            else:
                options = {"n_items": len(group), "reliability_prior": FLAT}
                fits.append(crowd_bt(pairs, evaluators=who, score_prior=sd, **options))
        near, wide = fits
        found[name] = (
            kendall_tau(model.parts(end)[0], panel.scores),
            kendall_tau(near.scores, panel.scores),
            model.log_likelihood(end),
            wide.log_likelihood,
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("column", "most"), [("mean 2", 0.01), ("SD 5", 0.01), ("SD 10", 0.03)])
def test_on_the_same_panels_the_published_schemes_give_nearly_the_same_tau(
    column: str, most: float
) -> None:
    rows = [on_one_panel(panel) for panel in panels(column, 6)]
    for name in ("CrowdBT", "FactorBT"):
        published, ours, theirs, likelihood = np.mean([row[name] for row in rows], axis=0)
        assert abs(ours - published) < most
        assert likelihood > theirs


def test_on_one_panel_the_published_schemes_end_below_our_likelihood() -> None:
    panel = simulate_comparisons(
        rng=np.random.default_rng(1),
        n_items=25,
        groups={"group": 8},
        n_evaluators=10,
        bias=norm(0, 2),
    )
    for published, ours, theirs, likelihood in on_one_panel(panel).values():
        assert abs(ours - published) < 0.05
        assert likelihood > theirs
