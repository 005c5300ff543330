"""The choices of an audit of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from comparity.errors import Option, OptionError
from comparity.judges.readers import FIRST, SECOND, TIE, known_readers, spell_code
from comparity.results.options import Options, choice, column

AUTO = "auto"
FORMATS = (AUTO, *known_readers())
LEAN_KINDS = ("seat", "length", "style", "refusal", "self", "family")
MEANINGS = {
    **{"left": FIRST, "first": FIRST, "right": SECOND, "second": SECOND},
    **{"tie": TIE, "draw": TIE},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesOptions(Options):
    """How logs of judges are read, and what is told of them."""

    format: str = choice(
        AUTO, "The tool that wrote the logs; by default each is recognised.", words=FORMATS
    )
    judge: str | None = choice(None, "Who judged, where a log does not say.")
    baseline: str | None = choice(None, "arena-hard's baseline model, which its logs do not name.")
    people: tuple[str, ...] = choice(
        (), "Further judges who are people, besides those the log marks; * matches anything."
    )
    trusted: str | None = choice(
        None, "Judge assumed not to lean; by default people, or else the sharpest judge."
    )
    left: str | None = column("Column with the answerer shown first; needs --result.", None)
    right: str | None = column("Column with the answerer shown second; needs --result.", None)
    result: str | None = column("Column that says which of --left and --right won.", None)
    coding: str | None = choice(
        None, "Values of the result column, such as '1=left,-1=right,0=tie'."
    )
    prompt: str | None = column("Column with the prompt; needs --result.", None)
    evaluator: str | None = column("Column with who judged; needs --result.", None)
    category: str | None = column("Column with a category of prompts; needs --result.", None)
    families: tuple[str, ...] = choice(
        (),
        "Makers of models with unknown names, such as 'my-*=Acme'; * matches anything.",
    )
    drift: tuple[str, ...] = choice(
        (), "Two judges or files to compare on the same answers, the earlier one first."
    )
    by: str | None = choice(None, "Attribute of judges whose groups are compared; see --judges.")
    drop_missing: bool = choice(False, "Leave out rows of a table without a result.")
    show_text: bool = choice(False, "Show beginnings of prompts and answers as examples.")
    margin: float = choice(
        5.0,
        "Largest harmless lean, in wins of 100 pairs of equally good answers.",
        above=0,
        below=50,
    )
    level: float = choice(0.95, "Level of the intervals.", above=0, below=1)

    def _check_together(self) -> None:
        """Refuse a result without the two columns it speaks of, and codes without a result."""
        named = [one for one in ("left", "right", "result") if getattr(self, one) is not None]
        if 0 < len(named) < 3:
            given = getattr(self, named[0])
            raise OptionError(
                named[0],
                given,
                [("{}, {} and {} together", Option("left"), Option("right"), Option("result"))],
            )
        if len(self.drift) not in (0, 2):
            raise OptionError("drift", ",".join(self.drift), ["two judges or files: old,new"])
        for option in ("prompt", "evaluator", "category", "coding"):
            if getattr(self, option) is not None and not named:
                words = ("it beside {}, {} and {}", Option("left"), Option("right"))
                raise OptionError(option, getattr(self, option), [(*words, Option("result"))])
        self.codes  # noqa: B018
        self.makers  # noqa: B018

    @property
    def codes(self) -> Mapping[str, int] | None:
        """Verdicts by what the result column writes."""
        if self.coding is None:
            return None
        found: dict[str, int] = {}
        for part in self.coding.split(","):
            written, _, words = part.rpartition("=")
            code, meaning = spell_code(written), MEANINGS.get(words.strip())
            if not code or meaning is None:
                allowed = "codes and meanings such as '1=left,-1=right,0=tie'"
                raise OptionError("coding", self.coding, [allowed])
            if found.setdefault(code, meaning) != meaning:
                raise OptionError("coding", self.coding, [f"one meaning for {code!r}"])
        return found

    @property
    def makers(self) -> Mapping[str, str]:
        """Makers of models by a pattern of their names."""
        found = {}
        for one in self.families:
            pattern, _, name = one.rpartition("=")
            if not pattern.strip() or not name.strip():
                raise OptionError("families", one, ["names and makers such as 'my-*=Acme'"])
            found[pattern.strip()] = name.strip()
        return found

    @property
    def columns(self) -> Mapping[str, str]:
        """Columns that were named, by what they hold."""
        roles = {
            **{"left": self.left, "right": self.right, "result": self.result},
            **{"prompt": self.prompt, "judge": self.evaluator, "category": self.category},
        }
        return {role: name for role, name in roles.items() if name is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeansForm(JudgesOptions):
    """The same where the leans of judges are judged by a margin, as a gate does."""

    kinds: tuple[Literal["seat", "length", "style", "refusal", "self", "family"], ...] = choice(
        LEAN_KINDS, "Kinds of leans that count; by default all that the log tells."
    )
    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=1)
