"""Change the code and see whether a test notices: ``python -m tests.mutation --sample 300``.

A mutant flips one comparison, scales one constant or exchanges one sign in a folder of ``FOLDERS``
(``witnesses.py``). It is tried against its module's examples and the tests that run its line; one
that no test fails for has *survived*. The closest and fastest tests are asked first, and no more
than a few ten seconds of them. The sample is drawn by a seed and by the text of the lines, so that
a score can be checked and most of the sample stays while the code changes. Survivors that are right
to survive stand in ``excused.toml`` with the reason.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

from tests.mutation.mutants import PACKAGE, Mutant, mutants_of
from tests.mutation.trials import try_all
from tests.mutation.witnesses import FOLDERS, Witnesses


def draw(size: int, seed: int, within: str = "") -> tuple[list[Mutant], int]:
    """Return a sample of mutants, and of how many it is drawn."""
    every = [
        mutant
        for name in FOLDERS
        for path in sorted((PACKAGE / name).rglob("*.py"))
        if path.relative_to(PACKAGE).as_posix().startswith(within)
        for mutant in mutants_of(path.relative_to(PACKAGE))
    ]
    every.sort(key=lambda mutant: mutant.place_in_sample(seed))
    return every[:size], len(every)


def excuses() -> dict[tuple[str, str], str]:
    """Return why some may survive, by the line and what is changed there."""
    with Path(__file__).with_name("excused.toml").open("rb") as file:
        read = tomllib.load(file)["excused"]
    return {(one["line"], what): one["why"] for one in read for what in one["changes"]}


def main() -> int:
    """Try a sample of mutants; 0 where at least nine in ten are noticed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    asked.add_argument("--seed", type=int, default=0, help="which sample (default 0)")
    asked.add_argument("--workers", type=int, default=2, help="how many at a time (default 2)")
    asked.add_argument("--within", default="", help="only a module, such as inference/looks.py")
    asked.add_argument("--again", type=Path, help="only the survivors that an earlier run printed")
    choices = asked.parse_args()
    sample, many = draw(choices.sample, choices.seed, choices.within)
    if choices.again:
        earlier = choices.again.read_text(encoding="utf-8").splitlines()
        sample = [one for one in sample if f"survived {one}" in earlier]
    print(f"{len(sample)} of {many:,} mutants, seed {choices.seed}", flush=True)
    witnesses, survivors = Witnesses(), []
    # One module of each folder as it is: where that fails a test, every mutant would seem noticed.
    as_they_are = {one.path.parts[0]: one.unchanged for one in reversed(sample)}
    for mutant, noticed in try_all([*as_they_are.values()], witnesses, choices.workers):
        if noticed:
            raise SystemExit(f"tests fail without a mutant: {mutant}")
    for mutant, noticed in try_all(sample, witnesses, choices.workers):
        print("noticed " if noticed else "survived", mutant, flush=True)
        if not noticed:
            survivors.append(mutant)
    known = excuses()
    excused = [one for one in survivors if (one.text, one.what) in known]
    left = [one for one in survivors if one not in excused]
    for title, those in (("excused", excused), ("left", left)):
        for one in sorted(those, key=str):
            print(f"{title}: {one}\n    {one.text}  # {known.get((one.text, one.what), '?')}")
    asked_of = len(sample) - len(excused)
    print(f"{asked_of - len(left)} of {asked_of} noticed, {len(excused)} more excused")
    return int(10 * len(left) > asked_of)


if __name__ == "__main__":
    sys.exit(main())
