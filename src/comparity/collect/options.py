"""The choices of a study that collects judgments, and of its export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from comparity.errors import OptionError
from comparity.pairs.options import GROUP_GOALS, DrawOptions
from comparity.results.options import Options, choice, column


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions(DrawOptions):
    """What is asked, of whom, and how; keys of a study file and options of a command alike."""

    question: str = choice("", "Question about each pair.")
    task: Literal["compare", "rate", "both"] = choice(
        "compare",
        "What judges do: compare pairs, rate items one by one, or one of both at random.",
    )
    rating_question: str = choice("", "Question about each item that is rated.")
    scale: int = choice(7, "Points of the scale of ratings.", least=2, most=9)
    low_label: str = choice("", "What the lowest rating means.")
    high_label: str = choice("", "What the highest rating means.")
    show: tuple[str, ...] = column(
        "Columns of the items that judges see; 'name:kind', kind text, markdown, image or html.",
        (),
    )
    item: str = column("Column of the items with their id.", "item")
    sensitive: tuple[str, ...] = column(
        "Column of the items with the group; several are taken in combination.", ()
    )
    score: str | None = column("Column of the items with the score to be tested.", None)
    heading: str = choice("Which one is better?", "Title of the pages.")
    instructions: str = choice("", "What judges read before they begin, in Markdown.")
    rating_instructions: str = choice(
        "", "What judges who rate read before they begin; the instructions by default."
    )
    consent: str = choice("", "What judges agree to before they begin, in Markdown.")
    judges: int = choice(1, "How many judges are planned.", least=1, most=100_000)
    each: int = choice(50, "Judgments asked of each judge.", least=1, most=10_000)
    each_rated: int = choice(
        0, "Ratings asked of each judge who rates; 0 for as many as comparisons.", least=0
    )
    shared_share: float = choice(
        0.0,
        "Share of pairs that two judges see, to measure how far judges agree.",
        least=0,
        most=0.5,
    )
    waves: int = choice(
        1,
        "Number of portions in which pairs are drawn; later ones use earlier answers.",
        least=1,
        most=1000,
    )
    attention_share: float = choice(
        0.04, "Share of attention pairs, if the study has any.", least=0, most=0.3
    )
    alpha: float = choice(
        0.05, "False-alarm rate of the dashboard, over all looks.", above=0, below=1
    )
    margin: float = choice(0.05, "Largest harmless gap, for the dashboard.", above=0, below=1)
    stop_when: Literal["never", "decided"] = choice(
        "never", "Close the study as soon as the dashboard's verdict is decided, or never."
    )
    no_ties: bool = choice(False, "Do not offer ties.")
    no_skips: bool = choice(False, "Do not offer skipping.")
    break_every: int = choice(0, "Offer a break after this many judgments; 0 for none.", least=0)
    lease_minutes: float = choice(
        30.0,
        "Idle minutes after which a judge's pairs may go to another.",
        above=0,
        most=100_000,
    )
    questionnaire: bool = choice(False, "Ask six questions about the effort at the end.")
    open_link: bool = choice(False, "Let everyone join who has the study's address.")
    completion_code: str = choice("", "Code shown at the end.")
    completion_url: str = choice("", "Address to return to at the end.")
    contact: str = choice("", "Whom judges can ask, shown on every page.")
    retention_days: int = choice(
        365, "Days after which data that identify judges are to be erased.", least=1, most=36_500
    )
    language: str = choice(
        "en", "Language of the pages: en, de, es, zh, or a file of your own words (.toml)."
    )

    def _check_together(self) -> None:
        """Refuse what cannot be asked."""
        if self.task != "compare" and not self.rating_question.strip():
            why = f"task {self.task!r} asks judges to rate items"
            raise OptionError("rating_question", self.rating_question, ["a question"], why)
        if self.task != "rate" and not self.question.strip():
            raise OptionError("question", self.question, ["a question"])
        if not self.show:
            raise OptionError("show", self.show, ["at least one column"])
        if self.goal in GROUP_GOALS and not self.sensitive:
            why = f"goal {self.goal!r} is about groups, and none are given"
            raise OptionError("goal", self.goal, ["groups, by sensitive", "'rank'"], why)
        if self.stop_when == "decided" and (
            self.score is None or not self.sensitive or self.task == "rate"
        ):
            why = "what decides is a test of a score against comparisons"
            raise OptionError("stop_when", self.stop_when, ["'never'", "a score, by score"], why)
        if self.completion_url and not self.completion_url.startswith(("https://", "http://")):
            raise OptionError("completion_url", self.completion_url, ["an address with https://"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Options):
    """What is written of a study, and how."""

    form: Literal["comparisons", "chosen", "arena"] = choice(
        "comparisons",
        "Layout: left, right, winner; chosen, rejected; or model_a, model_b, winner.",
    )
    file_format: Literal["csv", "parquet", "jsonl"] = choice(
        "csv", "Format of the comparisons.", option="format"
    )
    drop_flagged: bool = choice(
        False, "Leave out judges who failed as many attention pairs as they passed."
    )
