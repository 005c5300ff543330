"""Mutants that may survive are about lines that are still there."""

from __future__ import annotations

from tests.mutation.__main__ import excuses
from tests.mutation.mutants import PACKAGE, mutants_of
from tests.mutation.witnesses import FOLDERS


def test_every_excused_mutant_can_be_made() -> None:
    possible = {
        (mutant.text, mutant.what)
        for folder in FOLDERS
        for path in (PACKAGE / folder).rglob("*.py")
        for mutant in mutants_of(path.relative_to(PACKAGE))
    }
    assert possible
    assert sorted(set(excuses()) - possible) == []
