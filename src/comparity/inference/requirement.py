r"""How much more data would decide an open question.

The variance of a gap splits into a part :math:`B` that falls with the number of judgments and a
part :math:`A` that falls only with the number of items (and evaluators): with :math:`m` times the
judgments on the same items it is :math:`A + B / m`, with :math:`r` times everything
:math:`(A + B) / r`. A gap estimate :math:`D` with standard error :math:`\sigma` is decided when

.. math::

    |D| \ge z_{1 - \alpha'/2} \sigma \;\text{(it differs from zero)} \quad\text{or}\quad
    |D| \le m - z_{1 - \alpha} \sigma \;\text{(it is inside the margin } m),

and the largest :math:`\sigma` at which that has the wanted probability says how far the variance
must fall. If the gap is zero, only the second counts.
"""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri

from comparity.results import GapTest, Needed

__all__ = ["needed_data"]


def needed_data(
    test: GapTest,
    *,
    margin: float,
    alpha: float,
    local_alpha: float,
    n: int,
    n_items: int,
    power: float = 0.8,
) -> Needed | None:
    """Say how many judgments, or items and judgments, would decide a test.

    Parameters
    ----------
    test : GapTest
        The open test.
    margin : float
        Largest harmless gap.
    alpha, local_alpha : float
        Level of the two one-sided tests, and level at which equality was tested.
    n, n_items : int
        Judgments and items there are now.
    power : float
        Wanted probability of a decision.

    Returns
    -------
    Needed or None
        ``None`` where the test has no variance to go by.
    """
    variance = test.standard_error**2
    if test.pivot is None or not variance > 0:
        return None
    wanted = [
        _widest_error(gap, margin=margin, alpha=alpha, local_alpha=local_alpha, power=power) ** 2
        for gap in (test.gap, 0.0)
    ]
    everything = [max(variance / target, 1.0) for target in wanted]
    more = [_judgment_factor(variance, test.shared_variance, target) for target in wanted]
    return Needed(
        judgments=(_scaled(more[0], n), _scaled(more[1], n)),
        items=(math.ceil(everything[0] * n_items), math.ceil(everything[1] * n_items)),
        judgments_with_items=(math.ceil(everything[0] * n), math.ceil(everything[1] * n)),
    )


def _widest_error(
    gap: float, *, margin: float, alpha: float, local_alpha: float, power: float
) -> float:
    """Return the largest standard error at which a gap of this size gets decided."""
    from scipy.optimize import brentq

    differs, inside = -ndtri(local_alpha / 2), -ndtri(alpha)
    if gap == 0:
        return float(margin / (inside - ndtri((1 - power) / 2)))

    def shortfall(error: float) -> float:
        limit = margin - inside * error
        decided = ndtr(gap / error - differs) + ndtr(-differs - gap / error)
        if limit > 0:
            decided += ndtr((limit - gap) / error) - ndtr((-limit - gap) / error)
        return float(decided - power)

    # Below the first bound every estimate is decided; the second is too wide even for its power.
    always = margin / (differs + inside)
    wide = always + abs(gap)
    while shortfall(wide) > 0:
        wide *= 2
    return float(brentq(shortfall, always, wide))


def _judgment_factor(variance: float, shared: float, target: float) -> float:
    if target >= variance:
        return 1.0
    return (variance - shared) / (target - shared) if target > shared else math.inf


def _scaled(factor: float, n: int) -> int | None:
    return math.ceil(factor * n) if math.isfinite(factor) else None
