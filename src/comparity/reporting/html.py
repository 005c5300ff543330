"""Results as one self-contained HTML page: no script, no network, light and dark.

The templates only lay out: cells, sentences and the places of marks come from the modules that
terminal and page share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from comparity.auditing.verdicts import UNDECIDED, VIOLATED, WITHIN
from comparity.matrices import PairwiseAccuracy
from comparity.plans import ComparativePlan, Plan
from comparity.reporting.charts import gap_chart, power_chart
from comparity.reporting.formats import visible
from comparity.reporting.grids import audit_grids, pairwise_grids, plan_grids
from comparity.reporting.sentences import (
    audit_lists,
    basis,
    explanation,
    headline,
    plan_basis,
    plan_headline,
)
from comparity.results import Audit

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["fragment", "page"]

Result = Audit | Plan | PairwiseAccuracy

# Classes of the style sheet.
KINDS = {VIOLATED: "found", WITHIN: "inside", UNDECIDED: "open"}


def page(result: Result | Mapping[str, Result], *, title: str = "") -> str:
    """Return a whole HTML page for one result, or for several by name.

    Parameters
    ----------
    result : Audit, Plan, PairwiseAccuracy or mapping of str to them
        What to show; several are shown in their order, each under its name.
    title : str, optional
        Title of the page, where it shows more than one result.
    """
    named = {"": result} if isinstance(result, Result) else result
    sections = [{**_section(one), "name": visible(name)} for name, one in named.items()]
    first = sections[0]["headline"] if sections else "Nothing to show"
    template = _environment().get_template("page.html.jinja")
    return template.render(heading=visible(title), title=visible(title) or first, sections=sections)


def fragment(result: Result) -> str:
    """Return a result as HTML to be put into another page, such as a notebook."""
    section = {**_section(result), "name": ""}
    return _environment().get_template("fragment.html.jinja").render(section=section)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("comparity.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["kinds"] = KINDS
    return environment


def _section(result: Result) -> dict[str, Any]:
    if isinstance(result, PairwiseAccuracy):
        own = {**_audit_section(result.audit), "grids": list(pairwise_grids(result))}
    else:
        own = _audit_section(result) if isinstance(result, Audit) else _plan_section(result)
    provenance = json.dumps(result.to_dict()["provenance"], indent=2, ensure_ascii=False)
    return {**own, "provenance": visible(provenance, keep="\n")}


def _audit_section(audit: Audit) -> dict[str, Any]:
    return {
        "headline": headline(audit),
        "kind": KINDS[audit.finding],
        "sentences": [explanation(audit), basis(audit)],
        "chart": gap_chart(audit) if audit.tests else None,
        "grids": list(audit_grids(audit)),
        "lists": audit_lists(audit),
    }


def _plan_section(plan: Plan) -> dict[str, Any]:
    unit = "judged pairs" if isinstance(plan, ComparativePlan) else "decisions"
    return {
        "headline": plan_headline(plan),
        "kind": "plan",
        "sentences": [plan_basis(plan)],
        "chart": power_chart(plan, unit),
        "grids": list(plan_grids(plan)),
        "lists": {"Notes": [visible(note) for note in plan.notes]},
    }
