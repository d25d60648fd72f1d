"""Simulate how HPC job schedulers behave on real workloads, and compare dispatching policies.

>>> import hpcdispatch as hd
>>> workload = hd.generate("lublin", jobs=500, seed=1)  # or hd.read("trace.swf.gz"), hd.fetch("kth-sp2")
>>> result = hd.simulate(workload, "easy", predictor="last2")
>>> result.plot.gantt()  # doctest: +SKIP
>>> comparison = hd.compare(workload, ["fcfs", "easy"], seeds=3)
>>> comparison.best()
'easy'

Parts are loaded when they are first used. ``python -m hpcdispatch`` is the command line.
"""

import sys
import warnings

import lazy_loader

__version__ = "0.3.0.dev0"
#: The newest Python that the tests run on.
_NEWEST = (3, 14)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if sys.version_info[:2] > _NEWEST:
    running, newest = (".".join(map(str, pair)) for pair in (sys.version_info[:2], _NEWEST))
    warnings.warn(f"hpcdispatch is tested on Python 3.11 to {newest}, this is {running}", stacklevel=2)
