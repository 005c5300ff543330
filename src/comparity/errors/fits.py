"""Errors and warnings about rankings, weights, training, its baselines, and model files."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from comparity.errors.spelling import (
    ComparityError,
    ComparityWarning,
    Offenders,
    Option,
    list_names,
)


class NoPriorError(ComparityError, ValueError):
    """The likelihood alone has no maximum, and no prior was given."""

    def __init__(self, what: str, found: str) -> None:
        super().__init__(
            f"without a prior {what} have no finite estimate.",
            found,
            "give a prior (its standard deviation, or 'marginal likelihood'), or collect "
            "comparisons that go the other way, or between parts that were never compared.",
        )


class AnchorError(ComparityError, LookupError):
    """The trusted evaluators cannot fix the level of the biases."""

    def __init__(self, trusted: Sequence[object], reason: str, known: Collection[object]) -> None:
        super().__init__(
            f"trusted evaluators {list_names(trusted)} cannot anchor the biases: {reason}.",
            f"evaluators {list_names(known)}",
            "name evaluators as the comparisons do, or choose {} or 'zero mean bias'.",
            Option("anchor", "equal group means"),
        )


class DependentGroupsError(ComparityError, ValueError):
    """Groups of several attributes say the same of every item."""

    def __init__(self, contrasts: Sequence[object]) -> None:
        super().__init__(
            "each attribute or intersection must tell apart items that the others do not.",
            f"linearly dependent contrasts among {', '.join(map(str, contrasts))}",
            "drop an attribute or an intersection that follows from the others.",
        )


class UnknownReferenceError(ComparityError, LookupError):
    """A reference group, or a group of an intersection, has no item."""

    def __init__(
        self, attribute: str, group: object, known: Collection[str], role: str = "reference group"
    ) -> None:
        super().__init__(
            f"{role} {group!r} of {attribute!r} has no item.",
            list_names(known),
            "names are compared exactly; check case and spaces.",
        )


class TiesOnlyError(ComparityError, ValueError):
    """Every comparison is a tie."""

    def __init__(self, n: int) -> None:
        super().__init__(
            "a ranking needs comparisons that put one item above another.",
            f"{n:,} comparisons, all of them ties",
            "check the column that marks ties.",
        )


class SeatError(ComparityError, ValueError):
    """A seat is neither first nor second."""

    def __init__(self, found: Collection[object]) -> None:
        super().__init__(
            "seats must say whether the better item was shown first.",
            list_names(found),
            "write true, 1 or 'first' where it was, false, -1 or 'second' where it was not, "
            "0 or 'unknown' where nobody knows.",
        )


class UnknownGroupError(ComparityError, LookupError):
    """A group was asked for that does not occur in the data."""

    def __init__(self, group: object, column: str, known: Collection[str]) -> None:
        super().__init__(
            f"group {group!r} does not occur in {column!r}.",
            list_names(sorted(known)),
            "names are compared exactly; check case and spaces.",
        )
        self.group = group
        self.known = frozenset(known)


class ConstantFeaturesError(ComparityError, ValueError):
    """No feature varies, so that all scores would be equal."""

    def __init__(self, features: int, rows: int) -> None:
        super().__init__(
            "a ranking needs a feature that varies.",
            f"{features:,} feature{'' if features == 1 else 's'}, the same or nearly so in all "
            f"{rows:,} rows trained on",
            "choose other features, or check the filter that made this table.",
        )


class EmptyCellError(ComparityError, ValueError):
    """A goal compares kinds of pairs of which there are none."""

    def __init__(self, goal: str, cells: Sequence[str], rows: str) -> None:
        super().__init__(
            f"goal {goal!r} compares kinds of pairs that do not occur in the {rows} rows.",
            f"no pairs of {list_names(cells)}",
            "leave out or join small groups, choose another goal, give more rows, or hold out "
            "others with another seed.",
        )
        self.cells = tuple(cells)


class MissingSensitiveError(ComparityError, TypeError):
    """A goal about groups was set, and no groups were given."""

    def __init__(self, goal: object, *, scored: bool = False) -> None:
        doing = "score" if scored else "fit"
        hint = f"pass {doing}(X, y, sensitive_features=...), or {{}} for no goal."
        if scored:
            hint += " Searches pass it on after sklearn.set_config(enable_metadata_routing=True)."
        super().__init__(
            f"goal={goal!r} needs to know the groups.",
            f"{doing} without sensitive_features",
            hint,
            Option("goal", None),
        )


class UnknownMovesError(ComparityError, TypeError):
    """Scores are moved by group, and no groups were given."""

    def __init__(self, adjust: str) -> None:
        super().__init__(
            f"adjust={adjust!r} moves the scores of each group.",
            "predict without sensitive_features",
            "pass predict(X, sensitive_features=...), or {} for scores that need no groups.",
            Option("adjust", None),
        )


class NonFiniteFeatureError(ComparityError, ValueError):
    """A feature is missing or infinite."""

    def __init__(self, columns: Sequence[str], offenders: Offenders) -> None:
        super().__init__(
            "X must hold finite numbers; NaN and inf are none.",
            f"{offenders}, in column {', '.join(columns)}",
            "fill in missing values first, for example with sklearn.impute.SimpleImputer.",
        )


class NoTreeError(ComparityError, ValueError):
    """Boosting found nothing to split, so that all scores would be equal."""

    def __init__(self, rows: int, features: int, min_rows: int) -> None:
        super().__init__(
            "boosted trees need rows and features that can be split.",
            f"no split of {rows:,} rows by {features:,} feature{'' if features == 1 else 's'} "
            f"into leaves of at least {min_rows:,} rows each",
            "give more rows, features that vary, or BoostedTrees(min_rows=...) with fewer.",
        )


class TooFewRowsError(ComparityError, ValueError):
    """There are not enough rows, or queries, to hold some out."""

    def __init__(self, rows: int, queries: int | None, fraction: float) -> None:
        unit = "rows" if queries is None else "queries"
        found = f"{rows:,} row{'' if rows == 1 else 's'}"
        if queries is not None:
            found += f" in {queries:,} {'query' if queries == 1 else 'queries'}"
        super().__init__(
            f"holding out {fraction:g} of the {unit} leaves none to train on, or none to "
            "choose by.",
            found,
            f"give more {unit}; in Python, validation_fraction=0 chooses on the training rows.",
        )


class InfeasibleGoalWarning(ComparityWarning):
    """No mixture of the models found keeps within the slack."""

    def __init__(self, slack: float, least: float, worst: str, n_rows: int) -> None:
        super().__init__(
            f"no mixture of the models found keeps every difference within slack={slack:g}.",
            f"the least largest difference on the {n_rows:,} rows chosen by is {least:.4g} "
            f"({worst}); the model with the least is kept",
            "few rows differ by chance alone: raise {} or validation_fraction=, or choose on "
            "all rows with validation_fraction=0; give more {} or several step_sizes=; drop a "
            "goal.",
            Option("slack"),
            Option("steps"),
        )
        self.slack = slack
        self.least = least


class MissingCombinationWarning(ComparityWarning):
    """A group lacks a label, so that weights cannot balance them."""

    def __init__(self, combinations: Sequence[str]) -> None:
        super().__init__(
            "weights balance labels and groups only where every group has every label.",
            f"no row of {list_names(combinations)}",
            "join small groups or rare labels; the other weights are as defined.",
        )


class TwoGroupsOnlyError(ComparityError, ValueError):
    """A method for two groups was given another number of them."""

    def __init__(self, method: str, groups: Sequence[str]) -> None:
        super().__init__(
            f"{method} is defined for two groups.",
            f"{len(groups):,} groups: {list_names(groups)}",
            "join groups, or train with comparity.FairRanker, which takes any number.",
        )
        self.groups = tuple(groups)


class ClassCountError(ComparityError, ValueError):
    """A classifier for two classes was given one class, or more than two."""

    def __init__(self, classes: Sequence[str], kind: str) -> None:
        many = len(classes)
        asked = f"Only binary classification is supported. The type of the target is {kind}."
        super().__init__(
            "a classifier needs rows of two classes." if many == 1 else asked,
            f"{many:,} class{'' if many == 1 else 'es'}: {list_names(classes)}",
            "give rows of two classes, or train one classifier for each class against the others.",
        )
        self.classes = tuple(classes)


class LabelAbsentError(ComparityError, ValueError):
    """A group lacks one of two labels, so that their proportion cannot be balanced."""

    def __init__(self, groups: Sequence[str], label: str) -> None:
        super().__init__(
            "balancing labels needs both of them in every group.",
            f"no row with label {label!r} in {list_names(groups)}",
            "join small groups, or give more rows.",
        )
        self.groups = tuple(groups)


class NoUtilityError(ComparityError, ValueError):
    """Exposure cannot be proportional to a utility that is zero or negative."""

    def __init__(self, offenders: Offenders | None, groups: Sequence[str]) -> None:
        found = f"{offenders} below zero" if offenders else f"utility 0 in {list_names(groups)}"
        super().__init__(
            "exposure is compared with utility, which must be positive on average.",
            found,
            "give relevances or probabilities, such as 1 / (1 + exp(-score)), or choose "
            "criterion='demographic parity', which needs none.",
        )
        self.groups = tuple(groups)


class ExposureInfeasibleError(ComparityError, ValueError):
    """No ranking policy keeps the criterion within the slack."""

    def __init__(self, criterion: str, slack: float, least: float) -> None:
        super().__init__(
            f"no mixture of rankings keeps {criterion} within slack={slack:g}.",
            f"the least difference any mixture has is {least:.4g}",
            "raise {}, or give {} for the least.",
            Option("slack"),
            Option("slack", None),
        )
        self.least = least


class ModelFileError(ComparityError, ValueError):
    """A model file does not hold what a model needs."""

    def __init__(self, path: object, found: str) -> None:
        super().__init__(
            f"{path} is no model file of comparity.",
            found,
            "give a file that `comparity train` wrote.",
        )


class ModelVersionError(ComparityError, ValueError):
    """A model file is in a version of the format that is not read here."""

    def __init__(self, path: object, found: object, known: int) -> None:
        named = repr(found) if isinstance(found, str | int) else f"a {type(found).__name__}"
        super().__init__(
            f"{path} must be a model file in version {known} of the format.",
            "no format_version" if found is None else f"format_version {named}",
            "train the model again with this version of comparity, or read the file with the "
            "one that wrote it.",
        )


class ModelScoreError(ComparityError, ValueError):
    """A model gives scores that are not finite numbers."""

    def __init__(self, offenders: Offenders) -> None:
        super().__init__(
            "the model gives scores that are too large to be numbers.",
            str(offenders),
            "check that features are in the units of training, and that the model file is as "
            "`comparity train` wrote it.",
        )


class UnreachedRatioWarning(ComparityWarning):
    """No candidate reaches the ratio asked for; the classifier without a goal is kept."""

    def __init__(self, metric: str, tau: float, tolerance: float, best: float) -> None:
        super().__init__(
            f"no candidate reaches a ratio of {metric} of {tau - tolerance:.4g} "
            f"(tau={tau:g} less tolerance={tolerance:g}).",
            f"the largest ratio on the training rows is {best:.4g}; the classifier without a "
            "goal is kept",
            "lower tau=, allow a larger tolerance, or draw more points with samples=.",
        )
        self.best = best
