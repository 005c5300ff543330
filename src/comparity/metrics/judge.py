"""Whether metrics that a policy names lie in their published ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from comparity.errors import OptionError
from comparity.metrics.audit import metrics_file, metrics_frame
from comparity.metrics.options import MetricsForm
from comparity.metrics.result import MetricValue, Scorecard
from comparity.reports.ranges import JudgedRange, RangeAudit, RangeGate
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


def _judge(form: MetricsGateForm, card: Callable[[float], Scorecard]) -> RangeAudit:
    found = card(form.level)
    inside = card(1 - 2 * form.alpha)
    outside = card(1 - form.alpha / len(form.metrics))
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


GATE = RangeGate(
    form=MetricsGateForm,
    question=MetricsForm,
    of_frame=metrics_frame,
    of_file=metrics_file,
    judge=_judge,
)
judge_frame, judge_file = GATE.judge_frame, GATE.judge_file
