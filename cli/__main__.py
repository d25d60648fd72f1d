"""``python -m hpcdispatch.cli``."""

from . import main

main()
