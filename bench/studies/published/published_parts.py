"""Backfilling of other simulators by name, for ``--parts``: ``pyss-easy``, ``sc20``, ``hpcopt-easy`` and others.

``pyss-easy`` is EASY of SC 2015, for ``same_instant="arrivals-first"``.
``sc20`` has the options of ``fcfs`` and ``backfill``, as in ``sc20:order=f1``. ``hpcopt-easy`` and
``hpcopt-conservative`` are for the predictor ``oracle``: their running jobs hold the processors until their real ends.
"""

from hpcdispatch.base import register
from hpcdispatch.bench.studies.published.hpcopt import BackfillsToTheRealEnd, PlansAnew
from hpcdispatch.bench.studies.published.rlscheduler import Committed
from hpcdispatch.bench.studies.published.sc15 import PyssEASY

register("dispatcher", "pyss-easy", PyssEASY)
register("dispatcher", "sc20", Committed)
register("dispatcher", "hpcopt-easy", BackfillsToTheRealEnd)
register("dispatcher", "hpcopt-conservative", PlansAnew)
