"""Errors about the logs of judges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from comparity.errors.spelling import ComparityError, Option, list_names, visible


class NoLogError(ComparityError, TypeError):
    """What was given as logs of judges is neither files nor records."""

    def __init__(self, found: str) -> None:
        super().__init__(
            "logs of judges are files, a frame, or a list of records.",
            found,
            "give paths, one frame of any engine, or dictionaries in a list: [record, ...].",
        )


class UnknownLogError(ComparityError, ValueError):
    """A file is a log of no format that is known."""

    def __init__(self, path: str, keys: Sequence[str], formats: Collection[str]) -> None:
        known = ", ".join(map(repr, formats))
        super().__init__(
            f"cannot tell which tool wrote {path!r}.",
            f"its first record has {list_names(keys)}",
            f"force one of {known} with {{}}, or name columns by {{}}, {{}} and {{}}.",
            Option("format"),
            Option("left"),
            Option("right"),
            Option("result"),
        )


class LogRowError(ComparityError, ValueError):
    """A record of a log is not what its format says.

    `todo` has places for the options that name columns and codes, and leave out rows.
    """

    def __init__(self, path: str, row: int, form: str, found: str, todo: str = "") -> None:
        other = "mend or delete this record, or say by {} that the file is of another format."
        columns = ("left", "right", "result", "coding", "drop_missing")
        options = columns if todo else ("format",)
        super().__init__(
            f"cannot read record {row:,} of {path!r} as {form!r}.",
            found,
            todo or other,
            *map(Option, options),
        )
        self.row = row


class SameLogError(ComparityError, ValueError):
    """A file whose records another one holds, too, would count every judgment twice."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(
            "two logs hold the same records.",
            f"all records of {second!r} are in {first!r}, too",
            f"leave out {second!r}; a second run of a judge differs somewhere.",
        )


class RepeatedRecordsError(ComparityError, ValueError):
    """Most records of a log are equal to others: copies, or judgments that nothing tells apart."""

    def __init__(self, path: str, records: int, different: int) -> None:
        super().__init__(
            "records of a log differ, by their prompt, their judge or a number.",
            f"{records:,} records in {path!r}, of which {different:,} are different",
            "delete copies, or give judgments of the same answers a column that numbers them.",
        )


class OneAnswererError(ComparityError, ValueError):
    """Scores of single answers compare nothing if nobody else answered."""

    def __init__(self, answerers: Collection[str], scores: int) -> None:
        super().__init__(
            "scores of single answers are compared where two answerers got the same prompt.",
            f"{scores:,} scores of {list_names(sorted(answerers))}, no prompt with two answerers",
            "give the logs of two or more answerers together: several files are one panel.",
        )


class NoVerdictError(ComparityError, ValueError):
    """A panel of logs in which no judge decided anything."""

    def __init__(self, paths: Collection[str], found: str) -> None:
        super().__init__(
            "no judgment was found.",
            f"{found} in {list_names(list(paths), 3)}",
            "give a file of judgments; files of answers and questions only complete one.",
        )


class UnknownJudgeError(ComparityError, LookupError):
    """A table of judges that names none of those in the logs."""

    def __init__(self, judges: Collection[str], named: Collection[str]) -> None:
        super().__init__(
            "no judge of the logs is in the table of judges.",
            f"judges {list_names(sorted(judges))}; the table names {list_names(sorted(named))}",
            "its column 'judge' holds the names as the logs write them.",
        )


class JudgeInTwoGroupsError(ComparityError, ValueError):
    """A table of judges that puts one of them in two groups."""

    def __init__(self, judge: str, by: str, groups: Mapping[int, str]) -> None:
        rows = " and ".join(f"{group!r} in data row {row:,}" for row, group in groups.items())
        super().__init__(
            f"each judge has one {by!r} in the table of judges.",
            f"judge {visible(judge)} has {rows}",
            "mend or delete one of these rows.",
        )


class FewJudgesError(ComparityError, ValueError):
    """Groups of judges that are too small to stand for others like them."""

    def __init__(self, by: str, sizes: Mapping[str, int], fewest: int) -> None:
        counted = ", ".join(f"{visible(name)}: {n:,}" for name, n in sorted(sizes.items())[:10])
        super().__init__(
            f"groups of judges by {by!r} are compared where two of them have {fewest} judges.",
            counted,
            "add judges, or group them by something coarser.",
        )
