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
from .site_folder import CONFIG, NOW, SACCT, SINFO, SQUEUE, SiteFolder
from .slurm_answers import cluster

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_SITE = "Folder that slurm export wrote. Its files stand for those not given."


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """The files of a site and reading options; see :func:`hpcdispatch.workloads.slurm_workload.slurm_workload`."""

    site: Annotated[Path | None, option(_SITE, "DIR", FOLDER, group="The site")] = None
    config: Annotated[Path | None, option("slurm.conf, or what scontrol show prints.", type=FILE)] = None
    sacct: Annotated[Path | None, option("What sacct -P prints.", type=FILE)] = None
    timezone: Annotated[str | None, option("Of local times.", "ZONE")] = None
    lenient: Annotated[bool, option("Drop malformed records.")] = False
    cluster: Annotated[str | None, option("Which cluster, of an accounting with the jobs of several.", "NAME")] = None

    @property
    def folder(self) -> SiteFolder | None:
        """The export folder, if it is given."""
        return None if self.site is None else SiteFolder(self.site)

    @property
    def config_file(self) -> Path:
        """The configuration. Raise :class:`click.UsageError` if none is given."""
        return self._file(self.config, "config", CONFIG)

    @property
    def sacct_file(self) -> Path:
        """The accounting records. Raise :class:`click.UsageError` if none are given."""
        return self._file(self.sacct, "sacct", SACCT)

    def _file(self, given: Path | None, name: str, names: tuple[str, ...]) -> Path:
        if given is not None:
            return given
        if self.folder is None:
            raise click.UsageError(f"Missing option '--{name}'; or give --site DIR, a folder that slurm export wrote.")
        return self.folder.need(getattr(self.folder, name), f"--{name}", names)

    def load(self, config: Path | None = None) -> Workload:
        """Return the jobs on their machine, or on that of another configuration. Print the reader's notes on stderr.

        Raises
        ------
        InputError
            If either file is invalid.
        """
        workload = slurm_workload(
            self.sacct_file,
            config or self.config_file,
            timezone=self.timezone,
            lenient=self.lenient,
            cluster=self.cluster,
        )
        for note in workload.provenance.notes if config in (None, self.config_file) else ():
            say("note", note if note.startswith(f"{self.config_file}:") else f"{self.sacct_file}: {note}")
        return workload


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """Output of Slurm's commands at one moment. Without files, the commands are called."""

    site: Annotated[Path | None, option(_SITE, "DIR", FOLDER, group="The moment")] = None
    squeue: Annotated[Path | None, option("What squeue --json printed, in place of asking.", type=FILE)] = None
    sinfo: Annotated[Path | None, option("What sinfo -N --json printed, likewise.", type=FILE)] = None
    now: Annotated[int | None, option("When they were printed, since 1970.", "SECONDS", Whole(0))] = None

    @property
    def asks(self) -> bool:
        """Whether Slurm is asked."""
        return self.squeue is None and self.site is None

    def read(self) -> Snapshot:
        """Return the running and waiting jobs; errors as :func:`~.slurm_answers.cluster`."""
        if self.site is None:
            return cluster(self.squeue, self.sinfo, self.now)
        folder = SiteFolder(self.site)
        squeue = self.squeue or folder.need(folder.squeue, "--squeue", (SQUEUE,))
        sinfo = self.sinfo or folder.need(folder.sinfo, "--sinfo", (SINFO,))
        now = folder.now if self.now is None else self.now
        if now is None:
            folder.need(None, "--now", (NOW,))
        return cluster(squeue, sinfo, now)
