"""Errors about files and tables, layouts of comparisons, policies, papers, missing packages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from comparity.errors.spelling import UNKNOWN_FILE, ComparityError, Offenders, Option, list_names


class FileAccessError(ComparityError, OSError):
    """A path does not name a file that can be read, or written."""

    def __init__(self, path: str, found: str, *, doing: str = "read") -> None:
        hints = {
            "read": "check the path; relative paths start here.",
            "write": "check the path, the permissions of its folder and the space on the disk; "
            "a file that was there before is as it was.",
            "make": "check the path and the permissions of the folder above it.",
            "count twice": "name each file of a table once.",
        }
        super().__init__(f"cannot {doing} {path!r}.", found, hints[doing])


class SameFileError(ComparityError, ValueError):
    """A file to write was named that is read, or written for another purpose."""

    def __init__(self, output: str, other: str) -> None:
        super().__init__(
            f"refused to write {output!r}.",
            f"it is the same file as {other!r}, which is read, or written for another purpose",
            "write another file.",
        )


class FolderTakenError(ComparityError, ValueError):
    """A folder to write into holds files of the same names that are somebody else's."""

    def __init__(self, folder: str, files: Sequence[str]) -> None:
        super().__init__(
            f"refused to replace files in {folder!r} that this command did not write.",
            ", ".join(map(repr, files)),
            "name a folder that is new or empty (--directory), or delete these files yourself.",
        )


class StateFileError(ComparityError, ValueError):
    """A file does not hold a state of an audit that can be read and written."""

    def __init__(self, path: str, found: str) -> None:
        hint = "name a state that comparity wrote, or a file that does not exist yet, to begin one."
        super().__init__(f"cannot keep the state of an audit in {path!r}.", found, hint)


class StateChangedError(ComparityError, ValueError):
    """What an audit was begun with has changed."""

    def __init__(self, path: str, name: str, before: str, now: str) -> None:
        super().__init__(
            f"{name} is not what the state {path!r} was begun with.",
            f"{now}; it was {before}",
            "go on as it was begun, or begin another state: findings hold at any moment only if "
            "neither the model nor the question changes on the way.",
        )


class RemotePathError(ComparityError, ValueError):
    """A path names something on another machine, or several files at once."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(
            f"refused to read {path!r}.",
            found,
            "download it first, or say allow_remote=True if you trust the address.",
        )


class UnsupportedFileError(ComparityError, ValueError):
    """The ending of a file name does not say how to read it."""

    def __init__(self, path: str, ending: str, known: Sequence[str]) -> None:
        super().__init__(
            f"cannot tell how to read {path!r}.",
            f"ending {ending!r}",
            f"known endings: {', '.join(known)}, also with .gz for text.",
        )


class UnreadableFileError(ComparityError, ValueError):
    """A file or table broke while it was read."""

    def __init__(self, path: str, reason: str) -> None:
        # A reason may quote a line of the file, which may be endless.
        first = [line[:300] for line in reason.strip().splitlines()] or ["no reason given"]
        super().__init__(
            f"cannot read {path}.",
            " ".join(line.strip() for line in first[:3]),
            f"check that the file is complete{_form(path)}.",
        )


def _form(path: str) -> str:
    """Say what else a file of its kind must be."""
    name = path.strip("'\"").lower().removesuffix(".gz")
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return ", UTF-8, and has one JSON object on every line, without a comma behind it"
    if name.endswith((".parquet", ".eval")):
        return " and was written " + ("by Inspect" if name.endswith(".eval") else "as Parquet")
    if path == UNKNOWN_FILE:
        return ""
    rows = "has as many cells in every row, and ends all lines alike"
    return f", UTF-8, begins with one header row, {rows}"


class UnsupportedTableError(ComparityError, TypeError):
    """Something was given that is not a table."""

    def __init__(self, table: str, found: str) -> None:
        super().__init__(
            f"the {table} table is not a table of rows and columns.",
            found,
            "give a pandas, Polars, PyArrow, DuckDB or Spark frame, or read a file first.",
        )


class UnsteadyQueryError(ComparityError, ValueError):
    """A query whose rows are matched by their place gives them in another order each time."""

    def __init__(self, columns: Collection[str]) -> None:
        super().__init__(
            "rows of a query are matched with other columns by their place.",
            f"the query for {list_names(columns)} gave other rows, or another order of them, when "
            "it was asked again",
            "run the query once and pass columns of its result, or pass one table that has all "
            "columns (audit_frame and the like).",
        )


class DuplicateColumnError(ComparityError, ValueError):
    """A table has two columns of one name."""

    def __init__(self, table: str, found: str) -> None:
        super().__init__(
            f"the {table} table has several columns of one name.", found, "rename all but one."
        )


class UnnamedColumnError(ComparityError, ValueError):
    """A table has a column without a name."""

    def __init__(self, table: str, places: Sequence[int], n_columns: int) -> None:
        plural = "" if len(places) == 1 else "s"
        hint = "give every column a name"
        if list(places) == [1]:
            hint += "; if it is the index of a pandas frame, write it with to_csv(..., index=False)"
        elif n_columns in places:
            hint += "; if the header ends with a separator, remove it there and in every row"
        super().__init__(
            f"every column of the {table} table needs a name.",
            f"no name above column{plural} {list_names(places)} of {n_columns}",
            f"{hint}.",
        )
        self.places = tuple(places)


class UnknownLayoutError(ComparityError, ValueError):
    """The columns of a comparison table say not which item was judged better."""

    def __init__(self, columns: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            "cannot tell which columns hold the better and the worse item.",
            f"columns {list_names(columns)}",
            "rename them to one of: {}. Or name them: if a column says who won, by {}, {} and "
            "{}; if one column has the better item in every row, by {} and {}.",
            "; ".join(known),
            Option("left"),
            Option("right"),
            Option("winner"),
            Option("better"),
            Option("worse"),
        )


class UnreadOutcomeError(ComparityError, ValueError):
    """A column that seems to say who won is not among those that are read."""

    def __init__(self, column: str, better: str, worse: str, values: Sequence[str]) -> None:
        super().__init__(
            f"column {column!r} seems to say who won, and would not be read.",
            f"{better!r} read as the better item in every row, {worse!r} as the worse; "
            f"{column!r} holds {list_names(values)}",
            "name the columns by {}, {} and {}, without {} and {}. If {} does not say who won, "
            "drop it from the table, or call the items' columns 'better' and 'worse'.",
            Option("left", better),
            Option("right", worse),
            Option("winner", column),
            Option("better"),
            Option("worse"),
            repr(column),
        )
        self.column = column


class UnknownWinnerError(ComparityError, ValueError):
    """The winner of a comparison is none of its two items and no word for a side or a tie."""

    def __init__(self, column: str, offenders: Offenders, words: Sequence[str]) -> None:
        super().__init__(
            f"column {column!r} must name the winner.",
            str(offenders),
            f"known are the ids of the two items and the words {', '.join(words)}; write one "
            "of them in place of a code.",
        )
        self.offenders = offenders


class AmbiguousWinnerError(ComparityError, ValueError):
    """The winner of a comparison is one of its items by name, and another side by the word."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} can be read in two ways: as an item, and as a side or a tie.",
            str(offenders),
            "call these items something else, or give columns of the better and worse item.",
        )
        self.offenders = offenders


class OutOfMemoryError(ComparityError, MemoryError):
    """A question needs more memory than there is."""

    def __init__(self, found: str = "") -> None:
        first = found.strip().splitlines()[:1] or ["the system gives no more"]
        super().__init__(
            "not enough memory.",
            first[0][:300],
            "keep only the columns that are needed, write the file as Parquet, take a random "
            "sample of its rows, or allow more memory (ulimit -v, the limit of a container).",
        )


class BusyConnectionError(ComparityError, RuntimeError):
    """A DuckDB connection was used by two threads at once."""

    def __init__(self, found: str) -> None:
        super().__init__(
            "a table cannot be read while another thread uses its DuckDB connection.",
            found.strip().splitlines()[0][:300],
            "make the table of each thread on a connection of its own: connection.cursor().",
        )


class MissingExtraError(ComparityError, ImportError):
    """Something was asked for that needs a package of an extra."""

    def __init__(self, asked: str, package: str, extra: str) -> None:
        super().__init__(
            f"{asked} cannot be had without {package}.",
            f"{package} is not installed",
            f"pip install 'comparity[{extra}]'",
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
            f"{by} needs other versions of what is installed: {', '.join(found)}.",
            ", ".join(here),
            f"pip install {' '.join(wanted)}; comparity doctor lists all versions.",
        )
        self.found = dict(found)


class PolicyError(ComparityError, ValueError):
    """A policy cannot be read, or says something that cannot be followed."""

    def __init__(self, where: str, asked: str, found: str, hint: str) -> None:
        super().__init__(f"{where}: {asked}", found, hint)


class UnknownKeyError(PolicyError):
    """A policy has a key nobody knows: a misspelt margin must not become a default one."""

    def __init__(self, where: str, key: str, known: Collection[str]) -> None:
        near = get_close_matches(key, known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {list_names(known, 40)}."
        super().__init__(where, f"{key!r} is not known here.", f"{key!r}", hint)
        self.key = key


class PolicyAuditError(ComparityError, ValueError):
    """An audit of a policy could not be made, so nothing can be said about it."""

    def __init__(self, name: str, error: ComparityError) -> None:
        asked, found, hint, named = error.parts
        super().__init__(f"audit {name!r}: {asked}", found, hint, *named)
        self.name = name


class ForeignResultError(ComparityError, ValueError):
    """A file does not hold a result that ``--json`` printed."""

    def __init__(self, source: str, found: str) -> None:
        super().__init__(
            f"{source} does not hold a result of comparity.",
            found,
            "give files that --json printed, unchanged; where another version did, run its "
            "command again.",
        )


class BundleError(ComparityError, ValueError):
    """A bundle of evidence is none of ours, or is not as it was written."""

    def __init__(self, name: str, wrong: Collection[str]) -> None:
        super().__init__(
            f"{name!r} is no bundle as comparity wrote it.",
            "; ".join(wrong),
            "ask for the bundle again, or write a new one with --bundle from the JSON of results.",
        )


class ReproductionsMissingError(ComparityError, LookupError):
    """The scripts that reproduce the papers are not on this machine."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            "the folder of reproductions was not found.",
            f"no paper in {folder}",
            "they are part of the source, not of the package: clone the repository and name "
            "its folder with --directory reproductions.",
        )


class UnknownPaperError(ComparityError, LookupError):
    """A paper was asked for that nobody reproduced."""

    def __init__(self, paper: str, known: Collection[str]) -> None:
        super().__init__(
            f"paper {paper!r} is not reproduced here.",
            f"papers {', '.join(known)}",
            "comparity reproduce lists papers and their parts.",
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
        super().__init__(f"{part} of paper {paper} cannot be run.", found, hint)


class PublishedFileError(ComparityError, ValueError):
    """A file of published numbers cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} does not hold the numbers of a paper.",
            reason,
            "it needs paper, title, authors, and a table with question and time for each part.",
        )


class DataFolderMissingError(ComparityError, FileNotFoundError):
    """Real data are needed, and there is no folder of them."""

    def __init__(self, folder: str | None) -> None:
        super().__init__(
            "this part needs real data.",
            "no data folder" if folder is None else f"no folder {folder}",
            "name it with --data or COMPARITY_DATA; comparity data lists what goes into it.",
        )


class DataFileMissingError(ComparityError, FileNotFoundError):
    """The folder of real data lacks a file."""

    def __init__(self, part: str, path: str) -> None:
        super().__init__(
            f"{part} needs a file that the data folder lacks.",
            f"no file {path}",
            "comparity data lists what goes into the folder, and fetches what may be fetched.",
        )
