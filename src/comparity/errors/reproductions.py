"""Errors about reproductions of published tables and figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from comparity.errors.base import ComparityError, message

__all__ = [
    "DataFileMissingError",
    "DataFolderMissingError",
    "PublishedFileError",
    "ReproductionsMissingError",
    "UnknownPaperError",
    "UnknownPartError",
]


class ReproductionsMissingError(ComparityError, LookupError):
    """The scripts that reproduce the papers are not on this machine."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            message(
                "the folder of reproductions was not found.",
                f"no paper in {folder}",
                "they are part of the source, not of the package: clone the repository and name "
                "its folder with --directory reproductions.",
            )
        )


class UnknownPaperError(ComparityError, LookupError):
    """A paper was asked for that nobody reproduced."""

    def __init__(self, paper: str, known: Collection[str]) -> None:
        super().__init__(
            message(
                f"paper {paper!r} is not reproduced here.",
                f"papers {', '.join(known)}",
                "comparity reproduce lists papers and their parts.",
            )
        )


class UnknownPartError(ComparityError, LookupError):
    """A paper has no such table or figure, or it cannot be run."""

    def __init__(
        self, paper: str, part: str, known: Collection[str], absent: Mapping[str, str]
    ) -> None:
        near = get_close_matches(part, known, n=1, cutoff=0.8)
        hint = f"did you mean {near[0]}?" if near else "comparity reproduce lists all of them."
        found = f"parts {', '.join(known)}"
        if part in absent:
            found, hint = absent[part], f"what can be run: {', '.join(known)}."
        super().__init__(message(f"{part} of paper {paper} cannot be run.", found, hint))


class PublishedFileError(ComparityError, ValueError):
    """A file of published numbers cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            message(
                f"{path} does not hold the numbers of a paper.",
                reason,
                "it needs paper, title, authors, and a table with question and time for each part.",
            )
        )


class DataFolderMissingError(ComparityError, FileNotFoundError):
    """Real data are needed, and there is no folder of them."""

    def __init__(self, folder: str | None) -> None:
        super().__init__(
            message(
                "this part needs real data.",
                "no data folder" if folder is None else f"no folder {folder}",
                "name it with --data or COMPARITY_DATA; comparity data lists what goes into it.",
            )
        )


class DataFileMissingError(ComparityError, FileNotFoundError):
    """The folder of real data lacks a file."""

    def __init__(self, part: str, path: str) -> None:
        super().__init__(
            message(
                f"{part} needs a file that the data folder lacks.",
                f"no file {path}",
                "comparity data lists what goes into the folder, and fetches what may be fetched.",
            )
        )
