"""The page of metrics is what the catalogue says, and every metric has a reference test."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from comparity.metrics.catalogue import CATALOGUE, CLUSTERS, EVERY_METRIC, FURTHER

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "metrics.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"]()


def test_every_metric_has_a_reference_value_and_one_cluster() -> None:
    path = ROOT / "tests" / "reference" / "fair_enough.json"
    assert set(json.loads(path.read_text(encoding="utf-8"))["golden"]) == set(CATALOGUE)
    members = [number for cluster in CLUSTERS for number in cluster.members]
    assert sorted(members) == sorted(CATALOGUE)


def test_a_further_metric_has_a_name_of_its_own_and_no_cluster() -> None:
    words = [word for one in EVERY_METRIC.values() for word in (one.id, one.name)]
    assert len(set(words)) == len(words)
    assert not [one.id for one in FURTHER.values() if one.cluster or one.id[0] != "F"]
    assert all(one.measure and one.formula and one.citation for one in FURTHER.values())
