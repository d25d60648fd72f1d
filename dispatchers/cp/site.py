"""The constraints of :mod:`..site`, had from here, too."""

from ..site import *  # noqa: F403
from ..site import __all__ as __all__  # noqa: PLC0414
