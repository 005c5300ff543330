"""Whether metrics that a policy names lie in their published ranges."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from comparity.errors import OptionError
from comparity.metrics.audit import metrics_file, metrics_frame
from comparity.metrics.options import MetricsForm
from comparity.metrics.result import MetricValue, Scorecard
from comparity.reports.ranges import JudgedRange, RangeAudit
from comparity.results.options import REQUIRED, choice


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsGateForm(MetricsForm):
    """What a policy says of metrics."""

    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=0.5)
    metrics: tuple[str, ...] = choice(
        REQUIRED, "Metrics that must lie in their published range, such as C0."
    )

    def _check_together(self) -> None:
        """Refuse a list without metrics, and one metric twice."""
        MetricsForm._check_together(self)
        if not self.metrics or len(set(self.metrics)) < len(self.metrics):
            raise OptionError("metrics", list(self.metrics), ["different metrics, such as 'C0'"])


def judge_frame(frame: Any, **choices: Any) -> RangeAudit:
    """Judge the metrics of a frame of any engine; `choices` are those of the form."""
    form = MetricsGateForm(**choices)
    return _judge(form, lambda level: metrics_frame(frame, **_choices(form, level)))


def judge_file(path: str | Path, **choices: Any) -> RangeAudit:
    """Judge the metrics of a file; `choices` as in :func:`judge_frame`."""
    form = MetricsGateForm(**choices)
    return _judge(form, lambda level: metrics_file(path, **_choices(form, level)))


def _choices(form: MetricsGateForm, level: float) -> dict[str, Any]:
    own = {one.name: getattr(form, one.name) for one in fields(MetricsForm)}
    return {**own, "level": level}


def _judge(form: MetricsGateForm, card: Any) -> RangeAudit:
    found: Scorecard = card(form.level)
    inside: Scorecard = card(1 - 2 * form.alpha)
    outside: Scorecard = card(1 - form.alpha / len(form.metrics))
    return RangeAudit(
        notion="metrics",
        tests=tuple(_test(found[one], inside[one], outside[one]) for one in form.metrics),
        alpha=form.alpha,
        answer=replace(found, provenance={}),
        provenance=found.provenance,
    )


def _test(one: MetricValue, near: MetricValue, far: MetricValue) -> JudgedRange:
    low, high = one.fair_range
    return JudgedRange(
        name=f"{one.id} ({one.name})",
        value=one.value,
        low=low,
        high=high,
        inside=near.interval,
        outside=far.interval,
        reason="" if one.promised else "a count below 10: what its interval covers is not promised",
    )
