"""Errors about studies that collect judgments."""

from __future__ import annotations

from collections.abc import Sequence

from comparity.errors.spelling import ComparityError


class StudyError(ComparityError, ValueError):
    """The description of a study is not one."""

    def __init__(self, where: str, asked: str, found: str, hint: str) -> None:
        super().__init__(f"{where}: {asked}", found, hint)


class StudyExistsError(ComparityError, FileExistsError):
    """A study is to be made where there is one."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} holds a study already.",
            "a study with its judgments",
            "choose another file or database; a study is never overwritten.",
        )


class NoStudyError(ComparityError, LookupError):
    """A study is asked for where there is none."""

    def __init__(self, address: str, found: str) -> None:
        super().__init__(
            f"{address} holds no study.", found, "make one first: comparity collect init."
        )


class StudyVersionError(ComparityError, ValueError):
    """A study was written by a later version, whose tables this one does not know."""

    def __init__(self, address: str, found: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the tables of {address} are of another version.",
            f"version {found}, where {', '.join(known)} are known",
            "use the version of comparity that wrote it, or a later one.",
        )


class JudgeAccessError(ComparityError, PermissionError):
    """The database does not let us set up the role that judges' requests use."""

    def __init__(self, role: str, why: str) -> None:
        super().__init__(
            f"judges' requests need the database role {role!r}.",
            why,
            "run comparity collect init as a user that may create roles, once.",
        )


class UnknownAssignmentError(ComparityError, LookupError):
    """A judge answered what was never shown to that judge."""

    def __init__(self) -> None:
        super().__init__(
            "this pair was not shown to this judge.",
            "an assignment of nobody or of someone else",
            "go on with the pair that is shown next.",
        )


class LapsedAssignmentError(ComparityError, LookupError):
    """A judge answered after so long that the pair was given to someone else."""

    def __init__(self) -> None:
        super().__init__(
            "this pair has been given to another judge.",
            "an answer after the lease had lapsed",
            "go on with the pair that is shown next.",
        )


class ClosedStudyError(ComparityError, ValueError):
    """A study that is closed takes no judgments."""

    def __init__(self, closed_at: float) -> None:
        super().__init__(
            "this study is closed.",
            f"closed at {closed_at:.0f} seconds of Unix time",
            "open it again with comparity collect close --reopen.",
        )


class PausedStudyError(ComparityError, ValueError):
    """While a study is paused no answer is taken back."""

    def __init__(self) -> None:
        super().__init__(
            "this study is paused.",
            "an answer that was to be taken back",
            "try again once the study goes on.",
        )


class AlreadyJoinedError(ComparityError, ValueError):
    """Somebody joins a second time with the same external ids."""

    def __init__(self) -> None:
        super().__init__(
            "someone with these ids has joined already.",
            "the same ids of the panel",
            "continue with the personal link from the first visit.",
        )


class NotOpenError(ComparityError, PermissionError):
    """A study without an open link lets nobody join."""

    def __init__(self) -> None:
        super().__init__(
            "this study has no open link.",
            "open_link = false",
            "ask whoever runs the study for a personal link.",
        )


class NoSuchJudgeError(ComparityError, LookupError):
    """A judge is named who is not in the study."""

    def __init__(self, name: str, n_known: int) -> None:
        super().__init__(
            f"no judge is called {name!r}.",
            f"{n_known} judges",
            "list them with comparity collect judges list.",
        )
