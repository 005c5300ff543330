"""Errors that say what was asked, what was found and what to do."""

from comparity.errors.choices import *  # noqa: F403
from comparity.errors.files import *  # noqa: F403
from comparity.errors.fits import *  # noqa: F403
from comparity.errors.logs import *  # noqa: F403
from comparity.errors.spark import *  # noqa: F403
from comparity.errors.spelling import ComparityError as ComparityError
from comparity.errors.spelling import Offenders, Option
from comparity.errors.studies import *  # noqa: F403
from comparity.errors.values import *  # noqa: F403

__all__ = ["Offenders", "Option"]
__all__ += [name for name in globals() if name.endswith(("Error", "Warning"))]
