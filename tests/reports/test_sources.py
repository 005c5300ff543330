"""A page cites what its numbers rest on."""

from comparity.reports.page import (
    EQUIVALENCE,
    FALSE_DISCOVERIES,
    HOLM,
    MAX_T,
    PAIRWISE,
    RANKING,
    sources_of,
)


def test_training_rests_on_what_its_audit_rests_on() -> None:
    audit = {"rule": "holm", "tests": [{"method": "all-pairs score z"}]}
    cited = sources_of({"training": {}, "after": audit})
    assert cited == (PAIRWISE, HOLM, EQUIVALENCE, "Tests: all-pairs score z.")
    assert HOLM not in sources_of({"training": {}, "after": None})


def test_the_correction_that_was_used_is_cited() -> None:
    for correction, source, other in (("max-T", MAX_T, HOLM), ("Holm", HOLM, MAX_T)):
        cited = sources_of({"rule": "holm", "correction": correction})
        assert source in cited
        assert other not in cited


def test_who_leans_rests_on_false_discovery_rates() -> None:
    assert {RANKING, FALSE_DISCOVERIES} <= set(sources_of({"biases": []}))
