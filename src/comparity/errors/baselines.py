"""Errors and warnings about baselines of training, and about model files."""

from __future__ import annotations

from collections.abc import Sequence

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "ClassCountError",
    "ExposureInfeasibleError",
    "LabelAbsentError",
    "ModelFileError",
    "ModelScoreError",
    "ModelVersionError",
    "NoUtilityError",
    "TwoGroupsOnlyError",
    "UnreachedRatioWarning",
]


class TwoGroupsOnlyError(ComparityError, ValueError):
    """A method for two groups was given another number of them."""

    def __init__(self, method: str, groups: Sequence[str]) -> None:
        super().__init__(
            message(
                f"{method} is defined for two groups.",
                f"{len(groups):,} groups: {listed(groups)}",
                "join groups, or train with comparity.FairRanker, which takes any number.",
            )
        )
        self.groups = tuple(groups)


class ClassCountError(ComparityError, ValueError):
    """A classifier for two classes was given one class, or more than two."""

    def __init__(self, classes: Sequence[str], kind: str) -> None:
        many = len(classes)
        asked = f"Only binary classification is supported. The type of the target is {kind}."
        super().__init__(
            message(
                "a classifier needs rows of two classes." if many == 1 else asked,
                f"{many:,} class{'' if many == 1 else 'es'}: {listed(classes)}",
                "give rows of two classes, or train one classifier for each class against the "
                "others.",
            )
        )
        self.classes = tuple(classes)


class LabelAbsentError(ComparityError, ValueError):
    """A group lacks one of two labels, so that their proportion cannot be balanced."""

    def __init__(self, groups: Sequence[str], label: str) -> None:
        super().__init__(
            message(
                "balancing labels needs both of them in every group.",
                f"no row with label {label!r} in {listed(groups)}",
                "join small groups, or give more rows.",
            )
        )
        self.groups = tuple(groups)


class NoUtilityError(ComparityError, ValueError):
    """Exposure cannot be proportional to a utility that is zero or negative."""

    def __init__(self, offenders: Offenders | None, groups: Sequence[str]) -> None:
        found = f"{offenders} below zero" if offenders else f"utility 0 in {listed(groups)}"
        super().__init__(
            message(
                "exposure is compared with utility, which must be positive on average.",
                found,
                "give relevances or probabilities, such as 1 / (1 + exp(-score)), or choose "
                "criterion='demographic parity', which needs none.",
            )
        )
        self.groups = tuple(groups)


class ExposureInfeasibleError(ComparityError, ValueError):
    """No ranking policy keeps the criterion within the slack."""

    def __init__(self, criterion: str, slack: float, least: float) -> None:
        super().__init__(
            message(
                f"no mixture of rankings keeps {criterion} within slack={slack:g}.",
                f"the least difference any mixture has is {least:.4g}",
                "raise slack=, or give slack=None for the least.",
            )
        )
        self.least = least


class ModelFileError(ComparityError, ValueError):
    """A model file does not hold what a model needs."""

    def __init__(self, path: object, found: str) -> None:
        super().__init__(
            message(
                f"{path} is no model file of comparity.",
                found,
                "give a file that `comparity train` wrote.",
            )
        )


class ModelVersionError(ComparityError, ValueError):
    """A model file is in a version of the format that is not read here."""

    def __init__(self, path: object, found: object, known: int) -> None:
        named = repr(found) if isinstance(found, str | int) else f"a {type(found).__name__}"
        super().__init__(
            message(
                f"{path} must be a model file in version {known} of the format.",
                "no format_version" if found is None else f"format_version {named}",
                "train the model again with this version of comparity, or read the file with the "
                "one that wrote it.",
            )
        )


class ModelScoreError(ComparityError, ValueError):
    """A model gives scores that are not finite numbers."""

    def __init__(self, offenders: Offenders) -> None:
        super().__init__(
            message(
                "the model gives scores that are too large to be numbers.",
                str(offenders),
                "check that features are in the units of training, and that the model file is as "
                "`comparity train` wrote it.",
            )
        )


class UnreachedRatioWarning(UserWarning):
    """No candidate reaches the ratio asked for; the classifier without a goal is kept."""

    def __init__(self, metric: str, tau: float, tolerance: float, best: float) -> None:
        super().__init__(
            message(
                f"no candidate reaches a ratio of {metric} of {tau - tolerance:.4g} "
                f"(tau={tau:g} less tolerance={tolerance:g}).",
                f"the largest ratio on the training rows is {best:.4g}; the classifier without a "
                "goal is kept",
                "lower tau=, raise tolerance=, or draw more points with samples=.",
            )
        )
        self.best = best
