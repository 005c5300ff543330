"""The schemes published with Ferrara et al. (2024), as their code has them, but vectorised.

One step of a quasi-Newton method (which is a step of steepest descent) for each kind of parameters
in turn, 100 times, from scores 0, shares 0.7 and slopes 0, without priors. FactorBT's gradient of
the attention carries a wrong factor sigma(-attention).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from comparity.ranking.mixture_likelihoods import MixtureModel


def alternating(
    model: MixtureModel, *, wrong_factor: bool, steps: int = 100
) -> NDArray[np.float64]:
    n, k = model.n_items, model.n_evaluators
    point = np.concatenate([np.zeros(n), np.full(k, 0.7), np.zeros(k * model.n_slopes)])
    scores, shares, slopes = slice(0, n), slice(n, n + k), slice(n + k, None)

    def step(part: slice, *, box: bool = False) -> None:
        def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            whole = point.copy()
            whole[part] = values
            value, gradient = model.loss(whole)
            factor = expit(-values) if box and wrong_factor else 1.0
            return value, gradient[part] * factor

        method = {"method": "L-BFGS-B", "bounds": [(0, 1)] * k} if box else {"method": "BFGS"}
        point[part] = minimize(loss, point[part], jac=True, options={"maxiter": 1}, **method).x

    for _ in range(steps):
        step(shares, box=True)
        if model.n_slopes:
            step(slopes)
        step(scores)
    return point
