"""Every constant that decides something stands in the table of docs/designs.md, with its value.

All numbers at the top level of a module that counts, tests, judges or ranks are looked at. One that
is not in the table has to be listed here as deciding nothing: it bounds work or memory, is lost in
rounding, only lays out what is shown, or steers a search whose result does not depend on it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "comparity"
FOLDERS = ("counts", "inference", "separation", "comparative", "pairwise", "relative", "results")
FOLDERS += ("metrics", "ranking", "planning", "pairs", "impact")
# Machine code, and how it is laid out.
LEFT_OUT = ("counts/kernels/",)

ROW = re.compile(r"^\| `(?P<name>[a-z_.]+\.[A-Z_0-9]+)` \| (?P<value>[^|]+) \|", re.MULTILINE)

NOT_DECIDING = {
    "work or memory": """
        counts.all_pairs.ITEMS_TO_SHARE_MEANS counts.decisions.FEWEST counts.densities.FURTHEST_CELL
        counts.densities.HERMITE_TERMS counts.densities.MOST_CELLS counts.differences.STEPS
        counts.clusters.DENSE_BYTES counts.clusters.FEW_CELLS counts.clusters.MOST_KINDS
        counts.clusters.MOST_SUMMED
        counts.drawn_items.FEW_PLACES counts.drawn_items.MOST_DRAWN
        counts.difference_sums.FINENESS counts.difference_sums.MOST_DISTINCT
        counts.difference_sums.MOST_PROFILES
        counts.engine_bins.BINS counts.engine_bins.FEW_VALUES
        counts.engine_bins.SPARE counts.engine_pairs.FEWEST_BINS counts.engine_pairs.MOST_BINS
        counts.engine_bins.ROOTS counts.engine_bins.LARGEST_TO_MULTIPLY
        counts.labelled_rows.MOST_LEVELS counts.engine_pairs.REPEATED
        counts.engine_pairs.MOST_SCORES counts.engine_pairs.MOST_WORK counts.labelled_rows.PEEK
        counts.label_parts.MOST_PARTS counts.label_parts.MOST_ROWS
        pairwise.audit.MOST_COLLECTED
        pairwise.query_items.MOST_ROWS
        counts.coded_judgments.LARGEST_ID counts.coded_judgments.MOST_NAMES
        counts.coded_judgments.ORDERS counts.coded_judgments.PLACE_BITS
        counts.coded_judgments.RANK counts.coded_judgments.ROOM
        counts.engine_rows.BYTES_CODED counts.engine_rows.BYTES_PER_CELL
        counts.engine_sums.EXACT_BITS counts.engine_sums.FEW_SUMS
        counts.engine_sums.MOST_AT_ONCE counts.judgments_in_memory.BYTES_AT_ONCE
        counts.judgments_in_memory.BYTES_OF_TOUCH
        counts.judgments_in_memory.BYTES_PER_JUDGMENT counts.judgments_in_memory.HELD_AT_ONCE
        counts.judgments_in_memory.MOST_PARTS counts.judgments_in_memory.TOUCHES_SHARE
        counts.judgments_in_memory.UNEVEN counts.label_parts.BYTES_HELD
        counts.engine_sums.MOST_WHOLE counts.judged_rows.MOST_COLLECTED
        counts.ledger.MANY_CELLS
        counts.neighbours.BLOCK counts.neighbours.CHECKED counts.neighbours.EXACT_ROWS
        counts.neighbours.FEWEST_HEAPS counts.neighbours.NUMBERS_TO_COMPILE
        counts.neighbours.MOST_HEAPS
        counts.neighbours.SPARE counts.neighbours.VARIANCE_ROWS counts.ordered_pairs.BLOCK
        counts.pair_distances.BINS counts.pair_distances.PAIRS_FOR_KNOTS
        counts.query_pairs.MOST_COMPARED_DIRECTLY inference.looks.MOST_LOOKS
        inference.multiplicity.MOST_NUMBERS
        inference.dealt_pairs.AT_ONCE inference.dealt_pairs.DENSE_SHARE
        inference.item_permutation.MOST_WORK pairwise.count.MOST_ITEMS_TO_DEAL
        comparative.families.MOST_JUDGMENTS_TO_DEAL comparative.state.SECONDS_TO_WAIT_FOR_WRITER
        comparative.state.SCHEMA comparative.state.MARK comparative.state.MOST_LOOKS
        comparative.state.MOST_REPLAYED comparative.state.PAGE comparative.state_rows.ITEM_BITS
        comparative.state_tables.MOST_NUMBERS
        counts.running_moments.MOST_CUBED counts.running_moments.MOST_KINDS
        planning.power_question.PATHS planning.power_question.SIZES
        planning.power_question.EARLIEST planning.power_question.LATEST
        planning.power_question.NO_ERROR
        inference.power._LEFT_OUT inference.power._NODES inference.power._STEPS
        inference.permutation.CHUNK inference.permuted_means.STEPS inference.requirement.AT_ONCE
        inference.logistic.AT_ONCE
        ranking.likelihood.sandwich.AT_ONCE ranking.likelihood.sandwich.MOST_WORK
        ranking.likelihood.part_covariances.MOST_ITEMS
        ranking.likelihood.evidence.CHUNK ranking.likelihood.exact.A_SECOND
        ranking.likelihood.exact.DENSE ranking.likelihood.exact.MOST_NUMBERS
        ranking.likelihood.errors.EVALUATORS_FOR_ROUGH_MEAN ranking.likelihood.errors.TASTE_WORK
        ranking.likelihood.tastes.MOST_WORK
        ranking.likelihood.search.PARAMETERS_TO_INVERT
        ranking.likelihood.search.MOST_PRODUCTS_A_ROUND ranking.likelihood.kernels.BLOCK
        ranking.likelihood.kernels.LONG
        ranking.likelihood.passes.SINGLE ranking.likelihood.passes.THREADED
        ranking.likelihood.comparison_rows.HOPS ranking.likelihood.comparison_rows.LITTLE_WORK
        ranking.likelihood.comparison_rows.MOST_NUMBERS ranking.likelihood.comparison_rows.MOST_WORK
        ranking.likelihood.comparison_rows.NARROW ranking.likelihood.comparison_rows.SORTED
        ranking.likelihood.comparison_rows.STARTS
        ranking.likelihood.comparison_rows.TILE
        ranking.likelihood.pair_integrals.MOST_POINTS ranking.likelihood.pair_integrals.OF_EACH
        ranking.likelihood.lot_likelihood.NO_TASTE ranking.likelihood.lot_likelihood.THREADED
        ranking.rank_centrality.DENSE ranking.reliability.JACKKNIFE_GROUPS
        relative.raters.LONG pairs.draw.BLOCK pairs.draw.POOL pairs.strata.TRIES
    """,
    "rounding": """
        counts.differences.EXACT counts.differences.NARROWEST counts.differences.SIGNIFICANT
        counts.differences.SINGLE counts.neighbours.TIED counts.overlap.LEAST_SHARE
        counts.pair_distances.RIDGE counts.pairs.ROUNDING inference.evaluators.FAR_OUT
        inference.evaluators.FARTHEST inference.cluster_spread.UNREACHABLE
        inference.extreme_tables.LEAST_EXCESS inference.extreme_tables.TIE
        inference.gap_tests.EPSILON inference.gap_tests.MOST_ITEMS
        inference.joint.LEAST_VARIANCE inference.joint.LEAST_EIGENVALUE
        inference.logistic.MOST_STEPS inference.logistic.RIDGE inference.logistic.SETTLED
        inference.looks.FURTHEST_BOUNDARY inference.anytime.FARTHEST
        inference.item_permutation.SAME_STATISTIC
        inference.permutation.SAME_STATISTIC inference.permuted_means.FURTHEST
        inference.permuted_means.SAME_STATISTIC
        inference.clustered_means.REACH inference.pivots.NOTHING
        inference.clustered_rates.NOTHING ranking.lots.TOO_SMALL
        inference.pivots.WIDEST
        inference.plausible_tables.NEGLIGIBLE inference.plausible_tables.LEAST_MISSING
        inference.plausible_tables.LEAST_RATE inference.power.LARGEST_SIZE
        inference.rejection.LEAST_VARIANCE
        inference.requirement.LARGEST_FACTOR inference.requirement.LEVEL_OF_NOTHING
        inference.requirement.LEAST_VARIANCE_OF_GAP ranking.crowd_models.SAME_PEAK
        ranking.fair_topk.SAME_LEVEL
        ranking.fits.LEAST_SD ranking.fits.MOST_JUDGMENTS ranking.fits.MOST_SD
        ranking.likelihood.banded.FIXED_PRECISION
        ranking.likelihood.banded.LEAST_PIVOT ranking.likelihood.banded.LOST_PRECISION
        ranking.likelihood.search.LEAST_NORM ranking.likelihood.objective.ROUNDED_CURVATURE
        ranking.likelihood.objective.ROUNDED_VALUE ranking.likelihood.one_pass.LEAST_LEFT
        ranking.likelihood.one_pass.NOTHING_LEFT ranking.likelihood.kernels.LN2_HIGH
        ranking.likelihood.kernels.LN2_LOW ranking.likelihood.kernels.LOG2E
        ranking.likelihood.pair_integrals.POINT_DISTANCE
        ranking.likelihood.pair_integrals.LARGEST_HALF_MARGIN
        ranking.likelihood.pair_integrals.LARGEST_PRODUCT
        ranking.likelihood.pair_integrals.LEAST_SHARE_OF_PEAK
        ranking.likelihood.pair_integrals.LARGEST_FALL ranking.likelihood.propagation.STILL
        ranking.lots.ROUNDED_LOSS ranking.lots.GAIN_TO_END ranking.mixture_likelihoods.EDGE
        ranking.mixture_likelihoods.LARGEST_LOG_RATIO ranking.mixture_likelihoods.SMALLEST_CHANCE
        planning.graded.POINTS planning.graded.SMALLEST
        relative.bridge_checks.COLLINEAR relative.prediction.LAST_DIGITS
        relative.slopes.LEAST_RESIDUAL_SHARE
        separation.information.SAME_STATISTIC
    """,
    "what is shown": """
        metrics.pictures.FARTHEST metrics.section.MOST_GROUPS pairwise.result.AS_TABLE
        ranking.items.NAMED ranking.fair_topk.SHOWN ranking.likelihood.search.COMPARISONS_TO_SHOW
        ranking.mixture_likelihoods.COMPARISONS_TO_SHOW ranking.pictures.MOST_BARS
        ranking.pictures.LEVEL
        ranking.pictures.NAMED ranking.pictures.STROKES
        ranking.section.CONTRASTS ranking.section.EVALUATORS ranking.section.ITEMS
        relative.section.DEEPEST relative.section.LISTED relative.section.NUMBERED
        relative.section.REMARKED relative.section.SIGNED results.judging.FEW_CLUSTERS
        comparative.state.MOST_SHOWN results.plain.WRITTEN_AT_ONCE results.result.MOST_READ
        pairs.result.PREVIEW impact.result.NAMED
    """,
    "a search": """
        counts.overlap.NEWTON_STEPS inference.cluster_spread.DIRECTIONS
        inference.cluster_spread.MULTIPLES
        inference.proportions.POLISH inference.extreme_tables.FEWEST_PARTS
        inference.extreme_tables.HALVINGS inference.extreme_tables.POLISH
        inference.extreme_tables.WIDEST_PART inference.looks.NODES_PER_STEP inference.e_values.NODES
        inference.permutation.LEVELS inference.permutation.STEPS inference.permuted_means.HALVINGS
        inference.pivots.HALVINGS inference.plausible_tables.CLOSER
        inference.plausible_tables.FEWEST_STEPS inference.plausible_tables.MOST_LISTED
        inference.plausible_tables.MOST_STEPS inference.plausible_tables.PARABOLAS
        inference.rejection.ROUNDS inference.rejection._HALVINGS inference.rejection._NEGLIGIBLE
        inference.rejection._NODES inference.rejection._POINTS inference.requirement.POWERS_AT_ONCE
        inference.requirement.REFINEMENTS planning.plan_ranking.GRID_POINTS
        planning.plan_ranking.MOST_ROUNDS ranking.alternating.GRADIENT
        ranking.alternating.STEPS
        ranking.fits.LARGEST_SD ranking.fits.SMALLEST_SD ranking.fits.START_SD
        ranking.likelihood.evidence.LONGEST ranking.likelihood.evidence.MOST_AHEAD
        ranking.likelihood.evidence.SHORTEST ranking.likelihood.search.GRADIENT_KEPT
        ranking.likelihood.search.LARGEST_SWING
        ranking.likelihood.search.COMPARISONS_TO_CORRECT_ONCE
        ranking.likelihood.search.ROUGH_PRECISION ranking.likelihood.search.ROUNDS
        ranking.likelihood.search.LARGEST_TILT_CHANGE ranking.likelihood.search.TOLERANCE
        ranking.likelihood.objective.MOST_PRODUCTS ranking.likelihood.one_pass.CLOSE
        ranking.likelihood.components.MOST_SWEEPS ranking.likelihood.passes.WIDE
        ranking.likelihood.one_pass.MOST_SOLVES ranking.likelihood.one_pass.SLIGHT
        ranking.likelihood.search.ROUNDS_SHARP ranking.likelihood.sharpness.LEAST_SD
        ranking.likelihood.sharpness.LONGEST_STEP ranking.likelihood.sharpness.MOST_SD
        ranking.likelihood.tastes.LONGEST_STEP
        ranking.likelihood.sharpness.VARIANCE_OF_UNKNOWN
        ranking.likelihood.pair_integrals.MOST_STEPS
        ranking.likelihood.propagation.MOST_SWEEPS ranking.likelihood.pair_integrals.LAST_STEP
        ranking.lots.GAIN_TOO_LARGE ranking.lots.HALVINGS ranking.lots.LONGEST_STEP
        ranking.lots.MOST_CURVATURES
        ranking.lots.MOST_STEPS ranking.lots.GAIN_TO_TAKE_CURVATURE ranking.lots.DIFFERENCE_STEP
        ranking.likelihood.lot_likelihood.START ranking.lots.STEPS_EACH
        inference.ratios.LARGEST inference.ratios.SMALLEST ranking.intervals.TINIEST_ERROR
        ranking.rank_centrality.RESTARTS
    """,
    "a definition": """
        ranking.likelihood.pair_integrals.LOAD ranking.likelihood.pair_integrals.ODDS
        ranking.likelihood.pair_integrals.TIE ranking.likelihood.pair_integrals.TIED
        counts.pair_distances.PLASTIC
        inference.permuted_means.SEED inference.permuted_means.SLOPE inference.permuted_means.Z
        metrics.entropy.DOUBLED_ROOT metrics.entropy.STANDARD counts.wide.BROKEN
        inference.extreme_tables.ABOVE inference.extreme_tables.BELOW
        inference.extreme_tables.EQUAL
        counts.running_moments.MISS counts.running_moments.TIE counts.running_moments.HIT
        comparative.state_rows.LOW_FIRST comparative.state_rows.HIGH_FIRST
        comparative.state_rows.LOW_TIED comparative.state_rows.HIGH_TIED
    """,
}


def numbers(path: Path) -> Iterator[tuple[str, float]]:
    """Yield the names and values of numbers at the top level of a module."""
    place = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    names = [
        name.id
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(name, ast.Name) and name.id.isupper()
    ]
    if names:
        module = import_module(f"comparity.{place}")
        values = {name: getattr(module, name) for name in names}
        yield from (
            (f"{place}.{name}", value)
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        )


@pytest.fixture(scope="module")
def constants() -> dict[str, float]:
    return {
        name: value
        for folder in FOLDERS
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if not path.relative_to(PACKAGE).as_posix().startswith(LEFT_OUT)
        for name, value in numbers(path)
    }


@pytest.fixture(scope="module")
def table() -> dict[str, float]:
    text = (ROOT / "docs" / "designs.md").read_text(encoding="utf-8")
    return {row["name"]: float(row["value"].replace(",", "")) for row in ROW.finditer(text)}


def test_every_constant_is_in_the_table_or_decides_nothing(
    constants: dict[str, float], table: dict[str, float]
) -> None:
    excused = {name for names in NOT_DECIDING.values() for name in names.split()}
    assert sorted(set(constants) - set(table) - excused) == []
    assert sorted(excused - set(constants)) == []
    assert sorted(excused & set(table)) == []


def test_the_table_has_the_values_of_the_code(
    constants: dict[str, float], table: dict[str, float]
) -> None:
    assert table == {name: constants.get(name) for name in table}
    assert len(table) > 40


def test_what_counts_as_rounding_is_said_once(constants: dict[str, float]) -> None:
    assert [name for name in constants if name.endswith(".ROUNDING")] == ["counts.pairs.ROUNDING"]
