"""AccaSim's own simulator, without what it leaves behind."""

import json
import logging
import random

from hpcdispatch.simulation.accasim_compat import AdditionalData, Simulator
from hpcdispatch.workloads import write

# isort: split
from accasim.utils.misc import CONSTANT


def run_accasim(folder, system, scheduler, *additional):
    """Run AccaSim on ``trace.swf`` without its threads, files and handlers; return the starts."""

    class Quiet(Simulator):
        def define_logger(self):
            self._define_trace_logger()
            logger = logging.getLogger("accasim")
            self.constants.load_constant("LOGGER_NAME", "accasim")
            return logger, None

    starts = {}

    class Watch(AdditionalData):
        def exec_before_dispatching(self, job_dict, queued_jobs): ...
        def exec_after_dispatching(self, job_dict, to_dispatch_jobs, rejected_jobs): ...
        def exec_before_submission(self, *args): ...
        def exec_after_submission(self, *args): ...
        def exec_before_completion(self, *args): ...
        def stop(self): ...
        def exec_after_completion(self, removed_jobs):
            starts.update((job.id, job.start_time) for job in removed_jobs)

    before = random.getstate()
    try:
        simulator = Quiet(
            str(folder / "trace.swf"),
            str(system),
            scheduler,
            additional_data=[*additional, Watch],
            overwrite_previous=False,
            scheduling_output=False,
            statistics_output=False,
            show_statistics=False,
            RESULTS_FOLDER_PATH=str(folder),
        )
        simulator.start_hpc_simulation()
        simulator.reader.file.close()
    finally:
        CONSTANT().clean_constants()
        random.setstate(before)
    return starts


def stock_starts(folder, workload, scheduler):
    """Return the starts of jobs on nodes of one core under an AccaSim scheduler."""
    system = folder / "system.json"
    system.write_text(json.dumps({"groups": {"node": {"core": 1}}, "resources": {"node": workload.machine.nodes}}))
    write(workload, folder / "trace.swf")
    return run_accasim(folder, system, scheduler)
