"""A page cites what its numbers rest on."""

from comparity.reports.page import sources_of

PAIRWISE, HOLM, MAX_T = "Narasimhan, Cotter, Gupta, Wang", "Holm: A simple", "Hothorn, Bretz"


def test_training_rests_on_what_its_audit_rests_on() -> None:
    audit = {"rule": "holm", "tests": [{"method": "all-pairs score z"}]}
    cited = sources_of({"training": {}, "after": audit})
    for source, name in zip(cited, (PAIRWISE, HOLM, "Schuirmann"), strict=False):
        assert name in source
    assert cited[3:] == ("Tests: all-pairs score z.",)
    assert HOLM not in str(sources_of({"training": {}, "after": None}))


def test_the_correction_that_was_used_is_cited() -> None:
    for correction, source, other in (("max-T", MAX_T, HOLM), ("Holm", HOLM, MAX_T)):
        cited = str(sources_of({"rule": "holm", "correction": correction}))
        assert source in cited
        assert other not in cited


def test_who_leans_rests_on_false_discovery_rates() -> None:
    cited = str(sources_of({"biases": []}))
    assert "Ferrara, Bonchi" in cited
    assert "Benjamini, Hochberg" in cited
