"""What a page says about itself: title, date, who ran it, the overall verdict, and the data.

A page has the date of the day on which it was made. Where the same call is to write the same bytes
on another day, ``SOURCE_DATE_EPOCH`` (seconds since 1970, as in reproducible builds) says
which day that is, ``--date`` names one, and ``--date none`` leaves it out. Bundles, which promise
the same bytes, have a date only where one is named.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from comparity.errors import FileAccessError, OptionError
from comparity.reports.sections import clip, count, several
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN, Result

TODAY, NO_DATE = "today", "none"
LOGOS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".svg": "svg+xml"}
LARGEST_LOGO = 2**20
NOT_STATED = "not stated"
# Digits of a hash that are shown; all are in the JSON and in the details of the page.
HASH_DIGITS = 12
# Of more files than this the first are named; the provenance lists all.
MOST_FILES = 6

# What a column is for, by its key in the provenance.
COLUMNS = {
    "label": "label",
    "prediction": "prediction",
    "score": "score",
    "outcome": "outcome",
    "pair": "items of a pair",
    "raters": "raters",
    "evaluator": "evaluator",
    "query": "query",
    "sensitive": "groups by",
    "positive": "counts as yes",
}

MAKERS = {"first": "first decision maker", "second": "second decision maker"}
"""The same where columns are decisions and not items."""

# What was asked, by a word in the notion or the kind of a result; the first that fits.
ASKED = {
    "comparative": "Does the model agree with the judges equally often in every kind of pair?",
    "ranked panel": "Which evaluators favour a group, and what is the bias-adjusted order?",
    "biased ranking": "Which evaluators favour a group, and what is the bias-adjusted order?",
    "panel": "Does the model agree with the panel equally often in every kind of pair?",
    "statistical parity": "Are items of two groups put first equally often?",
    "pairwise": "Does the score order pairs equally well, whatever the groups of the two items?",
    "differential": "Does one decision maker favour a group, compared with the other?",
    "separation": "Are true and false positive rates equal in all groups?",
    "impact ratios": "How large is the selection rate of each group, relative to the largest one?",
    "judges audit": "What do the judges get wrong, and how often do they agree?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What stands above the results of a page.

    Attributes
    ----------
    title : str
        What the page is called; by default its headline, or what the command calls it.
    author : str
        Who ran the audit.
    date : str
        When, as year, month and day.
    logo : str
        A picture as a ``data:`` address.
    """

    title: str = ""
    author: str = ""
    date: str = ""
    logo: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """Who ran it and when, also where nobody said so."""
        told = {"Date": self.date, "Run by": self.author}
        return {name: clip(text) if text else NOT_STATED for name, text in told.items()}


def read_date(text: str) -> str:
    """Return a date as year, month and day; ``today`` is the day of ``SOURCE_DATE_EPOCH`` or now.

    ``none`` is no date.

    Examples
    --------
    >>> read_date("2026-11-17")
    '2026-11-17'
    """
    if text == NO_DATE:
        return ""
    if text == TODAY:
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        now = datetime.now(UTC)
        # Seconds of a year beyond 9999 are no date.
        told = epoch.isdecimal() and len(epoch) <= 11
        moment = datetime.fromtimestamp(int(epoch), UTC) if told else now
        return moment.date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        allowed = [repr(TODAY), repr(NO_DATE), "a date such as '2026-11-17'"]
        raise OptionError("date", text, allowed) from error


def read_logo(path: Path) -> str:
    """Return a picture as a ``data:`` address, so that the page stays one file."""
    kind = LOGOS.get(path.suffix.lower())
    if kind is None:
        raise OptionError("logo", str(path), [f"a file that ends in {', '.join(LOGOS)}"])
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    if len(content) > LARGEST_LOGO:
        why = f"it has {len(content):,} bytes"
        raise OptionError("logo", str(path), [f"a file of at most {LARGEST_LOGO:,} bytes"], why)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def overall_verdict(results: Iterable[Result]) -> str:
    """Say what several audits found in all; nothing of one alone, whose headline does."""
    found = [getattr(result, "finding", None) for result in results]
    counts = {word: found.count(word) for word in (VIOLATED, UNDECIDED, WITHIN)}
    made = sum(counts.values())
    if made < 2:
        return ""
    told = [f"{count(n)} {word}" for word, n in counts.items() if n]
    return f"{several(made, 'audit')}: {', '.join(told)}."


def data_facts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what a result was made from, by name: files, columns, rows, groups, version."""
    provenance = mapping_of(content.get("provenance"))
    data = mapping_of(provenance.get("data")) or provenance
    columns = {**data, **mapping_of(data.get("columns"))}
    facts = {"question": _question_of(content.get("notion") or content.get("kind"))}
    files = [*_files(data.get("files"))]
    more = len(files) - MOST_FILES
    told = [*files[:MOST_FILES], *([f"{count(more)} more, listed below"] if more > 0 else [])]
    facts["files"] = "; ".join(told)
    words = {**COLUMNS, **(MAKERS if "differential" in str(content.get("notion")) else {})}
    if "first" not in words:
        columns["pair"] = [columns[key] for key in ("first", "second") if key in columns]
    facts |= {said: _join_names(columns.get(key)) for key, said in words.items()}
    facts["a score counts as yes"] = said_threshold(columns)
    facts["rows"] = _rows(content) or _rows_of_logs(data)
    facts["groups"] = "; ".join(_groups(content))
    version = provenance.get("comparity") or provenance.get("version")
    facts["software"] = clip(f"comparity {version}") if isinstance(version, str) else ""
    return {name: text for name, text in facts.items() if text}


def _question_of(name: Any) -> str:
    found = (asked for word, asked in ASKED.items() if word in str(name))
    return next(found, "")


def said_threshold(data: Mapping[str, Any]) -> str:
    """Return which scores count as yes: ``at least 0.5``, or nothing where decisions were given."""
    threshold = data.get("threshold")
    return f"at least {threshold:g}" if isinstance(threshold, int | float) else ""


def _files(found: Any) -> Iterator[str]:
    for one in found if isinstance(found, list | tuple) else ():
        known = mapping_of(one)
        name, digest = known.get("name"), known.get("sha256")
        if isinstance(name, str) and isinstance(digest, str):
            yield f"{clip(name)} (sha256 {clip(digest[:HASH_DIGITS])}…)"


def _join_names(found: Any) -> str:
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        return ""
    return clip(", ".join(names))


def _rows(content: Mapping[str, Any]) -> str:
    """Return how much data there was, each kind with its number."""
    unit = content.get("unit")
    kinds = {
        "n": unit if isinstance(unit, str) else "rows",
        "n_comparisons": "comparisons",
        "n_items": "items",
        "n_evaluators": "evaluators",
    }
    known = {words: content.get(key) for key, words in kinds.items()}
    # Decisions are rows of their own.
    if known.get("items") == content.get("n") and unit == "decisions":
        del known["items"]
    return ", ".join(
        f"{count(n)} {words}" for words, n in known.items() if isinstance(n, int) and n > 0
    )


def _rows_of_logs(data: Mapping[str, Any]) -> str:
    """Return how much judges' logs hold."""
    known = {name: data.get(f"{name}s") for name in ("judgment", "prompt")}
    return ", ".join(several(n, name) for name, n in known.items() if isinstance(n, int))


def _groups(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the groups, with their sizes where rates by group tell them."""
    groups, sizes = content.get("groups"), _group_sizes(content)
    for group in groups if isinstance(groups, list | tuple) else ():
        if isinstance(group, str):
            yield clip(group) + (f" ({count(sizes[group])})" if sizes.get(group) else "")


def _group_sizes(content: Mapping[str, Any]) -> dict[str, int]:
    """Return how many decisions each group has: those with either label."""
    sizes: dict[str, int] = {}
    rates = content.get("rates")
    for one in rates if isinstance(rates, list | tuple) else ():
        known = mapping_of(one)
        name, group, trials = (known.get(key) for key in ("name", "of", "trials"))
        if name in ("true positive rate", "false positive rate") and isinstance(trials, int):
            sizes[str(group)] = sizes.get(str(group), 0) + trials
    # Of several attributes a rate is of "sex: f", and the group is called "sex=f".
    return {name.replace(": ", "=", 1): n for name, n in sizes.items()} | sizes


def mapping_of(found: Any) -> Mapping[str, Any]:
    """Return a mapping; whatever else a file that was written elsewhere holds is none."""
    return found if isinstance(found, Mapping) else {}
