"""Every result can be looked at, or says here why not."""

import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from inspect import isabstract, signature
from typing import Any

import pytest

import comparity
from comparity.results.result import HOMES, Result, _classes

NO_PICTURE = {
    "Bundle": "a list of files and hashes",
    "ChosenPairs": "a list of pairs to judge",
    "Report": "points with what is known of each; results on its page have pictures",
    "GateResult": "a list of audits, each with a picture of its own",
    "Installation": "a list of versions",
    "RankingPolicy": "rankings with their probabilities, which its page lists",
    "Reproduction": "published numbers beside ours; figures are drawn from their own data",
    "StudyExport": "a list of files and hashes",
    "StudyStatus": "counts of judges and judgments; audits of the export have pictures",
    "TaskPlan": "numbers of judges and minutes",
    "Story": "the steps of the demo, whose page has their pictures",
    "Weighing": "an account of weights that are in a file",
}
"""Results without a picture, and why."""


def results() -> Iterator[type[Any]]:
    """Yield every class of result there is, wherever it is defined."""
    for module in pkgutil.walk_packages(comparity.__path__, "comparity."):
        if not module.ispkg and not module.name.endswith("__main__"):
            import_module(module.name)
    waiting = [Result]
    while waiting:
        waiting += (found := waiting.pop()).__subclasses__()
        if is_dataclass(found):
            yield found


@pytest.fixture(scope="module")
def known() -> dict[str, type[Any]]:
    # A dataclass with slots leaves the class it was made from behind, under the same name.
    return {one.__name__: one for one in results()}


def test_every_kind_of_result_can_be_read_back(known: dict[str, type[Any]]) -> None:
    assert {one.__module__ for one in known.values()} == set(HOMES)


def test_a_result_draws_itself_on_axes_of_its_own_or_given_ones(
    known: dict[str, type[Any]],
) -> None:
    for name in known.keys() - NO_PICTURE:
        parameters = signature(known[name].plot).parameters
        assert list(parameters)[:2] == ["self", "ax"], name
        assert parameters["ax"].default is None, name


def test_only_what_is_known_to_have_no_picture_has_none(known: dict[str, type[Any]]) -> None:
    assert {name for name, one in known.items() if not hasattr(one, "plot")} == set(NO_PICTURE)


def test_every_result_has_a_frame_and_abstract_ones_are_no_kind(
    known: dict[str, type[Any]],
) -> None:
    for name, one in known.items():
        assert list(signature(one.to_frame).parameters)[:2] == ["self", "backend"], name
    whole = {one.KIND for one in known.values() if not isabstract(one)}
    assert {one.KIND for one in _classes()} == whole
