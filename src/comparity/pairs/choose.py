"""Choosing pairs to judge: for a test of gaps, for a ranking, or to find judges who lean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from comparity.errors import Option, OptionError
from comparity.pairs.draw import (
    DrawnPairs,
    draw_for_gap,
    draw_for_scores,
)
from comparity.pairs.options import GROUP_GOALS, PairsForm, PairsOptions
from comparity.pairs.result import AskedKind, ChosenPairs
from comparity.pairs.schedule import Schedule, schedule_pairs
from comparity.pairs.strata import (
    PairKind,
    kinds_of,
    pair_keys,
)
from comparity.pairs.study_so_far import (
    ONE_GROUP,
    Study,
    judge_names,
    kind_table,
    known_pairs,
    study_of,
)
from comparity.ranking.items import item_names
from comparity.ranking.judgments import columns_of, judgments_from_frames, judgments_of
from comparity.results.options import ComparisonColumns, provenance, shows
from comparity.tables.features import named_attributes
from comparity.tables.files import file_sha256, read_table
from comparity.tables.layouts import read_comparisons
from comparity.tables.outcomes import CHOSEN, RANDOM
from comparity.tables.values import numbers


@shows(PairsOptions)
def choose_pairs(
    items: Any,
    *,
    sensitive_features: Any = None,
    scores: Any = None,
    given: Any = None,
    evaluators: Any = None,
    **choices: Any,
) -> ChosenPairs:
    r"""Choose pairs to judge, who judges them, and which item stands on the left.

    *To test gaps*, only kinds of pairs that a hypothesis is about are asked for, at random within
    each kind, items used evenly; how many of each kind follows Neyman's allocation, from equal
    variances at first and from earlier answers later. *To rank*, random circles through all items
    come first; once there are answers, most pairs are drawn by how much they tell of the scores.
    *To find judges who lean*, pairs are of different groups.

    Parameters
    ----------
    items : int or sequence
        How many items there are, or their names.
    sensitive_features : array-like, mapping or frame, optional
        The group of each item; several attributes are taken in combination. Not needed to rank.
    scores : array-like, optional
        The score of each item that a test of gaps is about: with earlier answers, it says where
        agreement varies most.
    given : array-like (n, 2), optional
        Earlier answers: positions (or names) of items, the better one first.
    evaluators : array-like, optional
        Who gave each of the earlier answers.
    goal : {"gap", "rank", "lean"}
        What the judgments are for.
    budget : int
        Judgments to ask for in all, pairs that come back included.
    judges : int, optional
        How many judges share them; by default those of earlier answers, or one.
    hypotheses : {"all", "across", "within"}
        Which kinds of pairs a test of gaps is about.
    random_share : float
        Least share of pairs drawn at random, from 0.2 on. Only these say how reliable a ranking
        is: pairs of items close together make it look better than it is [1]_.
    swapped_share : float
        Share of pairs that come back to the same judge with sides swapped.
    seed : int, optional

    Returns
    -------
    ChosenPairs
        With the probability of every pair.

    References
    ----------
    .. [1] Bramley, "Investigating the reliability of adaptive comparative judgment", 2015.

    Examples
    --------
    >>> groups = ["f", "m"] * 50
    >>> pairs = choose_pairs(100, sensitive_features=groups, budget=400, judges=10, seed=0)
    >>> [(kind.name, kind.asked) for kind in pairs.kinds]
    [('f and f', 95), ('f and m', 190), ('m and m', 95)]
    >>> pairs.rows()[0]["judge"], len(pairs)
    ('judge 1', 400)
    """
    options = PairsOptions(**choices)
    names = np.arange(items) if isinstance(items, int | np.integer) else np.asarray(items, object)
    judged = None
    if given is not None:
        judged = judgments_of(given, n_items=len(names), evaluators=evaluators)
    features = None if sensitive_features is None else named_attributes(sensitive_features)
    tested = None if scores is None else numbers(np.asarray(scores), "scores", "array")
    return _choose(study_of(names, features, tested, judged), options)


def choose_from_files(
    items: str | Path, given: str | Path | None = None, **choices: Any
) -> ChosenPairs:
    """Choose pairs of the items of a file.

    Parameters
    ----------
    items : path
        One row for each item.
    given : path, optional
        Earlier answers, in any layout of :mod:`comparity.tables.layouts`.
    **choices
        Those of :class:`PairsForm`.
    """
    form = PairsForm(**choices)
    if given is None:
        _check_no_answers(form)
    wanted = [form.item, *form.sensitive, form.score]
    held = columns_of(read_table(items), "items", wanted)
    judged = None
    if given is not None:
        sides = ("layout", "better", "worse", "left", "right", "winner", "evaluator")
        read = read_comparisons(given, **{name: getattr(form, name) for name in sides})
        who = "evaluator" if read.has_evaluators else None
        judged = judgments_from_frames(read.frame, held, evaluator=who, tied="tied", item=form.item)
    features = {name: held[name] for name in form.sensitive} or None
    score = None if form.score is None else numbers(held[form.score], form.score, "items")
    names = (
        np.array(item_names(held[form.item], form.item), dtype=object)
        if judged is None
        else judged.items
    )
    study = study_of(names, features, score, judged)
    paths = [path for path in (items, given) if path is not None]
    files = [{"name": Path(path).name, "sha256": file_sha256(path)} for path in paths]
    return _choose(study, form.narrow(PairsOptions), files=files)


def _check_no_answers(form: PairsForm) -> None:
    """Refuse names of columns of earlier answers where there are none."""
    for one in fields(ComparisonColumns):
        found = getattr(form, one.name)
        if found != one.default:
            beside = ("{} beside it", Option("given"))
            raise OptionError(one.name, found, [beside], "it is about earlier answers, none given")


def _choose(study: Study, options: PairsOptions, **data: Any) -> ChosenPairs:
    if options.goal in GROUP_GOALS and len(study.groups) < 2:
        why = f"goal {options.goal!r} is about groups, and none are given"
        allowed = [("groups, by {}", Option("sensitive")), Option("goal", "rank")]
        raise OptionError("goal", options.goal, allowed, why)
    if options.goal == "rank":
        # All pairs are of one kind: groups have no say in which items are compared.
        study = replace(study, codes=np.zeros_like(study.codes), groups=[ONE_GROUP])
    judges = judge_names(study.given, options.judges)
    if options.seed is None:
        options = replace(options, seed=int(np.random.SeedSequence().generate_state(1)[0]))
    rng = np.random.default_rng(options.seed)
    kinds = _kinds(study, options)
    swapped = round(options.swapped_share * options.budget)
    fresh = options.budget - swapped
    _check_budget(fresh, kinds, len(judges), options)
    draw = draw_for_gap if options.goal == "gap" else draw_for_scores
    drawn, notes = draw(study, kinds, fresh, options, rng)
    table = kind_table(kinds, study.codes, len(study.groups))
    kind = table[study.codes[drawn.first], study.codes[drawn.second]]
    schedule = schedule_pairs(
        pair_keys(drawn.first, drawn.second, study.n_items),
        kind,
        judges=len(judges),
        swapped=swapped,
        known=known_pairs(study),
        rng=rng,
    )
    before = np.bincount(study.kinds_seen(kinds), minlength=len(kinds) + 1)
    now = np.bincount(kind, minlength=len(kinds))
    return ChosenPairs(
        goal=options.goal,
        **_columns(study, drawn, schedule, judges, [kinds[code].name for code in kind.tolist()]),
        kinds=tuple(
            AskedKind(name=one.name, possible=one.n_pairs, given=int(old), asked=int(new))
            for one, old, new in zip(kinds, before, now, strict=False)
        ),
        n_items=study.n_items,
        n_judges=len(judges),
        notes=tuple(notes),
        provenance=provenance(options, **data),
    )


def _kinds(study: Study, options: PairsOptions) -> list[PairKind]:
    """Return the kinds of pairs that the goal is about."""
    hypotheses = "across" if options.goal == "lean" else options.hypotheses
    kinds = kinds_of(study.codes, study.groups, hypotheses)
    if not kinds:
        why = "no group has two items"
        raise OptionError("hypotheses", hypotheses, ["'all'", "'across'", "more items"], why)
    return kinds


def _check_budget(n: int, kinds: Sequence[PairKind], judges: int, options: PairsOptions) -> None:
    possible = sum(kind.n_pairs for kind in kinds) * judges
    if not 0 < n <= possible:
        why = f"{judges} judges can judge {possible:,} pairs, each pair once"
        allowed = [f"a budget of at most {possible:,}", "more judges", "more items"]
        raise OptionError("budget", options.budget, allowed, why)


def _columns(
    study: Study, drawn: DrawnPairs, schedule: Schedule, judges: list[str], kind: list[str]
) -> dict[str, Any]:
    """Return the columns of the list, one row for each judgment to ask for."""
    pair, turned = schedule.pair, schedule.is_turned
    first, second = drawn.first[pair], drawn.second[pair]
    return {
        "judge": np.array(judges, dtype=object)[schedule.judge],
        "left": study.items[np.where(turned, second, first)],
        "right": study.items[np.where(turned, first, second)],
        "how": np.where(drawn.is_random[pair], RANDOM, CHOSEN).astype(object),
        "swapped": schedule.is_repeat,
        "stratum": np.array(kind, dtype=object)[pair],
        "probability": drawn.probability[pair],
    }
