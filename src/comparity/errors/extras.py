"""Errors about packages that are missing or too old."""

from __future__ import annotations

from collections.abc import Mapping

from comparity.errors.base import ComparityError, message

__all__ = ["MissingExtraError", "UnmetRequirementError"]


class MissingExtraError(ComparityError, ImportError):
    """Something was asked for that needs a package of an extra."""

    def __init__(self, asked: str, package: str, extra: str) -> None:
        super().__init__(
            message(
                f"{asked} cannot be had without {package}.",
                f"{package} is not installed",
                f"pip install 'comparity[{extra}]'",
            )
        )


class UnmetRequirementError(ComparityError, ImportError):
    """Packages that comparity needs are missing or too old."""

    def __init__(self, found: Mapping[str, str], extra: str = "") -> None:
        by = f"comparity[{extra}]" if extra else "comparity"
        wanted = [f"'{one}'" for one in found]
        here = [
            f"{version} for {one}" if version else f"none for {one}"
            for one, version in found.items()
        ]
        super().__init__(
            message(
                f"{by} needs other versions of what is installed: {', '.join(found)}.",
                ", ".join(here),
                f"pip install {' '.join(wanted)}; comparity doctor lists all versions.",
            )
        )
        self.found = dict(found)
