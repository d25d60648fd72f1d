"""Names of :mod:`..site` under a second path."""

from ..site import *  # noqa: F403
from ..site import __all__ as __all__  # noqa: PLC0414
