"""Worlds of judged pairs: who is paired, how hard items are, and how evaluators lean.

Of a pair let x be the item with the higher score and y the other. The judge agrees with
probability r(x, y), which does not depend on groups on average: effects of items are drawn alike
in all groups or have mean zero in each, and leans of evaluators have mean zero. Since groups do not
depend on scores, agreement given the groups of the better and the worse item is then the same
number for all of them. At the margin, r of the pairs across groups is solved for (`_ratios`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from comparity import comparative_separation
from tests.validity.worlds import (
    GROUPS,
    Floats,
    Integers,
    Rng,
    between,
    members,
    pick,
    rounded,
    shares,
)

PAIRINGS = ("fresh", "shared", "Zipf", "stars", "repeated", "adaptive", "knock-out", "all pairs")
ITEMS = ("alike", "spread by group", "normal", "skewed", "rarely hopeless", "quality")
ROUNDS = 8


@dataclass(frozen=True)
class JudgedWorld:
    """Comparisons of items of several groups.

    Attributes
    ----------
    shares : tuple of float
        Of groups among items.
    pairing, n_items, n_pairs
        Who is compared with whom, and how often.
    items, agreement, effect
        How items differ, the agreement of usual ones, and how much items differ.
    n_evaluators, leans, lean, uneven
        Who judges: zero where that is not known. Leans are "none", "normal" or "camps".
    told_as : str
        What evaluators are called: "evaluators", or "cluster" where they are prompts or sessions.
    ties, grid : float
        Share of judgments that are ties, and steps of the scores, which tie, too.
    choices : tuple
        Further arguments of the audit, by name.
    gap : str
        Which gap is as large as the margin: "across", "within", or "" for none.
    """

    shares: tuple[float, ...]
    pairing: str
    n_items: int
    n_pairs: int
    items: str
    agreement: float
    effect: float
    n_evaluators: int = 0
    leans: str = "none"
    lean: float = 0.0
    uneven: bool = False
    told_as: str = "evaluators"
    ties: float = 0.0
    grid: float = 0.0
    choices: tuple[tuple[str, Any], ...] = ()
    margin: float = 0.05
    gap: str = ""

    def errs(self, rng: Rng) -> bool:
        """Return whether a violation is found where there is none, or a gap is overlooked."""
        size = 2 * self.n_pairs if self.pairing == "fresh" else self.n_items
        group = members(self.shares, size, rng)
        panel = _Panel(self, group, rng)
        pairs, judges = panel.judge_all(rng)
        tied = rng.random(len(pairs)) < self.ties
        audit = comparative_separation(
            pairs[~tied],
            scores=panel.score,
            sensitive_features=GROUPS[group],
            **({self.told_as: judges[~tied]} if self.n_evaluators else {}),
            ties=pairs[tied] if self.ties else None,
            margin=self.margin,
            **dict(self.choices),
        )
        return bool(audit.finding == ("within the margin" if self.gap else "violated"))


class _Panel:
    """One draw of a world: items, evaluators, and who agrees with the score how often."""

    def __init__(self, world: JudgedWorld, group: Integers, rng: Rng) -> None:
        self.world, self.group = world, group
        n = len(group)
        self.score = rng.permutation(n).astype(float)
        self.quality = rng.normal(size=n)
        if world.items == "quality":
            self.score = self.quality + world.effect * rng.normal(size=n)
            if world.grid:
                self.score = np.round(self.score / world.grid)
        self.hardness = _hardness(world, group, rng)
        self.target = _ratios(world)
        number = max(world.n_evaluators, 1)
        signs = rng.choice([-1.0, 1.0], (number, len(world.shares)))
        normal = np.clip(rng.normal(0, 0.4, signs.shape), -1, 1)
        # Two groups are two sides of one lean.
        lean = {"none": 0 * signs, "normal": normal, "camps": signs}[world.leans]
        self.lean = world.lean * lean / 2
        chances = 1 / np.arange(1, number + 1) if world.uneven else np.ones(number)
        self.chances = chances / chances.sum()

    def judge_all(self, rng: Rng) -> tuple[Integers, Integers]:
        """Return the pairs, the better item first, and who judged them."""
        wins = np.zeros(len(self.group))
        pairs, judges = [], []
        for number in range(ROUNDS if self.world.pairing in ("adaptive", "knock-out") else 1):
            first, second = _paired(self.world, wins, number, rng)
            evaluator = rng.choice(len(self.chances), len(first), p=self.chances)
            better, worse = self._judge(first, second, evaluator, rng)
            np.add.at(wins, better, 1)
            pairs.append(np.column_stack([better, worse]))
            judges.append(evaluator)
        return np.concatenate(pairs), np.concatenate(judges)

    def _judge(
        self, first: Integers, second: Integers, evaluator: Integers, rng: Rng
    ) -> tuple[Integers, Integers]:
        higher = self.score[first] >= self.score[second]
        x, y = np.where(higher, first, second), np.where(higher, second, first)
        agrees = rng.random(len(x)) < self._chance(x, y, evaluator)
        return np.where(agrees, x, y), np.where(agrees, y, x)

    def _chance(self, x: Integers, y: Integers, evaluator: Integers) -> Floats:
        world, a, b = self.world, self.group[x], self.group[y]
        base = self.target[a, b]
        if world.items == "quality":
            base = 1 / (1 + np.exp(-3 * (self.quality[x] - self.quality[y])))
        elif world.items in ("normal", "skewed"):
            base = 1 / (1 + np.exp(-_log_odds(base) - self.hardness[x] - self.hardness[y]))
        elif world.items == "rarely hopeless":
            base = base * (1 - self.hardness[x]) * (1 - self.hardness[y])
        else:
            base = base + self.hardness[x] + self.hardness[y]
        lean = self.lean[evaluator, a] - self.lean[evaluator, b]
        return np.asarray(world.lean + (1 - 2 * world.lean) * base + lean)


def _log_odds(chance: Floats) -> Floats:
    return np.log(chance / (1 - chance))


def _hardness(world: JudgedWorld, group: Integers, rng: Rng) -> Floats:
    """Return what each item adds to the chance of agreement, or takes from it."""
    n = len(group)
    if world.items == "normal":
        return rng.normal(0, world.effect, n)
    if world.items == "skewed":
        return world.effect * (1 - rng.exponential(size=n))
    if world.items == "rarely hopeless":
        return (rng.random(n) < world.effect).astype(float)
    if world.items == "spread by group":
        target = _ratios(world)
        room = min(1 - target.max(), target.min()) / 2
        width = room * (1 + group) / len(world.shares)
        return np.asarray(world.effect * width * rng.choice([-1.0, 1.0], n))
    return np.zeros(n)


def _ratios(world: JudgedWorld) -> Floats:
    r"""Return the chance of agreement by the groups of x and y, for the cells that are wanted.

    With r = r(a, b) and s = r(b, a), agreement is A = r / (r + 1 - s) where an item of a was judged
    better than one of b, and B = s / (s + 1 - r) in the opposite cell. Hence
    r = A (2 B - 1) / (A + B - 1) and s = B (2 A - 1) / (A + B - 1).
    """
    size, half = len(world.shares), world.margin / 2
    wanted = np.full((size, size), world.agreement)
    if world.gap == "across":
        wanted[0, 1] += half
        wanted[1, 0] -= half
    elif world.gap == "within":
        wanted[0, 0] += half
        wanted[1, 1] -= half
    chance = wanted * (2 * wanted.T - 1) / (wanted + wanted.T - 1)
    chance[np.diag_indices(size)] = np.diag(wanted)
    return np.asarray(chance)


def _paired(world: JudgedWorld, wins: Floats, number: int, rng: Rng) -> tuple[Integers, Integers]:
    """Return who meets whom in one round."""
    n, m = len(wins), world.n_pairs
    if world.pairing == "fresh":
        first, second = np.arange(m), np.arange(m, 2 * m)
    elif world.pairing == "all pairs":
        first, second = np.triu_indices(n, 1)
    elif world.pairing == "adaptive":
        order = np.lexsort((rng.random(n), wins))
        first, second = order[: n - n % 2 : 2], order[1::2]
    elif world.pairing == "knock-out":
        left = rng.permutation(np.flatnonzero(wins >= number))
        first, second = left[: len(left) // 2], left[len(left) // 2 : len(left) // 2 * 2]
    else:
        use = 1 / np.arange(1, n + 1) if world.pairing == "Zipf" else np.ones(n)
        stars = max(n // 15, 3)
        first = rng.choice(n, m, p=use / use.sum())
        if world.pairing == "stars":
            first = rng.integers(0, stars, m)
        second = (first + rng.integers(1, n, m)) % n
        if world.pairing == "repeated":
            first, second = np.repeat(first[: m // 4], 4), np.repeat(second[: m // 4], 4)
    return first, second


def draw_judged(
    rng: Rng,
    *,
    n_groups: tuple[int, int] = (2, 2),
    evaluators: bool = False,
    clusters: bool = False,
    families: tuple[dict[str, str], ...] = ({},),
) -> JudgedWorld:
    """Draw a world in which all cells agree equally often."""
    pairing, items = pick(rng, PAIRINGS), pick(rng, ITEMS)
    effect = {
        "spread by group": rng.uniform(0.3, 1),
        "normal": rng.uniform(0.2, 1.5),
        "skewed": rng.uniform(0.2, 1),
        "rarely hopeless": rng.uniform(0.01, 0.08),
        "quality": rng.uniform(0.3, 2),
    }.get(items, 0.0)
    people = _draw_evaluators(rng) if evaluators or clusters else {}
    if clusters:
        # Prompts are more than evaluators are, as a rule.
        people |= {"n_evaluators": between(6, 200, rng), "told_as": "cluster"}
    grid = float(pick(rng, (0, 0.25, 1))) if items == "quality" else 0.0
    half = {"score_ties": "half"} if grid and rng.random() < 0.5 else {}
    return JudgedWorld(
        shares=shares(int(rng.integers(n_groups[0], n_groups[1] + 1)), rng),
        pairing=pairing,
        n_items=between(30, 70, rng) if pairing == "all pairs" else between(40, 300, rng),
        n_pairs=between(120, 1200, rng),
        items=items,
        agreement=rounded(rng.uniform(0.6, 0.97)),
        effect=rounded(effect),
        ties=rounded(rng.choice([0, rng.uniform(0.05, 0.4)])),
        grid=grid,
        choices=tuple({**pick(rng, families), **half}.items()),
        **people,
    )


def _draw_evaluators(rng: Rng) -> dict[str, Any]:
    """Draw who judges. Two camps are promised nothing below six evaluators."""
    number = int(pick(rng, (rng.integers(3, 6), rng.integers(6, 13), rng.integers(13, 41))))
    leans = pick(rng, ("none", "normal", "camps") if number >= 6 else ("none", "normal"))
    lean = 0.0 if leans == "none" else rounded(rng.uniform(0.05, 0.25))
    uneven = bool(rng.random() < 0.4)
    return {"n_evaluators": number, "leans": leans, "lean": lean, "uneven": uneven}


def draw_judged_at_margin(rng: Rng, *, evaluators: bool = False) -> JudgedWorld:
    """Draw a world in which one gap is exactly the margin."""
    margin = pick(rng, (0.1, 0.2))
    world = draw_judged(rng, evaluators=evaluators, families=({}, {"hypotheses": ""}))
    gap = pick(rng, ("across", "within"))
    choices = tuple((k, gap if k == "hypotheses" else v) for k, v in world.choices)
    facts = asdict(world) | {"margin": margin, "gap": gap, "choices": choices}
    items = pick(rng, ("alike", "spread by group"))
    pairing = pick(rng, [one for one in PAIRINGS if one != "knock-out"])
    n_items = between(40, 70, rng) if pairing == "all pairs" else between(100, 400, rng)
    facts |= {
        "items": items,
        "grid": 0.0,
        "pairing": pairing,
        "effect": rounded(rng.uniform(0.3, 1)),
    }
    # Leans shrink every gap towards one half, the one at the margin, too.
    facts |= {"leans": "none", "lean": 0.0, "agreement": rounded(rng.uniform(0.7, 0.85))}
    facts |= {"shares": (0.5, 0.5), "n_items": n_items, "n_pairs": between(600, 4000, rng)}
    return JudgedWorld(**facts)
