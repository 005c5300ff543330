"""One test, all engines: the ``frame`` fixture builds the same table on each of them."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

# Tests run side by side, one to a core: more threads of linear algebra would wait for each other,
# and burn seven times the processor on a busy machine. Set before any library reads it.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# The first call of a compiled kernel takes a second, so examples have no deadline. Who changed
# nothing sees no test change: `make test` tries the same examples every time, `make check` fewer of
# them (--hypothesis-profile=quick), and `make test-all` looks for new ones and more of them
# (--hypothesis-profile=explore). A mutant that fails an example is noticed: no need to find the
# smallest (--hypothesis-profile=mutants).
settings.register_profile("comparity", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("explore", deadline=None)
settings.register_profile(
    "mutants",
    settings.get_profile("comparity"),
    max_examples=50,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("comparity")


# Places whose tests take long: they run commands as processes, simulate, or draw many examples.
LONG = (
    *("browser", "calibration", "documentation", "examples", "fuzz", "reproductions"),
    *("cli/test_demo.py", "cli/test_faults.py", "cli/test_files.py", "cli/test_hostile.py"),
    *("cli/test_row_order.py", "cli/test_threads.py", "cli/test_train.py"),
    *("cli/test_written_files.py", "contracts/test_distributions.py", "contracts/test_pictures.py"),
    *("counts/kernels/test_compilation.py", "datasets/test_simulated.py", "judges/test_leans.py"),
    *("pairwise/test_on_engine.py", "ranking/test_awkward_panels.py", "ranking/test_factor_bt.py"),
    *("relative/test_bridges.py", "relative/test_rehearsal.py", "relative/test_subject_overlap.py"),
    *("reports/test_pages.py", "tables/test_odd_tables.py", "tables/test_spark.py"),
    *("training/test_batches.py", "training/test_boosted.py", "training/test_kinds.py"),
    *("training/test_meta_fair.py", "training/test_model_files.py"),
    *("training/test_model_mutants.py", "training/test_networks.py"),
    *("training/test_regressors.py", "training/test_torch_game.py", "validity"),
)


PLACES = [Path(__file__).parent / name for name in LONG]
# Pages run what they show.
PAGES = [Path(__file__).parents[1] / name for name in ("docs", "README.md")]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import nothing of what ``make check`` leaves out: it takes as long as many tests."""
    return True if "not long" in config.option.markexpr and collection_path in PLACES else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``make check`` leaves out."""
    places = {str(place) for place in PLACES + PAGES}
    long = {
        path: not places.isdisjoint(map(str, [path, *path.parents]))
        for path in {item.path for item in items}
    }
    for item in items:
        if long[item.path]:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """Leave what is imported and collected out of every later search for garbage."""
    gc.collect()
    gc.freeze()


Build = Callable[[Mapping[str, Sequence[Any]]], Any]


def _pandas(columns: Mapping[str, Sequence[Any]]) -> Any:
    import pandas

    return pandas.DataFrame(dict(columns))


def _pandas_arrow(columns: Mapping[str, Sequence[Any]]) -> Any:
    import pandas

    return _pyarrow(columns).to_pandas(types_mapper=pandas.ArrowDtype)


def _polars(columns: Mapping[str, Sequence[Any]]) -> Any:
    import polars

    return polars.DataFrame(dict(columns))


def _polars_lazy(columns: Mapping[str, Sequence[Any]]) -> Any:
    return _polars(columns).lazy()


def _pyarrow(columns: Mapping[str, Sequence[Any]]) -> Any:
    import pyarrow

    return pyarrow.table(dict(columns))


def _duckdb(columns: Mapping[str, Sequence[Any]]) -> Any:
    from comparity.tables.frames import connection

    return connection().from_arrow(_pyarrow(columns))


ENGINES: dict[str, Build] = {
    "pandas": _pandas,
    "pandas-pyarrow": _pandas_arrow,
    "polars": _polars,
    "polars-lazy": _polars_lazy,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
}


# What `make check` tries; `make test` and `make test-oldest` try all.
QUICK_ENGINES = ("pandas", "polars")
ALL_ENGINES = [
    pytest.param(name, marks=[] if name in QUICK_ENGINES else [pytest.mark.engines])
    for name in ENGINES
]


@pytest.fixture(params=ALL_ENGINES, scope="session")
def frame(request: pytest.FixtureRequest) -> Build:
    """Return a function that builds a native frame of one engine from columns."""
    return ENGINES[request.param]


def pytest_unconfigure() -> None:
    """Empty narwhals' caches: DuckDB would list what they hold when the process ends."""
    gc.unfreeze()
    for one in gc.get_objects():
        # Some objects of torch warn when they are asked for their class.
        is_cache = type(one) is functools._lru_cache_wrapper
        if is_cache and str(one.__module__).startswith("narwhals"):
            one.cache_clear()
