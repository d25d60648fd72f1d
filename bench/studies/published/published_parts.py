"""Backfilling of other simulators by name, for ``--parts``: ``sc20``, ``hpcopt-easy``, ``hpcopt-conservative``.

``sc20`` has the options of ``fcfs`` and ``backfill``, as in ``sc20:order=f1``. Those of HPCOpt are for the predictor
``oracle``: their running jobs hold the processors until their real ends.
"""

from hpcdispatch.base import register
from hpcdispatch.bench.studies.published.hpcopt import BackfillsToTheRealEnd, PlansAnew
from hpcdispatch.bench.studies.published.rlscheduler import Committed

register("dispatcher", "sc20", Committed)
register("dispatcher", "hpcopt-easy", BackfillsToTheRealEnd)
register("dispatcher", "hpcopt-conservative", PlansAnew)
