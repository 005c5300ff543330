"""Errors that say what was asked, what was found and what to do.

Every module lists its errors once, in its own ``__all__``.
"""

from comparity.errors import choices, files, fits, relative, values
from comparity.errors.base import ComparityError, Offenders
from comparity.errors.choices import *  # noqa: F403
from comparity.errors.files import *  # noqa: F403
from comparity.errors.fits import *  # noqa: F403
from comparity.errors.relative import *  # noqa: F403
from comparity.errors.values import *  # noqa: F403

__all__ = ["ComparityError", "Offenders"]
__all__ += choices.__all__
__all__ += files.__all__
__all__ += fits.__all__
__all__ += relative.__all__
__all__ += values.__all__
