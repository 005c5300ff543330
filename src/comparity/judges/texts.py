"""What is kept of texts: measures of answers, and whether answers belong to their prompts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

FEATURES = ("characters", "words", "headers", "list items", "bold", "code blocks", "refusal")
HEADER = re.compile(r"^#{1,6} ", re.MULTILINE)
LISTED = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)]) ", re.MULTILINE)
BOLD = re.compile(r"\*\*[^*\n]+\*\*")
REFUSAL = re.compile(
    r"(?:i.?m |i am )?(?:very )?sorry|i (?:cannot|can.t|am unable|will not)|as an ai\b", re.I
)
# How far into an answer a refusal is looked for.
OPENING = 80


def measure(text: str) -> tuple[float, ...]:
    r"""Return the features of a text.

    Examples
    --------
    >>> dict(zip(FEATURES, measure("# Why\n\n- **one**\n- two"), strict=True))["list items"]
    2.0
    """
    return (
        float(len(text)),
        float(len(text.split())),
        float(len(HEADER.findall(text))),
        float(len(LISTED.findall(text))),
        float(len(BOLD.findall(text))),
        float(text.count("```") // 2),
        float(bool(REFUSAL.match(text[:OPENING].strip()))),
    )


WORD = re.compile(r"[^\W\d_]{5,}")
# Fewer answers than this tell nothing; answers that belong to their prompts share words with them
# far more often than with the prompt before.
FEWEST_ANSWERS = 20


class Echoes:
    """Whether answers share more words with their own prompt than with the prompt before it."""

    def __init__(self) -> None:
        self.own: defaultdict[str, float] = defaultdict(float)
        self.other: defaultdict[str, float] = defaultdict(float)
        self.squares: defaultdict[str, float] = defaultdict(float)
        self.n: Counter[str] = Counter()
        self.seen: set[tuple[str, str]] = set()
        self.words: tuple[str, frozenset[str]] = ("", frozenset())
        self.before: frozenset[str] = frozenset()

    def add(self, prompt: str, answerer: str, question: str, answer: str) -> None:
        """Count the words of two prompts in an answer, once for each answer."""
        if prompt != self.words[0]:
            self.before = self.words[1]
            self.words = prompt, frozenset(WORD.findall(question.lower()))
        key = (prompt, answerer)
        if key in self.seen or not self.before or not self.words[1]:
            return
        self.seen.add(key)
        said = {*WORD.findall(answer.lower())}
        own, other = (len(words & said) / len(words) for words in (self.words[1], self.before))
        self.own[answerer] += own
        self.other[answerer] += other
        self.squares[answerer] += (own - other) ** 2
        self.n[answerer] += 1

    def mismatched(self) -> tuple[str, ...]:
        """Return answerers whose answers tell nothing of their prompts, where others' do."""
        leads = {}
        for answerer, n in self.n.items():
            if n >= FEWEST_ANSWERS:
                lead = (self.own[answerer] - self.other[answerer]) / n
                error = math.sqrt(max(self.squares[answerer] / n - lead**2, 0.0) / n)
                leads[answerer] = lead, error
        clear = [lead for lead, error in leads.values() if lead > 4 * error]
        best = max(clear, default=0.0)
        return tuple(
            one for one, (lead, error) in leads.items() if best and lead + 2 * error < best / 4
        )
