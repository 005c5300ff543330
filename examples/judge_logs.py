"""Audit judges from real logs, and put what was published of them beside it.

MT-bench (people and GPT-4), LLMBar (six judges, a known truth), arena-hard (three judges) and a
repetition of MT-bench by four judges are read as their tools wrote them. Each line has what the
authors say, what the log says, and its interval over prompts.

Run as ``COMPARITY_DATA=FOLDER python examples/judge_logs.py``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from comparity import audit_judges
from comparity.judges.rates import PromptRate
from comparity.judges.result import JudgesAudit

Line = tuple[str, str, PromptRate]


def logs(pattern: str) -> list[Path]:
    """Return the files of the data folder that a pattern names."""
    folder = Path(os.environ.get("COMPARITY_DATA", "")) / "judge_logs"
    found = sorted(folder.glob(pattern))
    if not found:
        sys.exit(f"no {pattern} in {folder}: COMPARITY_DATA names the folder with the data")
    return found


def agreement(audit: JudgesAudit, first: str, second: str) -> PromptRate:
    """Return how often two sources agree on pairs that both decided."""
    return next(
        one.raw
        for one in audit.agreements
        if (one.first, one.second, one.ties) == (first, second, False)
    )


def mt_bench() -> list[Line]:
    """Compare GPT-4 and people, as Zheng et al. (2023) do."""
    audit = audit_judges(logs("mtbench_human/*.jsonl"))
    votes = "people's votes"
    return [
        ("GPT-4 agrees with people", "over 80%", agreement(audit, "gpt4_pair", votes)),
        ("people with each other", "about as often", agreement(audit, votes, f"other {votes}")),
    ]


def llmbar() -> list[Line]:
    """Compare six judges with the labels of Zeng et al. (2024), whom experts follow in 94%."""
    audit = audit_judges(logs("llmbar/Natural/*/Vanilla/result.json"))
    return [
        (
            f"{one.name} agrees with the label",
            "experts: 94%" if one.name == "GPT-4" else "",
            agreement(audit, one.name, "the truth in the log"),
        )
        for one in audit.judges
    ]


def repetition() -> list[Line]:
    """Count pairs with another verdict in the other order, beside the table of the repository."""
    published = {
        "Qwen2.5-7B-Instruct": (951, 1200),
        "EXAONE-3.5-32B-Instruct-AWQ": (506, 1200),
        "gpt-4o-mini": (399, 1193),
        "Gemma-4-12B-it": (234, 1180),
    }
    audit = audit_judges(logs("mtbench_repro_en/judgments/*/*/pairwise/*.jsonl"))
    lines = []
    for one in audit.judges:
        changed, valid = published[one.name]
        assert one.consistent is not None
        lines.append((f"{one.name}: orders agree", f"{1 - changed / valid:.1%}", one.consistent))
    return lines


def arena_hard() -> list[Line]:
    """Count how often three judges of arena-hard pick the first answer; nothing was published."""
    audit = audit_judges(logs("arena_hard/[gc]*/*.jsonl"))
    for note in audit.notes:
        print(f"  note: {note}")
    return [
        (f"{one.name}: first answer wins", "", one.first)
        for one in audit.judges
        if one.first is not None
    ]


def main() -> None:
    """Print all lines."""
    for title, lines in (
        ("MT-bench, people and GPT-4", mt_bench),
        ("LLMBar, natural", llmbar),
        ("MT-bench by four judges", repetition),
        ("arena-hard", arena_hard),
    ):
        print(title)
        for what, published, share in lines():
            low, high = share.interval[:2]
            ours = f"{share.rate:.1%} [{low:.1%}, {high:.1%}] of {share.trials:,}"
            print(f"  {what:45}{published:16}{ours}")


if __name__ == "__main__":
    main()
