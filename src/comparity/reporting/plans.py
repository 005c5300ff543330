"""What is shown of a plan to test separation, on labels or on judged pairs."""

from __future__ import annotations

from comparity.plans import Plan
from comparity.reporting.charts import power_chart
from comparity.reporting.grids import plan_grids
from comparity.reporting.sections import Section
from comparity.reporting.sentences import plan_basis, plan_headline, plan_lists

__all__ = ["section"]


def section(plan: Plan) -> Section:
    """Return the headline, what power means, the curve, and each test alone."""
    return Section(
        headline=plan_headline(plan),
        sentences=(plan_basis(plan),),
        charts=(power_chart(plan),),
        grids=tuple(plan_grids(plan)),
        lists=plan_lists(plan),
    )
