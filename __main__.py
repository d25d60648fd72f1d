"""``python -m hpcdispatch``."""

from .cli import main

main()
