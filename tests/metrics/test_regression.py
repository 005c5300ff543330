"""Errors that are numbers: Fairlearn's means, SciPy's intervals and tests, a bootstrap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from scipy.stats import pearsonr, t, ttest_ind
from sklearn.metrics import mean_absolute_error
from statsmodels.stats.multitest import multipletests

from comparity import regression_metrics
from comparity.errors import ComparityError
from comparity.metrics.regression import regression_frame
from comparity.metrics.regression_result import RegressionMetrics


def people(n: int = 900, lean: float = 0.6, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex, wage = rng.choice(["d", "f", "m"], n), rng.gamma(4, size=n)
    predicted = 0.7 * wage + rng.exponential(size=n) - lean * (sex == "f")
    return pd.DataFrame({"sex": sex, "wage": wage, "model": predicted})


def measured(frame: pd.DataFrame, **choices: object) -> RegressionMetrics:
    return regression_metrics(
        frame["wage"], frame["model"], sensitive_features=frame["sex"], **choices
    )


def test_measures_of_groups_are_those_of_fairlearn_and_scipy() -> None:
    frame = people()
    found = {(one.measure, one.group): one for one in measured(frame).errors}
    by_sex = MetricFrame(
        metrics=mean_absolute_error,
        y_true=frame["wage"],
        y_pred=frame["model"],
        sensitive_features=frame["sex"],
    ).by_group
    for sex, rows in frame.groupby("sex"):
        errors = rows["model"] - rows["wage"]
        mean = found["mean error", sex]
        low, high = t.interval(0.95, len(rows) - 1, errors.mean(), errors.sem())
        assert (mean.value, *mean.interval[:2]) == pytest.approx((errors.mean(), low, high))
        assert found["mean absolute error", sex].value == pytest.approx(by_sex[sex])
        expected = pearsonr(errors, rows["model"]).statistic
        assert found["residual correlation", sex].value == pytest.approx(expected)


@pytest.mark.long
def test_gaps_are_judged_by_welch_and_corrected_as_one_family() -> None:
    frame = people()
    gaps = measured(frame).gaps
    assert len(gaps) == 9
    errors = {sex: rows["model"] - rows["wage"] for sex, rows in frame.groupby("sex")}
    for one in gaps[:3]:
        test = ttest_ind(errors[one.first], errors[one.second], equal_var=False)
        assert one.p_value == pytest.approx(test.pvalue)
        low, high = test.confidence_interval(1 - 0.05 / 9)
        assert one.interval[:2] == pytest.approx((low, high))
    _, adjusted, *_ = multipletests([one.p_value for one in gaps], method="holm")
    assert [one.p_adjusted for one in gaps] == pytest.approx(list(adjusted))
    assert {(one.first, one.second) for one in gaps[:3] if one.p_adjusted < 0.05} == {
        ("d", "f"),
        ("f", "m"),
    }


def test_the_interval_of_a_correlation_is_that_of_a_bootstrap() -> None:
    """Errors are skewed and depend on predictions: Fisher's own variance would be off."""
    rng = np.random.default_rng(1)
    frame = people(1500, seed=1).assign(sex=rng.choice(["f", "m"], 1500))
    (women,) = [
        one
        for one in measured(frame).errors
        if (one.measure, one.group) == ("residual correlation", "f")
    ]
    rows = frame[frame["sex"] == "f"]
    error, model = (rows["model"] - rows["wage"]).to_numpy(), rows["model"].to_numpy()
    draws = rng.integers(0, len(rows), (2000, len(rows)))
    drawn = np.quantile(
        [np.corrcoef(error[one], model[one])[0, 1] for one in draws], (0.025, 0.975)
    )
    assert women.interval[:2] == pytest.approx(tuple(drawn), abs=0.015)


def test_equal_groups_are_rarely_told_apart() -> None:
    alarms = sum(
        any(one.p_adjusted < 0.05 for one in measured(people(150, 0.0, seed)).gaps)
        for seed in range(200)
    )
    assert alarms / 200 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_frames_give_the_same_and_are_read_back() -> None:
    frame = people(90)
    found = regression_frame(frame, label="wage", prediction="model", sensitive=["sex"])
    assert found.gaps == measured(frame).gaps
    assert RegressionMetrics.from_dict(found.to_dict()) == found
    assert len(found.to_frame("pandas")) == 9
    assert "beyond chance" in str(found)


def test_scarce_rows_and_constants_have_no_number_and_do_not_disturb_others() -> None:
    found = regression_metrics(
        [1.0, 2, 3, 4, 5, 6, 7], [1.0, 2, 3, 4, 5, 7, 9], sensitive_features=list("aaaabbc")
    )
    values = {(one.measure, one.group): one.value for one in found.errors}
    assert values["mean error", "a"] == 0
    assert np.isnan(values["residual correlation", "a"])
    assert np.isnan(values["mean error", "c"])
    assert values["mean error", "b"] == pytest.approx(0.5)
    assert "n/a" in str(found)


def test_text_and_one_group_are_refused() -> None:
    with pytest.raises(ComparityError, match="y_pred"):
        regression_metrics([1, 2], ["a", "b"], sensitive_features=["f", "m"])
    with pytest.raises(ComparityError):
        regression_metrics([1, 2], [1, 2], sensitive_features=["f", "f"])
