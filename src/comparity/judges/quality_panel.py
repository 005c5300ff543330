"""Who judged enough to tell quality by, and what their verdicts tell of how sharp they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from comparity.judges.answerers import evaluators_of
from comparity.judges.log import JudgeLog
from comparity.judges.wins import FEWEST_PROMPTS, PEOPLE, is_enough
from comparity.ranking.likelihood.lot_likelihood import NO_TASTE

Codes = NDArray[np.int64]
Rows = NDArray[np.bool_]


class QualityPanel(NamedTuple):
    """Judgments of those who made enough, with who judged: people all together."""

    log: JudgeLog
    judge: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def of(cls, log: JudgeLog) -> QualityPanel:
        """Return the judgments of people, and of each judge with enough of them."""
        code, names = evaluators_of(log), np.array([PEOPLE, *log.judges])
        enough = [one for one in np.unique(code).tolist() if is_enough(log, code == one)]
        kept = np.isin(code, enough)
        return cls(
            log.take(kept), np.searchsorted(enough, code[kept]), tuple(names[enough].tolist())
        )

    @property
    def tastes(self) -> Codes:
        """Whose opinions differ from quality, and how.

        Quality is what people find, who judge it together. Two judges without people tell only how
        much both of them together differ from it. Of a judge who gave one judgment of each prompt
        opinions cannot be told from chance: it has no taste here, and is as much less sharp.
        """
        has_taste = self._judged_again >= FEWEST_PROMPTS
        if self.has_people:
            has_taste[self.names.index(PEOPLE)] = False
        elif len(self.names) == 2:
            return np.full(2, 0 if has_taste.any() else NO_TASTE)
        return np.where(has_taste, np.cumsum(has_taste) - 1, NO_TASTE)

    @property
    def judged_once(self) -> list[str]:
        """Who, other than people, has no taste here."""
        of = zip(self.names, self.tastes.tolist(), strict=True)
        return [name for name, taste in of if taste == NO_TASTE and name != PEOPLE]

    def beside_people(self, name: str) -> QualityPanel:
        """Return the judgments of people and of one judge alone."""
        two = [self.names.index(PEOPLE), self.names.index(name)]
        return QualityPanel.of(self.log.take(np.isin(self.judge, two)))

    def split_told(self) -> tuple[QualityPanel, list[str]]:
        """Return the panel of those whose sharpness is told, and the names of the others."""
        if len(self.names) < 2 or (told := self.is_sharpness_told).all():
            return self, []
        untold = [self.names[k] for k in np.flatnonzero(~told)]
        return QualityPanel.of(self.log.take(told[self.judge])), untold

    @property
    def is_sharpness_told(self) -> Rows:
        r"""Whether verdicts tell the sharpness of each.

        How often two agree tells the product of their sharpness, :math:`g_j g_k`, and how often
        one agrees with itself :math:`g_k^2 (1 + \tau_k^2)`. Logarithms of both are sums, so that
        :math:`g_k` is told where these sums give it: by a third judge of the same prompts, say.
        """
        n, size = len(self.names), (len(self.names), len(self.log.prompts))
        judged = csr_array((np.ones(len(self.judge)), (self.judge, self.log.prompt)), shape=size)
        judged.data[:] = 1
        together = (judged @ judged.T).toarray() >= FEWEST_PROMPTS
        np.fill_diagonal(together, val=False)
        # Of the equations, squares: unknown are the sharpness of each, then the tastes.
        squares = np.zeros((2 * n, 2 * n))
        squares[:n, :n] = together + np.diag(together.sum(axis=1))
        for k in np.flatnonzero(self._judged_again >= FEWEST_PROMPTS).tolist():
            own = 2 * np.eye(2 * n)[k]
            if (taste := int(self.tastes[k])) != NO_TASTE:
                own[n + taste] = 1
            squares += np.outer(own, own)
        known = np.linalg.pinv(squares, hermitian=True) @ squares
        told: Rows = np.isclose(np.diagonal(known)[:n], 1.0)
        return told

    @property
    def _judged_again(self) -> Codes:
        """Return on how many prompts each gave several judgments."""
        n = len(self.log.prompts)
        cells, times = np.unique(self.judge * n + self.log.prompt, return_counts=True)
        return np.bincount(cells[times > 1] // n, minlength=len(self.names))

    @property
    def has_people(self) -> bool:
        """Whether people judged enough to tell quality by."""
        return PEOPLE in self.names
