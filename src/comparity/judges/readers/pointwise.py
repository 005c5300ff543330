"""Logs of judges who score one answer at a time.

Two answers to one prompt are compared by their scores, so several answerers are needed: several
files are one panel. No answer was shown beside another, so there are no seats.

=====================  =======================================================================
format                 what is read
=====================  =======================================================================
``inspect``            scores of each sample (``.eval`` or JSON): C, P and I, or numbers; a log that
                       was cancelled has the samples that were scored
``promptfoo``          components of model-graded assertions; a row's own ``success`` also counts
                       latency and cost, and is not read
``promptfoo table``    its CSV: a cell for each prompt and provider, scored by all assertions
                       together; which of these a model decided is not in the file
``deepeval``           ``metricsData`` of each test case
``lm-eval``            samples with the metrics of each document; a filter other than "none" is part
                       of the judge's name
=====================  =======================================================================
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from comparity.errors import UnreadableFileError
from comparity.judges.readers import (
    ERROR,
    UNPARSED,
    Omission,
    Reader,
    Record,
    RowFault,
    Score,
    Source,
    digest,
    has,
    list_of,
    number_of,
    optional_text,
    spell,
    text_of,
    why_missing,
)

# A method of zip archives, and how long what stands before a name and its extra field is.
ZSTANDARD, LOCAL_HEADER = 93, 30
# Inspect writes correct, partial and incorrect by letters, and N for no answer.
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
NO_GRADE = "Grade not found in model output: "
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# Assertions of promptfoo that a model decides.
GRADED = {
    *("llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval"),
    *("answer-relevance", "context-faithfulness", "context-recall", "context-relevance", "pi"),
    *("conversation-relevance", "select-best", "max-score", "agent-rubric", "search-rubric"),
    "trajectory:goal-success",
}
# Files are called samples_<task>_<date>.jsonl.
DATE = re.compile(r"_(\d{4}-.*?)(?:\.jsonl.*)?$")
TASK = re.compile(r"^.*samples_|_\d{4}-.*$|\.jsonl.*$")
# A cell of promptfoo's CSV: the outcome, the score of all assertions, the output, and why.
HEAD = re.compile(r"\[([^\]]+)\] ")
CELL = re.compile(
    r"\[(?P<outcome>PASS|FAIL|ERROR)\] \((?P<score>-?[\d.]+)\)\s*(?P<output>.*?)"
    r"(?:\s*(?:Pass|Fail) Reason: .*|\s*---.*)?$",
    re.DOTALL,
)
DOCUMENT = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}


def read_inspect(record: Record, _: Source) -> Iterator[Score | Omission]:
    """Yield the scores of all samples of a log."""
    facts = record.get("eval")
    if not isinstance(facts, Mapping):
        raise RowFault("no 'eval'")
    for sample in list_of(record, "samples"):
        question = _plain_text(sample.get("input"))
        output = sample.get("output")
        choices = output.get("choices") if isinstance(output, Mapping) else None
        said = choices[0].get("message", {}).get("content") if choices else None
        scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
        if not scores:
            yield Omission("samples without a score")
        for scorer, value, said_of_it in _values_of(scores):
            grade = GRADES.get(value, WORDS.get(value.lower())) if isinstance(value, str) else None
            number = number_of(value) if grade is None else grade
            # The tool itself writes I for a judge whose words hold no grade.
            ungraded = said_of_it.startswith(NO_GRADE)
            yield Score(
                judge=scorer,
                prompt=f"{optional_text(facts, 'task')} {text_of(sample, 'id')}".strip(),
                answerer=text_of(facts, "model"),
                score=math.nan if ungraded else number,
                reason=why_missing(said_of_it.removeprefix(NO_GRADE))
                if ungraded
                else (UNPARSED if math.isnan(number) else ""),
                run=_repetition(sample.get("epoch")),
                text=_plain_text(said),
                question=question,
                is_grade=grade is not None or isinstance(value, bool),
            )


def read_inspect_archive(name: str) -> dict[str, Any]:
    """Return an Inspect log from its archive: the header, with the samples of their own files."""
    try:
        with zipfile.ZipFile(name) as archive:
            files = [one for one in sorted(archive.namelist()) if one.startswith("samples/")]
            header, *samples = _read_members(archive, ["header.json", *files])
            return {**header, "samples": samples}
    except (zipfile.BadZipFile, struct.error, LookupError, ValueError, TypeError, OSError) as error:
        raise UnreadableFileError(repr(name), str(error)) from error
    # Of a method that Python does not know.
    except NotImplementedError as error:
        raise UnreadableFileError(repr(name), str(error)) from error


def _read_members(archive: zipfile.ZipFile, names: Sequence[str]) -> list[Any]:
    """Parse files of an archive; newer versions of Inspect compress them by Zstandard."""
    members = [archive.getinfo(one) for one in names]
    if any(one.compress_type != ZSTANDARD for one in members):
        return [json.loads(archive.read(one)) for one in members]
    # Imported here so that --help loads no numpy.
    from comparity.tables.json_records import parse_zstandard

    largest = max(one.file_size for one in members)
    return parse_zstandard((_stored_bytes(archive, one) for one in members), largest)


def _stored_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member as they are stored, behind its local header."""
    file = archive.fp
    assert file is not None
    file.seek(member.header_offset + LOCAL_HEADER - 4)
    file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
    return file.read(member.compress_size)


def _values_of(scores: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield each scorer, its value and what it says of it; several values are several scorers."""
    for scorer, score in scores.items():
        whole = score if isinstance(score, Mapping) else {"value": score}
        value, said = whole.get("value"), optional_text(whole, "explanation")
        if isinstance(value, Mapping):
            yield from ((f"{scorer}, {name}", one, said) for name, one in value.items())
        elif isinstance(value, list):
            yield from ((f"{scorer}, {place}", one, said) for place, one in enumerate(value, 1))
        else:
            yield scorer, value, said


def _repetition(epoch: Any) -> str:
    return "" if epoch in (None, 1) else spell(epoch)


def _plain_text(content: Any) -> str | None:
    """Return the text of a message, of its parts, or of several messages."""
    if isinstance(content, list):
        parts = [
            _plain_text(one.get("content", one.get("text")) if isinstance(one, Mapping) else one)
            for one in content
        ]
        return "\n".join(part for part in parts if part)
    return content if isinstance(content, str) else None


def read_promptfoo(record: Record, _: Source) -> Iterator[Score | Omission]:
    """Yield the scores of all assertions that a model decided."""
    results = record.get("results")
    rows = results.get("results") if isinstance(results, Mapping) else results
    # JSON lines have one row each.
    rows = [record] if "gradingResult" in record else rows
    if not isinstance(rows, list):
        raise RowFault("'results' holds no list")
    names = _name_answerers(rows)
    for row in rows:
        grading = row.get("gradingResult")
        parts = (grading.get("componentResults") or (grading,)) if grading else ()
        prompt = row.get("prompt")
        shown = prompt.get("raw") if isinstance(prompt, Mapping) else prompt
        response = row.get("response")
        said = response.get("output") if isinstance(response, Mapping) else None
        graded = [part for part in parts if _type_of(part).removeprefix("not-") in GRADED]
        if not graded:
            failed = "answers that failed"
            ungraded = "answers without an assertion that a model grades"
            yield Omission(failed if row.get("error") and not grading else ungraded)
        for part in graded:
            assertion, number = _assertion_of(part), number_of(part.get("score"))
            has_failed = _has_failed(part)
            yield Score(
                judge=_type_of(part),
                prompt=digest(f"{row.get('vars')} {assertion.get('value')}"),
                answerer=names[_column_of(row)],
                score=math.nan if has_failed else number,
                reason=ERROR if has_failed else (UNPARSED if math.isnan(number) else ""),
                text=said if isinstance(said, str) else None,
                question=shown if isinstance(shown, str) else None,
                is_grade=True,
            )


def _has_failed(part: Record) -> bool:
    """Say whether the grading model failed, which promptfoo writes as a score of 0."""
    told = part.get("metadata")
    return isinstance(told, Mapping) and bool(told.get("graderError"))


def _type_of(part: Any) -> str:
    return str(_assertion_of(part).get("type"))


def _assertion_of(part: Any) -> Mapping[str, Any]:
    """Return the assertion of a graded component; an empty one where there is none."""
    found = part.get("assertion") if isinstance(part, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def read_promptfoo_table(record: Record, _: Source) -> Iterator[Score | Omission]:
    """Yield the scores of the cells of one row, which has one test for all of them."""
    cells = {name: spell(cell) for name, cell in record.items() if name.startswith("[")}
    test = digest(str({name: cell for name, cell in record.items() if name not in cells}))
    heads = {name: head[1] for name in cells if (head := HEAD.match(name))}
    names = _number_prompts((who, name) for name, who in heads.items())
    for name, cell in cells.items():
        found = CELL.match(cell)
        if found is None or name not in heads:
            raise RowFault(f"column {name[:40]!r} holds {cell[:40]!r}, no [PASS] or [FAIL] (score)")
        if cell.rstrip().endswith("No assertions"):
            yield Omission("answers that nothing was asserted of")
            continue
        failed = found["outcome"] == "ERROR"
        yield Score(
            judge="all assertions",
            prompt=test,
            # Several prompts of one provider are several answerers.
            answerer=names[heads[name], name],
            score=math.nan if failed else float(found["score"]),
            reason=ERROR if failed else "",
            text=found["output"],
            is_grade=True,
        )


def _column_of(row: Record) -> tuple[str, str]:
    """Return who answered a row, and the column in which promptfoo shows it: one of each prompt."""
    provider, prompt = row.get("provider"), row.get("prompt")
    told = provider if isinstance(provider, Mapping) else {"id": provider}
    template = optional_text(prompt, "label", "display") if isinstance(prompt, Mapping) else ""
    # Two providers of one model differ by their label.
    parts = (optional_text(told, "id"), optional_text(told, "label"))
    who = ", ".join(dict.fromkeys(part for part in parts if part)) or "unknown"
    return who, optional_text(row, "promptIdx", "promptId") or template


def _name_answerers(rows: Sequence[Record]) -> dict[tuple[str, str], str]:
    """Return a name for each column; JSON lines, of which each knows its own alone, number it."""
    columns = sorted({*map(_column_of, rows)}, key=lambda one: (len(one[1]), one[1]))
    if len(columns) == 1 and columns[0][1].isdecimal() and columns[0][1] != "0":
        who, place = columns[0]
        return {columns[0]: f"{who} (column {int(place) + 1})"}
    return _number_prompts(columns)


def _number_prompts(columns: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Name columns of (who, prompt) by who; several prompts of one are numbered, not quoted."""
    of_one: dict[str, list[str]] = {}
    for who, prompt in columns:
        of_one.setdefault(who, []).append(prompt)
    return {
        (who, prompt): f"{who} (prompt {n})" if len(prompts) > 1 else who
        for who, prompts in of_one.items()
        for n, prompt in enumerate(prompts, start=1)
    }


def read_deepeval(record: Record, source: Source) -> Iterator[Score]:
    """Yield the metrics of all test cases."""
    conversations = record.get("conversationalTestCases") or ()
    for case in (*list_of(record, "testCases"), *conversations):
        question = _plain_text(case.get("input"))
        for metric in case.get("metricsData") or ():
            number = math.nan if metric.get("error") else number_of(metric.get("score"))
            judge = f"{text_of(metric, 'name')}, {optional_text(metric, 'evaluationModel')}"
            yield Score(
                judge=judge.removesuffix(", "),
                prompt=digest(question) if question else optional_text(case, "name"),
                answerer=source.model,
                score=number,
                reason=(ERROR if metric.get("error") else UNPARSED) if math.isnan(number) else "",
                text=_plain_text(case.get("actualOutput")),
                question=question,
                is_grade=True,
            )


def read_lm_eval(record: Record, source: Source) -> Iterator[Score | Omission]:
    """Yield the metrics of one document."""
    named = record.get("metrics")
    is_named = isinstance(named, list)
    fields = [name for name in record if name not in DOCUMENT and not name.endswith("_hash")]
    # One document has a record for each filter, which takes something else out of one response.
    how = optional_text(record, "filter")
    suffix = f", {how}" if how not in ("", "none") else ""
    answers = record.get("resps") or record.get("filtered_resps")
    while isinstance(answers, list) and answers:
        answers = answers[0]
    for metric in named or fields:
        number = number_of(record.get(metric))
        if math.isnan(number) and not is_named:
            continue
        if isinstance(record.get(metric), list):
            yield Omission("metrics of several numbers, such as likelihoods and counts of words")
            continue
        yield Score(
            judge=f"{metric}{suffix}",
            prompt=f"{TASK.sub('', source.path)} {text_of(record, 'doc_id')}".strip(),
            answerer=_model_of(source),
            score=number,
            reason=UNPARSED if math.isnan(number) else "",
            text=answers if isinstance(answers, str) else None,
        )


def _model_of(source: Source) -> str:
    """Return the folder, which lm-eval calls by the model; of one folder, the date, too."""
    path = Path(source.path)
    if not path.name.startswith("samples_"):
        return source.model
    folders = [one for one in PurePath(source.model).parts if not one.startswith("samples_")]
    dated = DATE.search(path.name)
    alone = f"{path.absolute().parent.name} {dated[1] if dated else ''}".strip()
    return "/".join(folders) or alone


READERS = (
    Reader(
        name="inspect",
        about="Inspect samples",
        matches=lambda record: has(record, "eval", "samples"),
        read=read_inspect,
    ),
    Reader(
        name="promptfoo",
        about="promptfoo results",
        matches=lambda record: (
            (
                "results" in record
                and (has(record, "evalId") or has(record, "stats") or has(record, "config"))
            )
            or has(record, "gradingResult", "provider", "vars")
        ),
        read=read_promptfoo,
    ),
    Reader(
        name="promptfoo table",
        about="promptfoo table, all assertions together",
        matches=lambda record: any(
            name.startswith("[") and isinstance(cell, str) and CELL.match(cell)
            for name, cell in record.items()
        ),
        read=read_promptfoo_table,
    ),
    Reader(
        name="deepeval",
        about="DeepEval test cases",
        matches=lambda record: "testCases" in record,
        read=read_deepeval,
    ),
    Reader(
        name="lm-eval",
        about="lm-eval samples",
        matches=lambda record: (
            has(record, "doc_id", "doc") and ("resps" in record or "filtered_resps" in record)
        ),
        read=read_lm_eval,
        is_documented_only=True,
    ),
)
