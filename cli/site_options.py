"""Options for a Slurm site: its configuration and its accounting records."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from ..workloads import Snapshot, Workload
from ..workloads.slurm_workload import slurm_workload
from .command_errors import say
from .durations import Whole
from .parameters import option
from .slurm_answers import cluster

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """The files of a site and reading options; see :func:`hpcdispatch.workloads.slurm_workload.slurm_workload`."""

    config: Annotated[Path, option("slurm.conf, or what scontrol show prints.", type=FILE, group="The site")]
    sacct: Annotated[Path, option("What sacct -P prints.", type=FILE)]
    timezone: Annotated[str | None, option("Of local times.", "ZONE")] = None
    lenient: Annotated[bool, option("Drop malformed records.")] = False
    cluster: Annotated[str | None, option("Which cluster, of an accounting with the jobs of several.", "NAME")] = None

    def load(self, config: Path | None = None) -> Workload:
        """Return the jobs on their machine, or on that of another configuration. Print the reader's notes on stderr.

        Raises
        ------
        InputError
            If either file is invalid.
        """
        workload = slurm_workload(
            self.sacct, config or self.config, timezone=self.timezone, lenient=self.lenient, cluster=self.cluster
        )
        for note in workload.provenance.notes if config in (None, self.config) else ():
            say("note", f"{self.sacct}: {note}")
        return workload


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """Output of Slurm's commands at one moment. Without files, the commands are called."""

    squeue: Annotated[
        Path | None, option("What squeue --json printed, in place of asking.", type=FILE, group="The moment")
    ] = None
    sinfo: Annotated[Path | None, option("What sinfo -N --json printed, likewise.", type=FILE)] = None
    now: Annotated[int | None, option("When they were printed, since 1970.", "SECONDS", Whole(0))] = None

    def read(self) -> Snapshot:
        """Return the running and waiting jobs; errors as :func:`~.slurm_answers.cluster`."""
        return cluster(self.squeue, self.sinfo, self.now)
