"""``python -m hpcdispatch.cli``."""

from .app import main

main()
