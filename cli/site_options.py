"""A Slurm site on the command line: its configuration and its accounting."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from ..workloads import Workload
from ..workloads.slurm_workload import slurm_workload
from .command_errors import say
from .shared_options import gathered

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option(
        "--config", type=_FILE, required=True, metavar="FILE", help="slurm.conf, or what scontrol show prints."
    ),
    click.option("--sacct", type=_FILE, required=True, metavar="FILE", help="What sacct -P prints."),
    click.option("--timezone", metavar="ZONE", help="Of local times."),
    click.option("--lenient", is_flag=True, help="Drop malformed records."),
)


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """The files of a site, and how they are read; see :func:`hpcdispatch.workloads.slurm_workload.slurm_workload`."""

    config: Path
    sacct: Path
    timezone: str | None = None
    lenient: bool = False

    def load(self) -> Workload:
        """Return the jobs on their machine; what the reader has to say goes to stderr.

        Raises
        ------
        InputError
            For whatever is wrong with either file.
        """
        workload = slurm_workload(self.sacct, self.config, timezone=self.timezone, lenient=self.lenient)
        for note in workload.provenance.notes:
            say("note", f"{self.sacct}: {note}")
        return workload


site_options = gathered("site", SiteFiles, _OPTIONS)
