"""Test fairness from judgments: labels, comparisons between pairs, or two decision makers."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from comparity.comparative.audit import comparative_separation as comparative_separation
    from comparity.data import read as read
    from comparity.errors import ComparityError as ComparityError
    from comparity.gate.check import check as check
    from comparity.impact.audit import impact_ratios as impact_ratios
    from comparity.judges.audit import audit_judges as audit_judges
    from comparity.metrics.audit import fairness_metrics as fairness_metrics
    from comparity.metrics.audit import select_metrics as select_metrics
    from comparity.metrics.classes import class_metrics as class_metrics
    from comparity.metrics.regression import regression_metrics as regression_metrics
    from comparity.pairs.choose import choose_pairs as choose_pairs
    from comparity.pairwise.audit import pairwise_accuracy as pairwise_accuracy
    from comparity.pairwise.parity import pairwise_parity as pairwise_parity
    from comparity.planning.plan import plan_comparative as plan_comparative
    from comparity.planning.plan import plan_separation as plan_separation
    from comparity.planning.plan_ranking import plan_ranking as plan_ranking
    from comparity.ranking.barp import barp as barp
    from comparity.ranking.crowd_models import crowd_bt as crowd_bt
    from comparity.ranking.crowd_models import factor_bt as factor_bt
    from comparity.ranking.exposure import exposure as exposure
    from comparity.ranking.fair_topk import fair_topk as fair_topk
    from comparity.ranking.rank_centrality import rank_centrality as rank_centrality
    from comparity.ranking.reliability import ranking_reliability as ranking_reliability
    from comparity.ranking.simple_models import bradley_terry as bradley_terry
    from comparity.ranking.simple_models import elo as elo
    from comparity.ranking.simple_models import win_rate as win_rate
    from comparity.relative.audit import differential_parity as differential_parity
    from comparity.relative.bridges import biased_bridge as biased_bridge
    from comparity.relative.bridges import unbiased_bridge as unbiased_bridge
    from comparity.relative.raters import compare_raters as compare_raters
    from comparity.reports.trackers import log_mlflow as log_mlflow
    from comparity.reports.trackers import log_wandb as log_wandb
    from comparity.separation.audit import separation as separation
    from comparity.tasks.compare import compare_tasks as compare_tasks
    from comparity.tasks.plan_tasks import plan_tasks as plan_tasks
    from comparity.training.comparisons import ComparisonRanker as ComparisonRanker
    from comparity.training.kinds import BoostedTrees as BoostedTrees
    from comparity.training.kinds import NeuralNetwork as NeuralNetwork
    from comparity.training.meta_fair import MetaFairClassifier as MetaFairClassifier
    from comparity.training.rankers import FairRanker as FairRanker
    from comparity.training.rankers import FairRegressor as FairRegressor
    from comparity.training.weigh import fair_balance as fair_balance
    from comparity.training.weigh import fair_reweighing as fair_reweighing
    from comparity.training.weigh import reweighing as reweighing

__version__ = "0.1.0"

# Public names are imported when they are first used: `import comparity` loads no engine.
_HOMES = {
    "BoostedTrees": "comparity.training.kinds",
    "ComparityError": "comparity.errors",
    "ComparisonRanker": "comparity.training.comparisons",
    "FairRanker": "comparity.training.rankers",
    "FairRegressor": "comparity.training.rankers",
    "MetaFairClassifier": "comparity.training.meta_fair",
    "NeuralNetwork": "comparity.training.kinds",
    "audit_judges": "comparity.judges.audit",
    "barp": "comparity.ranking.barp",
    "biased_bridge": "comparity.relative.bridges",
    "bradley_terry": "comparity.ranking.simple_models",
    "check": "comparity.gate.check",
    "choose_pairs": "comparity.pairs.choose",
    "class_metrics": "comparity.metrics.classes",
    "comparative_separation": "comparity.comparative.audit",
    "compare_raters": "comparity.relative.raters",
    "compare_tasks": "comparity.tasks.compare",
    "crowd_bt": "comparity.ranking.crowd_models",
    "differential_parity": "comparity.relative.audit",
    "elo": "comparity.ranking.simple_models",
    "exposure": "comparity.ranking.exposure",
    "factor_bt": "comparity.ranking.crowd_models",
    "fair_balance": "comparity.training.weigh",
    "fair_reweighing": "comparity.training.weigh",
    "fair_topk": "comparity.ranking.fair_topk",
    "fairness_metrics": "comparity.metrics.audit",
    "impact_ratios": "comparity.impact.audit",
    "log_mlflow": "comparity.reports.trackers",
    "log_wandb": "comparity.reports.trackers",
    "pairwise_accuracy": "comparity.pairwise.audit",
    "pairwise_parity": "comparity.pairwise.parity",
    "plan_comparative": "comparity.planning.plan",
    "plan_ranking": "comparity.planning.plan_ranking",
    "plan_separation": "comparity.planning.plan",
    "plan_tasks": "comparity.tasks.plan_tasks",
    "rank_centrality": "comparity.ranking.rank_centrality",
    "ranking_reliability": "comparity.ranking.reliability",
    "read": "comparity.data",
    "regression_metrics": "comparity.metrics.regression",
    "reweighing": "comparity.training.weigh",
    "select_metrics": "comparity.metrics.audit",
    "separation": "comparity.separation.audit",
    "unbiased_bridge": "comparity.relative.bridges",
    "win_rate": "comparity.ranking.simple_models",
}
__all__ = sorted([*_HOMES, "__version__"])


class _PublicPackage(ModuleType):
    """A package whose public names win over folders of the same name, such as ``separation``."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a folder for the first time puts it here under its name.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _PublicPackage


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'comparity' has no attribute {name!r}")
    # Old packages break imports with errors of their own. Ours must be there to be caught.
    if name != "ComparityError":
        import_module("comparity.errors.requirements").check_requirements()
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
