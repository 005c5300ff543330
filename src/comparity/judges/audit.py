"""Audits of judges from the logs that tools write."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from comparity import __version__
from comparity.errors import OneAnswererError, Option, OptionError
from comparity.inference.gap_tests import GapTest, untested_gap
from comparity.inference.multiplicity import holm
from comparity.judges.agreement import compare_judges, panel_alpha
from comparity.judges.answerers import Makers, correct_by_people
from comparity.judges.by_group import (
    compare_by_group,
    compare_own_makers,
    count_known,
    find_failing_groups,
)
from comparity.judges.judge_contrasts import (
    JudgeGroupGap,
    compare_groups_of_judges,
    compare_runs,
    note_ungrouped,
    read_judges,
)
from comparity.judges.leaderboard import rank_answerers
from comparity.judges.leans import find_leans
from comparity.judges.log import JudgeLog
from comparity.judges.next_steps import note_unused, notes_on, omissions_of
from comparity.judges.options import AUTO, LEAN_KINDS, JudgesOptions, LeansForm
from comparity.judges.rates import (
    NOWHERE,
    compare_orders,
    count_orders,
    count_repeats,
    find_twins,
    first_seat,
    gap_between,
    longer_answer,
    missing,
    rate_of,
    ties,
)
from comparity.judges.readers import NO_VERDICT, REASONS
from comparity.judges.reading import read_logs
from comparity.judges.result import Example, JudgesAudit, JudgeSummary, Reading
from comparity.judges.single_scores import summarise_scores
from comparity.judges.wins import PEOPLE, TRUTH, LeanFindings
from comparity.reports.sections import clip
from comparity.results.audit import Audit
from comparity.results.judging import judge, overall_finding
from comparity.results.options import shows
from comparity.results.result import EXIT_STATUS
from comparity.tables.files import file_sha256
from comparity.tables.frames import of_engine

POOLED = "people"
MOST_EXAMPLES = 3
# Fewer than what a page cuts off, and counts: it would count these.
LETTERS = 180
MOST_LISTED = 10
# Kinds of leans that every judge may have, whoever made it.
OF_ALL = ("seat", "length", "style")
NO_NAME = "(no name)"
"""What a judge is called whose name in the log is empty."""


@shows(JudgesOptions)
def audit_judges(logs: Any, judges: Any = None, **choices: Any) -> JudgesAudit:
    """Say what judges do: seats, lengths, consistency, agreement, and what they fail on.

    Parameters
    ----------
    logs : path, sequence of path, frame, or sequence of mapping
        Logs as tools write them, or the records of one. Several files are one panel.
    judges : path, frame or mapping, optional
        Attributes of judges: a column ``judge`` and those that `by` names; or the group of each.
    **choices
        See the signature; the help of ``comparity judges`` explains each.

    Returns
    -------
    JudgesAudit
        Intervals take prompts as clusters. `leans` are between answers of equal quality; the share
        of longer answers that win is not adjusted for it.

    Raises
    ------
    UnknownLogError, LogRowError, UnreadableFileError
        A file is of no known format, or a record is not what its format says.
    NoVerdictError, SameLogError
        There is nothing to tell of, or a log was given twice.
    OneAnswererError
        Drift or groups of judges are asked of scores that compare no two answers.

    Examples
    --------
    >>> game = {"question_id": "q1", "model": "m", "judge": "j"}
    >>> games = [{"score": "A>B"}, {"score": "A>>B"}]
    >>> other = {"question_id": "q2", "games": [{"score": "B>A"}, {"score": "A>B"}]}
    >>> audit = audit_judges([game | {"games": games}, game | other])
    >>> audit.judges[0].twins.first_both, audit.judges[0].twins.consistent.rate
    (1, 0.5)
    """
    options = JudgesOptions(**choices)
    if (judges is None) != (options.by is None):
        words = "a column of {}" if options.by is None else "it together with {}"
        raise OptionError("by", options.by, [(words, Option("judges"))])
    log, readings = _read(logs, options)
    scores = summarise_scores(log.scores, options.level)
    if not len(log) and not (options.drift or options.by):
        return JudgesAudit(
            readings=readings,
            judges=(),
            scores=scores,
            omitted=log.omitted,
            notes=(
                *notes_on(log, corrected=False),
                *note_unused(log, options.judge, options.baseline),
            ),
            level=options.level,
            margin=options.margin,
            provenance=_provenance(log, options),
        )
    _check_compared(log)
    parts = _parts_of_judges(log)
    summaries = _correct([_summarise(part, name, options) for name, part in parts.items()])
    groups = read_judges(judges, options.by) if options.by else {}
    alpha, corrected = 1 - options.level, correct_by_people(log, options.level)
    makers = Makers(options.makers)
    told = _find_leans(log, options)
    board = rank_answerers(log, options.level, told.quality, told.lifts)
    return JudgesAudit(
        readings=readings,
        judges=summaries,
        scores=scores,
        agreements=compare_judges(log, options.level),
        panel=panel_alpha(log, ties=True, level=options.level),
        panel_decided=panel_alpha(log, ties=False, level=options.level),
        by_group=compare_by_group(log, makers, options.level, options.margin / 100),
        known=count_known(log, makers),
        own_makers=compare_own_makers(log, makers, options.level),
        missing_tests=tuple(
            test for name, part in parts.items() for test in find_failing_groups(part, name, alpha)
        ),
        corrected=corrected,
        leans=told.leans(options.level, options.margin / 100),
        sharpness=told.sharpness,
        drift=compare_runs(log, options.drift, options.level) if options.drift else None,
        judge_groups=_compare_groups(log, groups, options),
        leaderboard=board.standings,
        examples=tuple(_examples(parts)) if options.show_text else (),
        omitted=log.omitted,
        notes=(
            *notes_on(log, corrected=bool(corrected)),
            *note_unused(log, options.judge, options.baseline),
            *note_ungrouped(log, groups, options.by),
            *told.notes,
            *board.notes,
        ),
        level=options.level,
        margin=options.margin,
        provenance=_provenance(log, options),
    )


def _check_compared(log: JudgeLog) -> None:
    """Raise an error where scores of single answers are all there is, and compare nothing."""
    if not len(log):
        raise OneAnswererError({one.answerer for one in log.scores}, len(log.scores))


def _provenance(log: JudgeLog, options: JudgesOptions) -> dict[str, Any]:
    paths = [Path(one) for one in log.sources]
    files = [{"name": one.name, "sha256": file_sha256(one)} for one in paths if one.is_file()]
    data = {"judgments": len(log), "prompts": len(log.prompts)}
    if not len(log):
        data = {"scores": len(log.scores), "prompts": len({one.prompt for one in log.scores})}
    return {
        "comparity": __version__,
        "options": asdict(options),
        "data": data | ({"files": files} if files else {}),
    }


def audit_files(*logs: Any, **choices: Any) -> Audit:
    """Judge the leans of judges in logs by a margin; `choices` are those of :class:`LeansForm`."""
    options = LeansForm(**choices)
    log, _ = _read(logs[0] if len(logs) == 1 else logs, options)
    _check_compared(log)
    told = _find_leans(log, options)
    tests = [one.test for one in told.estimates if one.kind in options.kinds]
    tests += _tests_of_untold(told, log, options.kinds)
    margin = options.margin / 100
    n, prompts = len(log), len(log.prompts)
    judged = judge(tests, alpha=options.alpha, margin=margin, n=n, n_items=prompts)
    finding = overall_finding(judged)
    return Audit(
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        tests=judged,
        n=n,
        n_items=prompts,
        alpha=options.alpha,
        margin=margin,
        rule="holm",
        provenance=_provenance(log, options),
        notion="leans of judges",
        rates=(),
        groups=tuple(dict.fromkeys(one.judge for one in told.estimates)),
        design="prompts as clusters",
        n_clusters={"prompt": prompts},
        notes=(
            "Gaps are wins of 100 pairs of equally good answers, minus 50; the margin is "
            f"{options.margin:g}.",
            *(f"{one} has no lean, by assumption." for one in _anchors(told)),
            *omissions_of(log),
            *told.notes,
            *_untold_kinds(told),
        ),
    )


def audit_frames(*logs: Any, **choices: Any) -> Audit:
    """Judge the leans of judges in frames of any engine, whose rows are those of one format."""
    rows = (frame.lazy().collect().iter_rows(named=True) for frame in map(of_engine, logs))
    return audit_files([*chain.from_iterable(rows)], **choices)


def _anchors(told: LeanFindings) -> Iterator[str]:
    """Yield who has no lean, by assumption."""
    for name in dict.fromkeys(one.against for one in told.estimates if one.against):
        yield name.capitalize() if name in (PEOPLE, TRUTH) else clip(name)


def _untold_kinds(told: LeanFindings) -> Iterator[str]:
    """Yield which kinds of leans nothing is known of."""
    unknown = [kind for kind in LEAN_KINDS if kind not in {one.kind for one in told.estimates}]
    if unknown:
        yield f"These logs tell no leans of the kind {' or '.join(unknown)}."


def _tests_of_untold(told: LeanFindings, log: JudgeLog, kinds: Sequence[str]) -> Iterator[GapTest]:
    """Yield a test that decides nothing for each lean that counts and is not told.

    A gate must not pass because a log tells nothing of a kind that it lists; where it lists none,
    of one judge what is told of another.
    """
    known = {(one.judge, one.kind) for one in told.estimates}
    of_some = {kind for _, kind in known}
    anchors = {one.against for one in told.estimates}
    is_listed = {*kinds} != {*LEAN_KINDS}
    asked = kinds if is_listed else [kind for kind in OF_ALL if kind in of_some]
    for who, kind in product(log.judges, asked):
        # An own maker, other makers and refusals do not concern every judge.
        is_told = (who, kind) in known or (kind not in OF_ALL and kind in of_some)
        is_relative = kind != "seat" or not is_listed
        if not is_told and who not in log.people and not (who in anchors and is_relative):
            null = f"lean of {who} of the kind {kind} = 0"
            yield untested_gap(null, (0, 0), "the log does not tell this lean.")


def _find_leans(log: JudgeLog, options: JudgesOptions) -> LeanFindings:
    return find_leans(log, options.level, families=options.makers, trusted=options.trusted or "")


def _read(logs: Any, options: JudgesOptions) -> tuple[JudgeLog, tuple[Reading, ...]]:
    """Read logs as the options say; who has no name is called so."""
    log, readings = read_logs(
        logs,
        form=_form(options),
        judge=options.judge or "",
        people=options.people,
        keep_texts=options.show_text,
        columns=options.columns,
        coding=options.codes,
        drop_missing=options.drop_missing,
        **({"baseline": options.baseline} if options.baseline else {}),
    )
    judges, people = (tuple(one or NO_NAME for one in who) for who in (log.judges, log.people))
    _check_people(options.people, {*judges, *(one.judge for one in log.scores)})
    scores = tuple(one._replace(judge=one.judge or NO_NAME) for one in log.scores)
    return replace(log, judges=judges, people=people, scores=scores), readings


def _check_people(patterns: Sequence[str], judges: Collection[str]) -> None:
    """Refuse a pattern of people that names no judge."""
    for one in patterns:
        if not any(fnmatchcase(judge, one) for judge in judges):
            raise OptionError("people", one, [", ".join(map(repr, sorted(judges)[:MOST_LISTED]))])


def _form(options: JudgesOptions) -> str:
    """Return the format that was asked for; columns by name are those of a table."""
    if options.format != AUTO:
        return options.format
    return "table" if options.result is not None else ""


def _parts_of_judges(log: JudgeLog) -> dict[str, JudgeLog]:
    """Return the judgments of every judge; several people are told of together."""
    is_person = np.isin(log.judges, log.people)
    pooled = len(log.people) > 1
    found = {
        name: log.take(log.judge == code)
        for code, name in enumerate(log.judges)
        if not (pooled and is_person[code])
    }
    if pooled:
        found[POOLED] = log.take(is_person[log.judge])
    return found


def _summarise(log: JudgeLog, name: str, options: JudgesOptions) -> JudgeSummary:
    level, rows = options.level, np.ones(len(log), dtype=bool)
    first, unknown = first_seat(log, rows, level)
    repeats, orders = count_repeats(log, rows), count_orders(log, rows)
    gap, interval = gap_between(orders, repeats, level)
    reasons = {
        reason: int(np.sum(rows & (log.reason == code))) for code, reason in enumerate(REASONS)
    }
    persons = len(log.people) if name not in log.judges else int(name in log.people)
    return JudgeSummary(
        name=name,
        persons=persons,
        judgments=int(rows.sum()),
        prompts=len(np.unique(log.prompt[rows])),
        missing={reason: n for reason, n in reasons.items() if n},
        missing_rate=missing(log, rows, level),
        ties=ties(log, rows, level),
        first=first,
        first_unknown=unknown,
        longer=longer_answer(log, rows, level),
        twins=compare_orders(log, rows, level),
        seat_p_adjusted=math.nan,
        repeats=rate_of(*repeats, level) if repeats[1].any() else None,
        swap_gap=gap,
        swap_gap_interval=interval if repeats[1].any() else NOWHERE,
    )


def _correct(summaries: list[JudgeSummary]) -> tuple[JudgeSummary, ...]:
    """Correct the tests of seats for the number of judges."""
    raw = [one.twins.p_value if one.twins else math.nan for one in summaries]
    adjusted = holm(raw, 0.05).adjusted
    return tuple(
        replace(one, seat_p_adjusted=float(p)) for one, p in zip(summaries, adjusted, strict=True)
    )


def _compare_groups(
    log: JudgeLog, groups: Mapping[str, str], options: JudgesOptions
) -> tuple[JudgeGroupGap, ...]:
    if options.by is None:
        return ()
    return compare_groups_of_judges(log, groups, options.by, options.level)


def _examples(parts: Mapping[str, JudgeLog]) -> Iterator[Example]:
    """Yield the first pairs of each judge with two verdicts, and the first without one."""
    for name, log in parts.items():
        one, two = find_twins(log, np.ones(len(log), dtype=bool))
        valid = (log.verdict[one] != NO_VERDICT) & (log.verdict[two] != NO_VERDICT)
        other = one[valid & (log.verdict[one] != -log.verdict[two])]
        absent = np.flatnonzero(log.verdict == NO_VERDICT)
        for why, places in (("another verdict in the other order", other), ("no verdict", absent)):
            for place in places[:MOST_EXAMPLES].tolist():
                prompt = log.prompts[log.prompt[place]]
                first, second = int(log.first_item[place]), int(log.second_item[place])
                yield Example(
                    judge=name,
                    why=why,
                    prompt=prompt,
                    question=_begin(log.questions.get(prompt, "")),
                    first=_begin(log.answer_texts.get(first, "")),
                    second=_begin(log.answer_texts.get(second, "")),
                )


def _begin(text: str) -> str:
    """Return the beginning of a text, on one line."""
    words = " ".join(text[: 2 * LETTERS].split())
    return f"{words[:LETTERS]}…" if len(words) > LETTERS or len(text) > 2 * LETTERS else words
