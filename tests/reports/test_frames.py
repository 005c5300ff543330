from dataclasses import replace

import narwhals as nw
import pytest

from comparity.errors import ComparityError, MissingEngineError
from comparity.results import result
from comparity.results.audit import Audit
from comparity.results.result import frame_of_rows

ENGINES = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gets_one_row_for_each_test(audit: Audit, engine: str) -> None:
    frame = nw.from_native(audit.to_frame(engine), eager_only=True)
    assert str(frame.implementation) == engine
    assert frame["null"].to_list() == [test.null for test in audit.tests]
    assert frame["gap"].to_list() == [-0.11, 0.01]
    assert frame["n_first"].to_list() == [1234, 1234]
    for kind, level in (("test", "level"), ("equivalence", "equivalence_level")):
        ends = [test.interval(getattr(test, level)).low for test in audit.tests]
        assert frame[f"{kind}_low"].to_list() == ends


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_that_do_not_exist_are_missing_and_still_numbers(audit: Audit, engine: str) -> None:
    tests = tuple(replace(test, gap=float("nan")) for test in audit.tests)
    frame = nw.from_native(replace(audit, tests=tests).to_frame(engine), eager_only=True)
    assert frame["gap"].dtype == nw.Float64
    assert frame["gap"].is_null().all()


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_give_an_empty_frame(engine: str) -> None:
    assert nw.from_native(frame_of_rows([], engine), eager_only=True).shape[0] == 0


def test_the_first_installed_engine_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "find_spec", lambda name: None if name == "pandas" else name)
    frame = nw.from_native(frame_of_rows([{"a": 1}]), eager_only=True)
    assert str(frame.implementation) == "polars"


def test_without_any_engine_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(result, "find_spec", lambda name: None)
    with pytest.raises(MissingEngineError, match="install one of them"):
        frame_of_rows([{"a": 1}])


def test_an_unknown_engine_is_an_error_of_ours() -> None:
    with pytest.raises(ComparityError, match="'excel'"):
        frame_of_rows([{"a": 1}], "excel")
