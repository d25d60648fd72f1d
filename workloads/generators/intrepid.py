"""Generate two weeks of neuroscience applications on Intrepid.

Scenario 4 of A. Gainaru, G. Pallez (Aupy), H. Sun, P. Raghavan: "Speculative scheduling for stochastic HPC
applications", ICPP 2019, section 5.6.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ...base import check_choice, check_number, check_whole
from ..machine import Machine
from ..workload import Workload
from .applications import HOUR, Application, Hours, ProcessorLaw, allocation, frozen_law, jobs_of, uniform_times
from .generator import generator, provenance_of

NAME = "intrepid-neuroscience"
NODES = 40_960
SPAN = 14 * 24 * HOUR
#: Table 3: numbers of submissions and their truncated normal run times.
LARGE = {
    "AbOrganSeg": (10, Hours(11, 31, mean=20, deviation=8)),
    "maCRUISE": (90, Hours(1.5, 3, mean=1.7, deviation=0.5)),
}
Stream = Literal["predictable", "stochastic"]
STREAM = ("FSL", 300, Hours(10 / 60, 35 / 60, mean=20 / 60, deviation=8 / 60))


@generator(NAME)
def intrepid_neuroscience(
    *,
    processors: ProcessorLaw = "beta",
    work_rate: float = 0.21,
    stream: Stream = "predictable",
    together: bool = False,
    seed: int = 0,
) -> Workload:
    """Draw two weeks of neuroscience applications on Intrepid: scenario 4 of Gainaru et al. (ICPP 2019).

    The paper prints 400 submissions within two weeks, of three applications with truncated normal run times. AbOrganSeg
    has 10 (mean 20 h, deviation 8 h, on 11 to 31 h). The 90 of maCRUISE have 1.7 h and 0.5 h on 1.5 to 3 h. The 300 of
    FSL have 20 min and 8 min on 10 to 35 min. FSL stands for the stream of small jobs, at a normalised work rate of
    0.21. The 40,960 nodes are Intrepid's; a node is one core here.

    Not in the paper:

    * Every submission time is uniform over the two weeks.
    * AbOrganSeg and maCRUISE draw their nodes from a law of section 5.2, by default Beta(2, 2) over [1, 40,960]. Their
      expected load is 0.57.
    * The jobs of FSL have one size, at which the stream has the work rate. They can be 0.21 of the machine only if each
      of the 300 jobs (21 min) uses two thirds of it.
    * FSL is predictable as in scenario 3: no law, `walltime` is the run time, queue ``stream``. Or it is stochastic as
      the others.

    Parameters
    ----------
    processors
        Law of the nodes of AbOrganSeg and maCRUISE, as of the generator ``stochastic``.
    work_rate
        Expected work of FSL over the capacity of the machine in two weeks. Above 0, and at most the value of jobs on
        the whole machine (0.31).
    stream
        Whether the run times of FSL are known in advance (``"predictable"``) or have a law (``"stochastic"``).
    together
        Whether all jobs are submitted at 0 instead.
    seed
        Of the random numbers.

    Examples
    --------
    >>> from hpcdispatch.workloads import intrepid_neuroscience
    >>> len(intrepid_neuroscience(seed=1).jobs)
    400
    """
    check_choice("stream", stream, Stream)
    check_choice("processors", processors, ProcessorLaw)
    check_whole("seed", seed, 0)
    name, small, hours = STREAM
    fsl = Application(name, "stream", frozen_law("truncnorm", hours))
    check_number("work_rate", work_rate, above=0, most=small * fsl.mean / SPAN)
    rng = np.random.default_rng(seed)
    nodes = max(round(work_rate * NODES * SPAN / (small * fsl.mean)), 1)
    applications, counts = [fsl], [small]
    runtimes = [fsl.draw(rng, small)]
    sizes = [np.full(small, nodes)]
    for name, (count, hours) in LARGE.items():
        application = Application(name, "large", frozen_law("truncnorm", hours))
        applications.append(application)
        counts.append(count)
        runtimes.append(application.draw(rng, count))
        sizes.append(allocation(rng, processors, NODES, count))
    if stream == "predictable":
        applications[0] = replace(fsl, law=None)
    submit = uniform_times(rng, sum(counts), 1 if together else SPAN)
    order = rng.permutation(sum(counts))
    kinds = np.repeat(np.arange(len(counts)), counts)
    jobs = jobs_of(applications, kinds[order], submit, np.concatenate(runtimes)[order], np.concatenate(sizes)[order])
    options: dict[str, Any] = {"processors": processors, "work_rate": work_rate, "seed": seed}
    options |= {"stream": stream} if stream != "predictable" else {}
    options |= {"together": together} if together else {}
    machine = Machine.pool(NODES, name="Intrepid, a node as a core")
    return Workload(jobs, machine, provenance_of(NAME, options))
