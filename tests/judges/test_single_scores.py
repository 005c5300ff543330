"""Scores of single answers equal statsmodels and Wilson, and never look like comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from comparity.judges.audit import audit_judges
from comparity.judges.readers import UNPARSED, Score
from comparity.judges.reading import read_logs
from comparity.judges.result import JudgesAudit
from comparity.judges.single_scores import summarise_scores
from tests.judges.samples import INSPECT, MT_BENCH_SCORES, SAMPLES

GRADES = (3.0, 4.0, 4.5, 8.0, 1.0, 6.0, 6.5)
PROMPTS = ("q1", "q1", "q2", "q3", "q3", "q3", "q4")


def test_the_mean_and_its_interval_are_those_of_statsmodels() -> None:
    scores = [Score("j", *one) for one in zip(PROMPTS, "m" * 7, GRADES, strict=True)]
    (found,) = summarise_scores(scores, 0.9)
    groups = np.unique(PROMPTS, return_inverse=True)[1]
    fit = OLS(GRADES, np.ones(7)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "df_correction": True}, use_t=True
    )
    assert found.mean == pytest.approx(fit.params[0])
    assert found.interval[:2] == pytest.approx(tuple(fit.conf_int(0.1)[0]))
    assert (found.scores, found.prompts, found.lowest, found.highest) == (7, 4, 1.0, 8.0)


# With 399 degrees of freedom Student's quantile is nearly the normal one.
ALL_OF_400 = proportion_confint(400, 400, method="wilson")


def test_passed_and_failed_make_a_rate_that_is_known_where_all_passed() -> None:
    passed = [Score("j", f"q{k}", "m", 1.0) for k in range(400)]
    (found,) = summarise_scores([one._replace(is_grade=True) for one in passed])
    assert found.interval[:2] == pytest.approx(ALL_OF_400, abs=2e-4)
    # Somebody else failed once, so this judge says passed and failed.
    found, _ = summarise_scores([*passed, Score("j", "q0", "n", 0.0)])
    assert found.interval[:2] == pytest.approx(ALL_OF_400, abs=2e-4)


def test_ones_on_a_longer_scale_are_not_taken_for_passes() -> None:
    lowest = [Score("j", f"q{k}", "m", 1.0) for k in range(400)]
    (found,) = summarise_scores(lowest)
    assert np.isnan(found.interval[:2]).all()
    found, _ = summarise_scores([*lowest, Score("j", "q0", "n", 7.0)])
    assert np.isnan(found.interval[:2]).all()


def test_formats_that_grade_right_and_wrong_say_so() -> None:
    right = [{**INSPECT[0], "samples": [{**INSPECT[0]["samples"][0], "id": k} for k in range(400)]}]
    (found,) = summarise_scores(read_logs(right)[0].scores)
    assert found.interval[:2] == pytest.approx(ALL_OF_400, abs=2e-4)
    rated = [{**MT_BENCH_SCORES[0], "question_id": k, "score": 1} for k in range(400)]
    (found,) = summarise_scores(read_logs(rated)[0].scores)
    assert np.isnan(found.interval[:2]).all()
    for form in ("promptfoo", "promptfoo table", "deepeval"):
        assert all(one.is_grade for one in read_logs(SAMPLES[form])[0].scores)


def test_missing_scores_are_counted_and_equal_ones_have_no_interval() -> None:
    grades = [Score("j", f"q{k}", "m", 5.0) for k in range(3)]
    lost = [Score("j", "q4", "m", float("nan"), UNPARSED), Score("j", "q5", "n", float("nan"))]
    same, none = summarise_scores([*grades, *lost])
    assert (same.mean, same.missing) == (5.0, {UNPARSED: 1})
    assert np.isnan(same.interval[:2]).all()
    assert (none.answerer, none.scores, none.missing) == ("n", 0, {UNPARSED: 1})
    assert np.isnan([none.mean, none.lowest, none.highest]).all()


def test_scores_of_one_answerer_are_told_as_such_and_nothing_else_is() -> None:
    rows = [{**MT_BENCH_SCORES[0], "question_id": k, "score": k} for k in (2, 4, 9)]
    audit = audit_judges(rows)
    told = str(audit)
    assert told.startswith("Audit of 1 judge: 3 scores of single answers, no comparison")
    assert "two or more answerers" in told.replace("\n  ", " ")
    assert (audit.judges, audit.leaderboard, audit.leans) == ((), (), ())
    assert audit.provenance["data"] == {"scores": 3, "prompts": 3}
    assert [(row["scores"], row["mean"]) for row in audit.rows()] == [(3, 5.0)]
    assert str(JudgesAudit.from_dict(audit.to_dict())) == told
    assert len(audit.plot().get_lines()) > 0


def test_scores_of_two_answerers_are_compared_and_told_too() -> None:
    audit = audit_judges(MT_BENCH_SCORES)
    assert [one.judgments for one in audit.judges] == [2]
    assert [(one.answerer, one.scores, one.mean) for one in audit.scores] == [
        ("m", 1, 7.0),
        ("n", 2, 7.0),
    ]
    assert "Scores of single answers" in str(audit)
