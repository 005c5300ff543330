"""Errors and warnings about training and weights."""

from __future__ import annotations

from collections.abc import Sequence

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "ConstantFeaturesError",
    "EmptyCellError",
    "InfeasibleGoalWarning",
    "MissingCombinationWarning",
    "MissingSensitiveError",
    "NoTreeError",
    "NonFiniteFeatureError",
    "TooFewRowsError",
]


class ConstantFeaturesError(ComparityError, ValueError):
    """No feature varies, so that all scores would be equal."""

    def __init__(self, features: int, rows: int) -> None:
        super().__init__(
            message(
                "a ranking needs a feature that varies.",
                f"{features:,} feature{'' if features == 1 else 's'}, the same or nearly so in all "
                f"{rows:,} rows trained on",
                "choose other features, or check the filter that made this table.",
            )
        )


class EmptyCellError(ComparityError, ValueError):
    """A goal compares kinds of pairs of which there are none."""

    def __init__(self, goal: str, cells: Sequence[str], rows: str) -> None:
        super().__init__(
            message(
                f"goal {goal!r} compares kinds of pairs that do not occur in the {rows} rows.",
                f"no pairs of {listed(cells)}",
                "leave out or join small groups, choose another goal, give more rows, or hold out "
                "others with another seed.",
            )
        )
        self.cells = tuple(cells)


class MissingSensitiveError(ComparityError, TypeError):
    """A goal about groups was set, and no groups were given."""

    def __init__(self, goal: object) -> None:
        super().__init__(
            message(
                f"goal={goal!r} needs to know the groups.",
                "fit without sensitive_features",
                "pass fit(X, y, sensitive_features=...), or goal=None for no goal.",
            )
        )


class NonFiniteFeatureError(ComparityError, ValueError):
    """A feature is missing or infinite."""

    def __init__(self, columns: Sequence[str], offenders: Offenders) -> None:
        super().__init__(
            message(
                "X must hold finite numbers; NaN and inf are none.",
                f"{offenders}, in column {', '.join(columns)}",
                "fill in missing values first, for example with sklearn.impute.SimpleImputer.",
            )
        )


class NoTreeError(ComparityError, ValueError):
    """Boosting found nothing to split, so that all scores would be equal."""

    def __init__(self, rows: int, features: int, min_rows: int) -> None:
        super().__init__(
            message(
                "boosted trees need rows and features that can be split.",
                f"no split of {rows:,} rows by {features:,} feature{'' if features == 1 else 's'} "
                f"into leaves of at least {min_rows:,} rows each",
                "give more rows, features that vary, or BoostedTrees(min_rows=...) with fewer.",
            )
        )


class TooFewRowsError(ComparityError, ValueError):
    """There are not enough rows, or queries, to hold some out."""

    def __init__(self, rows: int, queries: int | None, fraction: float) -> None:
        unit = "rows" if queries is None else "queries"
        found = f"{rows:,} row{'' if rows == 1 else 's'}"
        if queries is not None:
            found += f" in {queries:,} {'query' if queries == 1 else 'queries'}"
        super().__init__(
            message(
                f"holding out {fraction:g} of the {unit} leaves none to train on, or none to "
                "choose by.",
                found,
                f"give more {unit}; in Python, validation_fraction=0 chooses on the training rows.",
            )
        )


class InfeasibleGoalWarning(UserWarning):
    """No mixture of the models found keeps within the slack."""

    def __init__(self, slack: float, least: float, worst: str, n_rows: int) -> None:
        super().__init__(
            message(
                f"no mixture of the models found keeps every difference within slack={slack:g}.",
                f"the least largest difference on the {n_rows:,} rows chosen by is {least:.4g} "
                f"({worst}); the model with the least is kept",
                "few rows differ by chance alone: raise slack= or validation_fraction=, or choose "
                "on all rows with validation_fraction=0; give more steps= or several step_sizes=; "
                "drop a goal.",
            )
        )
        self.slack = slack
        self.least = least


class MissingCombinationWarning(UserWarning):
    """A group lacks a label, so that weights cannot balance them."""

    def __init__(self, combinations: Sequence[str]) -> None:
        super().__init__(
            message(
                "weights balance labels and groups only where every group has every label.",
                f"no row of {listed(combinations)}",
                "join small groups or rare labels; the other weights are as defined.",
            )
        )
