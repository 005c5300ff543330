"""Errors that say what was asked, what was found and what to do.

Every module lists its errors once, in its own ``__all__``.
"""

from comparity.errors import choices, files, fits, values
from comparity.errors.choices import *  # noqa: F403
from comparity.errors.files import *  # noqa: F403
from comparity.errors.fits import *  # noqa: F403
from comparity.errors.spelling import ComparityError, Offenders, Option
from comparity.errors.values import *  # noqa: F403

__all__ = ["ComparityError", "Offenders", "Option"]
__all__ += choices.__all__
__all__ += files.__all__
__all__ += fits.__all__
__all__ += values.__all__
