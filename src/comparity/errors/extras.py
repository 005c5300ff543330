"""Errors about packages that are installed only where they are asked for."""

from __future__ import annotations

from comparity.errors.base import ComparityError, message

__all__ = ["MissingExtraError"]


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
