from tests.oldest import PYPROJECT, oldest_versions


def test_each_lower_bound_becomes_that_version_exactly() -> None:
    text = """
[project]
dependencies = ["numpy>=1.26", "click"]
optional-dependencies.spark = ["pyspark>=4"]
optional-dependencies.test = ["pyspark>=4", "pytest"]
"""
    assert oldest_versions(text) == ["numpy==1.26", "pyspark==4"]


def test_no_package_has_two_lower_bounds() -> None:
    found = [one.partition("==")[0] for one in oldest_versions(PYPROJECT.read_text("utf-8"))]
    assert len(found) == len(set(found))
    assert {"numpy", "duckdb", "torch", "pandas"} <= set(found)
