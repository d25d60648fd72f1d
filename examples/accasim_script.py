"""An ordinary AccaSim script that takes its dispatcher and its predictor from hpcdispatch.

Usage: ``python accasim_script.py [DISPATCHER [PREDICTOR [FOLDER]]]``. It makes a small trace and a system file in a
temporary folder (or `FOLDER`, which keeps them), runs AccaSim's own ``Simulator`` on them, and prints when and on
which nodes each job ran.
"""

import json
import sys
import tempfile
from pathlib import Path

from hpcdispatch.simulation import accasim_predictor, accasim_scheduler
from hpcdispatch.workloads import generate, write

# isort: split
# AccaSim cannot be imported alone on Python >= 3.10; after hpcdispatch.simulation it can.
from accasim.base.simulator_class import Simulator

NODES = 64


def main(dispatcher: str = "easy", predictor: str = "last2", folder: str | None = None) -> None:
    """Simulate a generated trace on one-core nodes, and print the schedule that AccaSim wrote."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            main(dispatcher, predictor, made)
        return
    trace = Path(folder, "trace.swf")
    system = Path(folder, "system.json")
    write(generate("lublin", jobs=300, processors=NODES, load=0.9, seed=1), trace)
    system.write_text(json.dumps({"groups": {"node": {"core": 1}}, "resources": {"node": NODES}}))

    simulator = Simulator(
        str(trace),
        str(system),
        accasim_scheduler(dispatcher),
        additional_data=[accasim_predictor(predictor)],
        RESULTS_FOLDER_PATH=folder,
        LOG_LEVEL="WARNING",
    )
    written = simulator.start_simulation()
    print(Path(written["sched-"]).read_text(), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
