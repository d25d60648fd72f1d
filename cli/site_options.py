"""Options for a Slurm site: its configuration and its accounting records."""

from dataclasses import dataclass
from pathlib import Path

import click

from ..workloads import Snapshot, Workload
from ..workloads.slurm_workload import slurm_workload
from .command_errors import say
from .shared_options import gathered
from .slurm_answers import cluster

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option(
        "--config", type=FILE, required=True, metavar="FILE", help="slurm.conf, or what scontrol show prints."
    ),
    click.option("--sacct", type=FILE, required=True, metavar="FILE", help="What sacct -P prints."),
    click.option("--timezone", metavar="ZONE", help="Of local times."),
    click.option("--lenient", is_flag=True, help="Drop malformed records."),
    click.option("--cluster", metavar="NAME", help="Which cluster, of an accounting with the jobs of several."),
)


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """The files of a site and reading options; see :func:`hpcdispatch.workloads.slurm_workload.slurm_workload`."""

    config: Path
    sacct: Path
    timezone: str | None = None
    lenient: bool = False
    cluster: str | None = None

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


site_options = gathered("site", SiteFiles, "The site", _OPTIONS)


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """Output of Slurm's commands at one moment. Without files, the commands are called."""

    squeue: Path | None = None
    sinfo: Path | None = None
    now: int | None = None

    def read(self) -> Snapshot:
        """Return the running and waiting jobs; errors as :func:`~.slurm_answers.cluster`."""
        return cluster(self.squeue, self.sinfo, self.now)


snapshot_options = gathered(
    "moment",
    SnapshotFiles,
    "The moment",
    (
        click.option("--squeue", type=FILE, metavar="FILE", help="What squeue --json printed, in place of asking."),
        click.option("--sinfo", type=FILE, metavar="FILE", help="What sinfo -N --json printed, likewise."),
        click.option("--now", type=click.IntRange(0), metavar="SECONDS", help="When they were printed, since 1970."),
    ),
)
