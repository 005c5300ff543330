"""Write the table of models in ``docs/ranking.md``: ``python docs/ranking.py``.

It is made from the descriptions of the models; the rest of the page is written by hand. A test
fails when the table is not what the models say.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from comparity.ranking.options import RankingModel, all_models

PAGE = Path(__file__).with_suffix(".md")

START, END = "<!-- models: docs/ranking.py -->\n", "<!-- end of models -->"


def page() -> str:
    """Return the whole page, with its table written again."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return before + START + "\n".join(_table()) + "\n" + END + after


def _table() -> Iterator[str]:
    yield "| function | `--model` | how it ranks | needs | accepts | source |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for command, model in all_models().items():
        yield _row(command, model)


def _row(command: str, model: RankingModel) -> str:
    needs, accepts = (
        ", ".join(one.replace("_", " ") for one in words) or "nothing"
        for words in (model.needs, model.accepts)
    )
    function = f"`{model.fit.__name__}`"
    return f"| {function} | `{command}` | {model.about} | {needs} | {accepts} | {model.source} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
