"""Reference: impact ratios that audits under Local Law 144 published.

Numbers of people, rates and ratios as printed in the summaries, taken from the data that Gerchick
et al. collected ("Auditing the Audits", FAccT 2025, audits_full.csv): ADP 2023 (perma.cc/KF5Y-5XY7)
and Morgan Stanley 2024 (perma.cc/A8TT-MN38). Rates are printed with three decimals, so that a ratio
is known to half a unit of its own last digit and of those of the two rates.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from comparity import impact_ratios
from comparity.impact.result import ImpactTable

Published = dict[str, tuple[int, float, float | None]]

ADP_RACE: Published = {
    "Asian": (97576, 0.470, 0.956),
    "Black": (278592, 0.465, 0.946),
    "Hispanic": (196581, 0.475, 0.965),
    "Two or more": (40542, 0.489, 0.994),
    "White": (385751, 0.492, 1.0),
    "American Indian": (5050, 0.454, None),
    "Pacific Islander": (4329, 0.487, None),
}
ADP_BOTH: Published = {
    "Asian women": (40617, 0.484, 0.992),
    "Black women": (166039, 0.467, 0.957),
    "Hispanic women": (99243, 0.469, 0.962),
    "Women of two or more": (22186, 0.488, 1.0),
    "White women": (196823, 0.485, 0.993),
    "Asian men": (51661, 0.461, 0.945),
    "Black men": (103143, 0.453, 0.928),
    "Hispanic men": (87864, 0.471, 0.965),
    "Men of two or more": (14187, 0.471, 0.966),
    "White men": (183819, 0.486, 0.996),
    "American Indian women": (2662, 0.447, None),
    "American Indian men": (1749, 0.464, None),
    # The largest rate of all, of too few people to be anybody's yardstick.
    "Pacific Islander men": (1706, 0.523, None),
    "Pacific Islander women": (2240, 0.505, None),
}
MORGAN_STANLEY_RACE: Published = {
    "Hispanic": (25712, 0.428, 1.0),
    "White": (75139, 0.400, 0.934),
    "Black": (25719, 0.403, 0.942),
    "Asian": (98764, 0.361, 0.844),
    "Two or more": (8819, 0.402, 0.939),
}
MORGAN_STANLEY_SEX: Published = {"Female": (86561, 0.379, 0.966), "Male": (159121, 0.392, 1.0)}

# The example in the rule itself, 6 RCNY § 5-301 (b): applicants, selected, impact ratio.
RULE_SEX = {"Male": (1390, 667, 1.0), "Female": (1181, 555, 0.979)}
RULE_RACE = {
    "Hispanic": (408, 204, 0.97),
    "White": (797, 412, 1.0),
    "Black": (390, 170, 0.84),
    "Pacific Islander": (119, 52, 0.85),
    "Asian": (616, 302, 0.95),
    "Native American": (41, 18, 0.85),
    "Two or more": (213, 96, 0.87),
}
RULE_BOTH = {
    "Hispanic men": (205, 90, 0.841),
    "Hispanic women": (190, 82, 0.827),
    "White men": (412, 215, 1.0),
    "Black men": (226, 95, 0.806),
    "Pacific Islander men": (87, 37, 0.815),
    "Asian men": (321, 167, 0.997),
    "Native American men": (24, 11, 0.878),
    "Men of two or more": (115, 52, 0.866),
    "White women": (385, 197, 0.981),
    "Black women": (164, 75, 0.876),
    "Pacific Islander women": (32, 15, 0.898),
    "Asian women": (295, 135, 0.877),
    "Native American women": (17, 7, 0.789),
    "Women of two or more": (98, 44, 0.860),
}


@pytest.mark.parametrize(
    ("example", "printed"),
    # Some of the ratios are of rates that were rounded before.
    [(RULE_SEX, 6e-4), (RULE_RACE, 6e-3), (RULE_BOTH, 6e-4)],
    ids=["sex", "race", "both"],
)
def test_ratios_are_those_of_the_example_in_the_rule(
    example: dict[str, tuple[int, int, float]], printed: float
) -> None:
    names = np.repeat([*example], [n for n, _, _ in example.values()])
    hits = np.concatenate([np.arange(n) < hits for n, hits, _ in example.values()])
    found = impact_ratios(hits, sensitive_features=names, min_share=0).tables[0]
    assert {one.group for one in found.groups} == {*example}
    for one in found.groups:
        n, selected, ratio = example[one.group]
        assert (one.n, one.hits) == (n, selected)
        assert one.ratio == pytest.approx(ratio, abs=printed)


def table(published: Published, min_share: float) -> ImpactTable:
    sizes = [n for n, _, _ in published.values()]
    hits = [np.arange(n) < round(n * rate) for n, rate, _ in published.values()]
    codes = np.repeat(np.arange(len(sizes)), sizes)
    found = impact_ratios(np.concatenate(hits), sensitive_features=codes, min_share=min_share)
    return found.tables[0]


@pytest.mark.parametrize(
    ("published", "min_share"),
    [
        (ADP_RACE, 0.02),
        # The auditor kept a category of 1.6%, which the rule allows.
        (ADP_BOTH, 0.01),
        (MORGAN_STANLEY_RACE, 0.02),
        (MORGAN_STANLEY_SEX, 0.02),
    ],
    ids=["ADP race", "ADP both", "Morgan Stanley race", "Morgan Stanley sex"],
)
def test_ratios_are_those_that_audits_published(published: Published, min_share: float) -> None:
    groups = {one.group: one for one in table(published, min_share).groups}
    largest = max(rate for _, rate, ratio in published.values() if ratio is not None)
    for place, (n, rate, ratio) in enumerate(published.values()):
        found = groups[str(place)]
        assert (found.n, round(found.rate, 3)) == (n, rate)
        if ratio is None:
            assert math.isnan(found.ratio)
            assert found.why_none
            continue
        printed = 5e-4 + 5e-4 * (1 + ratio) / largest
        assert found.ratio == pytest.approx(ratio, abs=printed)
        assert found.interval.low <= found.ratio <= found.interval.high
