"""Python runs this at the start of each child of the tests: their looks outside are reported as well."""

import importlib.util
import os
from pathlib import Path

reports = os.environ.get("HPCDISPATCH_TESTS_OUTSIDE")
if reports:
    # By its path: the folder of the tests is not one from which the child may import.
    spec = importlib.util.spec_from_file_location("_outside", Path(__file__).parents[1] / "outside.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.watch(reports)
