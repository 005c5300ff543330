"""Panels of judges with a known truth: who leans to longer answers, who is merely dull."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from comparity.judges.log import JudgeLog, code_pairs
from comparity.judges.readers import FEATURES

MAKERS = {"a0": "Acme", **{f"j{k}": "Acme" for k in range(10)}}
"""All judges are of one maker, and so is the first answerer."""


@dataclass(frozen=True)
class Panel:
    """Prompts with some answers, whose quality grows with their length.

    `sharpness`, `lean` (in units of quality for an answer twice as long) and `seat` (in logits) are
    those of each judge; the first `people` of them are people. `own` is what each adds to the
    answers of the first answerer, of its own maker; `difficulty` is how far prompts differ (SD of
    the logarithm) in how far their answers are apart; `taste` is how far each judge's own opinions
    of answers are apart, in SDs of quality, of which `shared` is the share that all but people have
    in common; and `apart` is how far answerers are, on all prompts.
    """

    prompts: int
    answers: int
    pairs: int
    sharpness: tuple[float, ...]
    lean: tuple[float, ...]
    seat: tuple[float, ...]
    people: int = 1
    worth: float = 0.5
    both_orders: bool = False
    truth: bool = False
    own: tuple[float, ...] = ()
    difficulty: float = 0.3
    taste: tuple[float, ...] = ()
    shared: float = 0.0
    apart: float = 0.0


def draw(panel: Panel, rng: np.random.Generator) -> JudgeLog:
    """Draw what the judges say."""
    n = panel.prompts * panel.answers
    length = rng.normal(8, 1, n)
    spread = np.repeat(np.exp(rng.normal(0, panel.difficulty, panel.prompts)), panel.answers)
    quality = rng.normal(size=n) * spread + panel.worth * (length - 8)
    if panel.apart:
        quality += np.tile(rng.normal(0, panel.apart, panel.answers), panel.prompts)
    one, two = np.triu_indices(panel.answers, 1)
    rows = []
    for judge in range(len(panel.lean)):
        for prompt in range(panel.prompts):
            chosen = rng.choice(len(one), min(panel.pairs, len(one)), replace=False)
            turned = rng.random(len(chosen)) < 0.5
            first = np.where(turned, two[chosen], one[chosen])
            second = np.where(turned, one[chosen], two[chosen])
            rows.append(
                np.column_stack([np.full((len(chosen), 2), (judge, prompt)), first, second])
            )
            if panel.both_orders:
                rows.append(rows[-1][:, [0, 1, 3, 2]])
    judge, prompt, first, second = np.concatenate(rows).T.astype(np.int32)
    items = [(prompt * panel.answers + seat).astype(np.int32) for seat in (first, second)]
    g, b, c = (np.array(one)[judge] for one in (panel.sharpness, panel.lean, panel.seat))
    lead, more = (values[items[0]] - values[items[1]] for values in (quality, length))
    if panel.truth:
        # All that is known of quality is who is better, and that is all there is.
        lead = np.sign(lead)
    if panel.taste:
        opinion = rng.normal(size=(len(panel.lean), n)) * spread
        if panel.shared:
            common = np.sqrt(panel.shared) * rng.normal(size=n) * spread
            opinion[panel.people :] *= np.sqrt(1 - panel.shared)
            opinion[panel.people :] += common
        own_lead = opinion[judge, items[0]] - opinion[judge, items[1]]
        lead = lead + np.array(panel.taste)[judge] * own_lead
    if panel.own:
        lead = lead + np.array(panel.own)[judge] * (1.0 * (first == 0) - (second == 0))
    won = rng.random(len(judge)) < expit(g * (lead + b * more) + c)
    features = np.zeros((n, len(FEATURES)))
    features[:, 0] = 2**length
    zero = np.zeros(len(judge), np.int32)
    names = tuple(f"j{k}" for k in range(len(panel.lean)))
    return JudgeLog(
        **{"judges": names, "prompts": tuple(map(str, range(panel.prompts)))},
        **{"answerers": tuple(f"a{k}" for k in range(panel.answers)), "turns": ("",)},
        **{"runs": ("",), "categories": ("",), "sources": ("",), "people": names[: panel.people]},
        **{"judge": judge, "prompt": prompt, "first": first, "second": second},
        **{"turn": zero, "run": zero, "category": zero, "source": zero},
        verdict=np.where(won, 1, -1).astype(np.int8),
        gold=(lead if panel.truth else np.full(len(judge), 2)).astype(np.int8),
        reason=np.full(len(judge), -1, np.int8),
        strength=np.ones(len(judge)),
        seated=np.ones(len(judge), dtype=bool),
        orders=zero.astype(np.int8),
        first_item=items[0],
        second_item=items[1],
        pair=code_pairs(
            {"first": first, "second": second, "prompt": prompt, "turn": zero}, 1, panel.answers
        ),
        features=features,
    )
