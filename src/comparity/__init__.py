"""Test fairness from judgments: labels, comparisons between pairs, or two decision makers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comparity.auditing.bridges import biased_bridge, unbiased_bridge
    from comparity.auditing.comparative import comparative_separation
    from comparity.auditing.metrics import fairness_metrics, select_metrics
    from comparity.auditing.pairwise import pairwise_accuracy
    from comparity.auditing.parity import pairwise_parity
    from comparity.auditing.planning import plan_comparative, plan_separation
    from comparity.auditing.planning_ranking import plan_ranking
    from comparity.auditing.policies import check
    from comparity.auditing.raters import compare_raters
    from comparity.auditing.relative import differential_parity
    from comparity.auditing.separation import separation
    from comparity.auditing.weighing import fair_balance, fair_reweighing, reweighing
    from comparity.errors import ComparityError
    from comparity.metrics.exposure import exposure
    from comparity.mitigation.boosted import BoostedTrees
    from comparity.mitigation.meta_fair import MetaFairClassifier
    from comparity.mitigation.networks import NeuralNetwork
    from comparity.mitigation.rankers import FairRanker
    from comparity.mitigation.regressors import FairRegressor
    from comparity.ranking.barp import barp
    from comparity.ranking.bradley_terry import bradley_terry
    from comparity.ranking.crowd_bt import crowd_bt
    from comparity.ranking.factor_bt import factor_bt
    from comparity.ranking.fair_topk import fair_topk
    from comparity.ranking.rank_centrality import rank_centrality

__version__ = "0.1.0"

__all__ = [
    "BoostedTrees",
    "ComparityError",
    "FairRanker",
    "FairRegressor",
    "MetaFairClassifier",
    "NeuralNetwork",
    "__version__",
    "barp",
    "biased_bridge",
    "bradley_terry",
    "check",
    "comparative_separation",
    "compare_raters",
    "crowd_bt",
    "differential_parity",
    "exposure",
    "factor_bt",
    "fair_balance",
    "fair_reweighing",
    "fair_topk",
    "fairness_metrics",
    "pairwise_accuracy",
    "pairwise_parity",
    "plan_comparative",
    "plan_ranking",
    "plan_separation",
    "rank_centrality",
    "reweighing",
    "select_metrics",
    "separation",
    "unbiased_bridge",
]

# Public names are imported when they are first used: `import comparity` loads no engine.
_HOMES = {
    "BoostedTrees": "comparity.mitigation.boosted",
    "ComparityError": "comparity.errors",
    "FairRanker": "comparity.mitigation.rankers",
    "FairRegressor": "comparity.mitigation.regressors",
    "MetaFairClassifier": "comparity.mitigation.meta_fair",
    "NeuralNetwork": "comparity.mitigation.networks",
    "barp": "comparity.ranking.barp",
    "biased_bridge": "comparity.auditing.bridges",
    "bradley_terry": "comparity.ranking.bradley_terry",
    "check": "comparity.auditing.policies",
    "comparative_separation": "comparity.auditing.comparative",
    "compare_raters": "comparity.auditing.raters",
    "crowd_bt": "comparity.ranking.crowd_bt",
    "differential_parity": "comparity.auditing.relative",
    "exposure": "comparity.metrics.exposure",
    "factor_bt": "comparity.ranking.factor_bt",
    "fair_balance": "comparity.auditing.weighing",
    "fair_reweighing": "comparity.auditing.weighing",
    "fair_topk": "comparity.ranking.fair_topk",
    "fairness_metrics": "comparity.auditing.metrics",
    "pairwise_accuracy": "comparity.auditing.pairwise",
    "pairwise_parity": "comparity.auditing.parity",
    "plan_comparative": "comparity.auditing.planning",
    "plan_ranking": "comparity.auditing.planning_ranking",
    "plan_separation": "comparity.auditing.planning",
    "rank_centrality": "comparity.ranking.rank_centrality",
    "reweighing": "comparity.auditing.weighing",
    "select_metrics": "comparity.auditing.metrics",
    "separation": "comparity.auditing.separation",
    "unbiased_bridge": "comparity.auditing.bridges",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'comparity' has no attribute {name!r}")
    # Old packages break imports with errors of their own. Ours must be there to be caught.
    if name != "ComparityError":
        import_module("comparity.requirements").check_requirements()
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
