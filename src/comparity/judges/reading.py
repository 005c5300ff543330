"""Files as a panel: each is recognised by its content and read record by record."""

from __future__ import annotations

import marshal
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, takewhile
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    LogRowError,
    NoLogError,
    NoVerdictError,
    RepeatedRecordsError,
    SameLogError,
    UnknownLogError,
    UnreadableFileError,
)
from comparity.errors.spelling import list_names
from comparity.judges.log import SAME_RECORD, JudgeLog, LogBuilder
from comparity.judges.readers import (
    REASONS,
    Reader,
    RowFault,
    Source,
    known_readers,
)
from comparity.judges.readers.pointwise import read_inspect_archive
from comparity.judges.result import Reading
from comparity.tables.files import file_sha256, local_file, read_table
from comparity.tables.frames import is_frame, is_missing, of_engine, translate_duckdb
from comparity.tables.json_records import parse_documents

JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
INSPECT_ENDING = ".eval"
# Names that say nothing of who judged.
IN_MEMORY = "records"
# Values that are never missing, looked at first for speed.
FULL = {str, int, bool}
PLAIN_NAMES = {"result", "results", "annotations", "output", "outputs", "judgments", "log", "data"}


def read_logs(
    logs: Any,
    *,
    form: str = "",
    judge: str = "",
    people: Sequence[str] = (),
    keep_texts: bool = False,
    **facts: Any,
) -> tuple[JudgeLog, tuple[Reading, ...]]:
    """Read files of any formats as one panel.

    Parameters
    ----------
    logs : path, sequence of path, frame, or sequence of mapping
        Files, or the records of one log.
    form : str
        The format of all files; recognised by default.
    judge : str
        Who judged, where a log does not say.
    people : sequence of str
        Judges who are people; ``*`` stands for anything.
    keep_texts : bool
        Whether the texts of prompts and answers are kept, too.
    **facts
        Of :class:`~comparity.judges.readers.Source`.
    """
    tables = _tables_of(logs)
    names = [*tables]
    builder = LogBuilder(keep_texts=keep_texts)
    opened = [(name, *_open_log(name, rows, form)) for name, rows in tables.items()]
    called = _tell_apart(_name_paths(names))
    records: dict[str, int] = {}
    files: dict[str, list[str]] = {}
    contents: dict[str, Content] = {}
    for name, reader, rows in opened:
        who = judge or called[name]
        source = Source(
            path=name, judge=who, is_judge_given=bool(judge), model=called[name], **facts
        )
        files.setdefault(reader.name, []).append(name)
        n, contents[name] = _read_rows(rows, reader, source, builder)
        records[reader.name] = records.get(reader.name, 0) + n
    _check_copied(contents)
    log = builder.build(people)
    if not len(log) and not log.scores:
        left_out = "; ".join(f"{n:,} left out, {why}" for why, n in log.omitted.items())
        raise NoVerdictError(names, f"no judgment of two answers ({left_out or 'no row of any'})")
    return log, tuple(
        _describe(form, names, records[form], log, _count_in_several(contents, names))
        for form, names in files.items()
    )


def _tables_of(logs: Any) -> dict[str, Iterator[Any]]:
    """Return the records of each log by its name; where a value is missing, it is None."""
    return {name: _fill_gaps(name, rows) for name, rows in _raw_tables_of(logs).items()}


def _fill_gaps(name: str, rows: Iterable[Any]) -> Iterator[Any]:
    for n, row in enumerate(rows, start=1):
        try:
            yield _with_none(row)
        except RecursionError as error:
            raise UnreadableFileError(repr(name), f"record {n:,} is nested too deeply") from error


def _with_none(value: Any) -> Any:
    """Return a record with None for NaN, NA and NaT, by which frames and JSON say the same."""
    if type(value) in FULL:
        return value
    if isinstance(value, Mapping):
        return {name: _with_none(cell) for name, cell in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [_with_none(cell) for cell in value]
    return None if is_missing(value) else value


def _raw_tables_of(logs: Any) -> dict[str, Iterator[Any]]:
    frame = of_engine(logs, "judgments")
    if is_frame(frame):
        return {IN_MEMORY: iter(frame.lazy().collect().iter_rows(named=True))}
    several = [logs] if isinstance(logs, str | os.PathLike) else _list_logs(logs)
    if all(isinstance(one, Mapping) for one in several):
        return {IN_MEMORY: iter(several)}
    odd = [one for one in several if not isinstance(one, str | os.PathLike)]
    if odd:
        raise NoLogError(f"a list of {len(several):,} that holds {_kind(odd[0])}")
    names = [os.fspath(one) for one in several]
    _check_different(names)
    return {name: records_of(name) for name in names}


def _list_logs(logs: Any) -> list[Any]:
    """Return paths or records as a list that holds something."""
    if isinstance(logs, Mapping):
        raise NoLogError(f"one record alone, with {list_names([*logs])}")
    if not isinstance(logs, Iterable):
        raise NoLogError(_kind(logs))
    several = [*logs]
    if not several:
        raise NoLogError("an empty list")
    return several


def _kind(value: object) -> str:
    return "None" if value is None else f"something of type {type(value).__name__}"


def _check_different(names: Sequence[str]) -> None:
    known: dict[str, str] = {}
    for name in names:
        local_file(name)
        content = file_sha256(name)
        if content in known:
            raise SameLogError(known[content], name)
        known[content] = name


class Content(NamedTuple):
    """What a file holds: numbers of its records, ascending, and who judged in it."""

    records: NDArray[np.int64]
    judges: frozenset[str]

    @property
    def told_apart(self) -> NDArray[np.int64]:
        """The numbers, others for another judge whom records may not name."""
        return self.records ^ hash(self.judges) if len(self.judges) == 1 else self.records

    def is_part_of(self, other: Content) -> bool:
        """Say whether all records are in another file, too.

        Of two judges whom only their files name, the one who judged less may agree in all of it.
        """
        if not self.judges <= other.judges and len(self.records) != len(other.records):
            return False
        # Most files differ in the first record.
        return all(
            bool(np.isin(some, other.records).all()) for some in (self.records[:1], self.records)
        )


def _check_copied(contents: Mapping[str, Content]) -> None:
    by_size = sorted(contents, key=lambda name: len(contents[name].records))
    for less, more in combinations(by_size, 2):
        if contents[less].is_part_of(contents[more]):
            raise SameLogError(more, less)


def _count_in_several(contents: Mapping[str, Content], files: Sequence[str]) -> int:
    """Count records that stand in several files: a second run of a judge, or copies."""
    found = np.concatenate([contents[name].told_apart for name in files])
    return len(found) - len(np.unique(found))


def _open_log(name: str, rows: Iterator[Any], form: str) -> tuple[Reader, Iterator[Any]]:
    """Return the reader of a file, and its records from the first on."""
    first = next(rows, None)
    if first is None:
        raise UnreadableFileError(repr(name), "it holds no record")
    if not isinstance(first, Mapping):
        raise UnreadableFileError(repr(name), f"its first record is no object: {str(first)[:40]}")
    readers = known_readers()
    found = [readers[form]] if form else [one for one in readers.values() if one.matches(first)]
    if not found:
        raise UnknownLogError(name, list(map(str, first)), [*readers])
    return found[0], _put_back(first, rows)


def _put_back(first: Any, rows: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rows


def records_of(name: str) -> Iterator[Any]:
    """Yield the records of a file, whatever its form."""
    plain = name.lower().removesuffix(".gz")
    if plain.endswith(INSPECT_ENDING):
        yield read_inspect_archive(name)
    elif plain.endswith(JSON_ENDINGS):
        yield from parse_documents(name)
    else:
        relation = read_table(name).to_native()
        columns = relation.columns
        with translate_duckdb(name):
            rows = relation.fetchall()
        for row in rows:
            yield dict(zip(columns, row, strict=True))


def _read_rows(
    rows: Iterable[Any], reader: Reader, source: Source, builder: LogBuilder
) -> tuple[int, Content]:
    """Hand all records of a file to its reader, and count them; twins of a record are left out."""
    seen: set[int] = set()
    judges: set[str] = set()
    builder.source = source.path
    n = 0
    for n, record in enumerate(rows, start=1):
        if not isinstance(record, Mapping):
            raise LogRowError(source.path, n, reader.name, f"no object: {str(record)[:40]}")
        content = _fingerprint(record)
        if content in seen:
            builder.omitted[SAME_RECORD] += 1
            continue
        seen.add(content)
        try:
            entries = [*reader.read(record, source)]
        except RowFault as fault:
            raise LogRowError(source.path, n, reader.name, str(fault), fault.todo) from fault
        # A record may hold anything anywhere: a number for an object, a list for a name.
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            found = f"a field of another kind than this format has: {error}"
            raise LogRowError(source.path, n, reader.name, found) from error
        for entry in entries:
            builder.add(entry)
            judges.add(getattr(entry, "judge", ""))
    builder.flush()
    if len(seen) < n / 2:
        raise RepeatedRecordsError(source.path, n, len(seen))
    return n, Content(np.sort(np.fromiter(seen, np.int64, len(seen))), frozenset(judges))


def _fingerprint(record: Any) -> int:
    """Return a number that is the same for records that hold the same.

    Bytes of version 2 depend on values alone, and take a fourth to a half of the time of their
    text; what JSON cannot hold (a date in a frame) has none.
    """
    try:
        return hash(marshal.dumps(record, 2))
    except ValueError:
        return hash(str(record))


def _name_paths(names: Sequence[str]) -> dict[str, str]:
    """Return what tells files apart: the parts of their paths in which they differ.

    Examples
    --------
    >>> _name_paths(["x/GPT-4/CoT/result.json", "x/Falcon/CoT/result.json"])
    {'x/GPT-4/CoT/result.json': 'GPT-4', 'x/Falcon/CoT/result.json': 'Falcon'}
    >>> _name_paths(["logs/gpt-4.json"]), _name_paths(["GPT-4/CoT/result.json"])
    ({'logs/gpt-4.json': 'gpt-4'}, {'GPT-4/CoT/result.json': 'GPT-4/CoT'})
    """
    parts = {name: _parts(name) for name in names}
    if len({*map(tuple, parts.values())}) > 1:
        ahead = _count_shared([*parts.values()])
        rest = {name: part[ahead:] for name, part in parts.items()}
        behind = _count_shared([part[::-1] for part in rest.values()])
        kept = {name: part[: len(part) - behind] for name, part in rest.items()}
        if all(kept.values()):
            return {name: "/".join(part) for name, part in kept.items()}
    return {
        name: "/".join(part[-3:-1]) if part[-1] in PLAIN_NAMES and len(part) > 1 else part[-1]
        for name, part in parts.items()
    }


def _tell_apart(called: Mapping[str, str]) -> dict[str, str]:
    """Call files by their paths where two would have one name.

    Examples
    --------
    >>> _tell_apart({"run.json": "run", "old/run.json": "run", "gpt.json": "gpt"})
    {'run.json': 'run.json', 'old/run.json': 'old/run.json', 'gpt.json': 'gpt'}
    """
    times = Counter(called.values())
    return {path: name if times[name] == 1 else path for path, name in called.items()}


def _count_shared(parts: Sequence[Sequence[str]]) -> int:
    """Return how many parts all paths begin with."""
    places = zip(*parts, strict=False)
    return sum(1 for _ in takewhile(lambda place: len({*place}) == 1, places))


def _parts(name: str) -> list[str]:
    path = PurePath(name)
    stem = path.name
    for ending in (".gz", *JSON_ENDINGS, INSPECT_ENDING, ".csv", ".tsv", ".parquet"):
        stem = stem.removesuffix(ending)
    return [*(one for one in path.parts[:-1] if one not in ("/", "..", ".")), stem]


def _describe(
    form: str, files: Sequence[str], records: int, log: JudgeLog, in_several: int
) -> Reading:
    """Return what was found in the files of one format."""
    reader = known_readers()[form]
    of_files = np.isin(np.array(log.sources, dtype=object)[log.source], files)
    missing = {
        reason: int(np.sum(of_files & (log.reason == code))) for code, reason in enumerate(REASONS)
    }
    answerers = {*log.first[of_files].tolist(), *log.second[of_files].tolist()}
    return Reading(
        form=form,
        about=reader.about,
        is_documented_only=reader.is_documented_only,
        files=tuple(Path(one).name for one in files),
        records=records,
        judgments=int(of_files.sum()),
        prompts=len(np.unique(log.prompt[of_files])),
        answerers=len(answerers),
        judges=len(np.unique(log.judge[of_files])),
        scores=sum(n for source, n in log.scores_by_source.items() if source in files),
        seats=_seats(log, of_files),
        missing={reason: n for reason, n in missing.items() if n},
        in_several_files=in_several,
    )


def _seats(log: JudgeLog, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Say what is known of the order in which answers were shown."""
    if not rows.any():
        return ""
    if n := int(np.count_nonzero(log.orders[rows])):
        of_some = "" if n == np.count_nonzero(rows) else f" of {n:,} judgments"
        return f"both orders in one row{of_some}"
    if not log.seated[rows].any():
        return "seats unknown"
    kept = rows & log.seated
    ways = np.stack([log.judge[kept], log.pair[kept], log.first[kept] < log.second[kept]], axis=1)
    both = np.unique(np.unique(ways, axis=0)[:, :2], axis=0, return_counts=True)[1] == 2
    if both.any() and not both.all():
        return f"both orders of {int(both.sum()):,} of {len(both):,} pairs"
    return "both orders" if both.all() else "one order"
