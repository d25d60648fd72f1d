"""A folder with the answers of a site's Slurm, as ``hpcdispatch slurm export`` writes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base import InputError, read_bounded, shown
from ..base.files import open_regular
from ..workloads.slurm_workload import SACCT_COLUMNS, SCONTROL_SHOWN
from .slurm_answers import SACCTMGR_SHOWN

#: Names of the files. The first is the one that the export writes; the others are accepted, too.
CONFIG = ("site.txt", "slurm.conf", "config.txt")
SACCT = ("jobs.sacct", "sacct.txt")
LIMITS = ("assoc.txt", "limits.txt", "qos.txt")
RESERVATIONS = ("reservations.txt", "reserved.txt")
SQUEUE, SINFO, NOW = "squeue.json", "sinfo.json", "now"
#: Ending of packed files, which are accepted too.
PACKED = ".gz"
#: Days of accounting records to export.
DAYS = 30


@dataclass(frozen=True, slots=True)
class Export:
    """A file of an export, and the commands whose output it holds.

    Attributes
    ----------
    name
        Of the file.
    commands
        Their arguments.
    needed
        Whether no answer is complete without the file.
    lack
        What is guessed or missing without it.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    needed: bool
    lack: str


def exports(days: int = DAYS) -> tuple[Export, ...]:
    """Return all files of an export, in the order of their commands. Each command only reads."""
    since = f"now-{days}days"
    return (
        Export(NOW, (("date", "+%s"),), needed=True, lack=""),
        Export(
            SQUEUE,
            (("squeue", "--json"),),
            needed=False,
            lack="forecast, why and evict need it; what-if does not",
        ),
        Export(
            SINFO,
            (("sinfo", "-N", "--json"),),
            needed=False,
            lack="forecast, why and evict need it; what-if does not",
        ),
        Export(CONFIG[0], tuple(("scontrol", "show", *what) for what in SCONTROL_SHOWN), needed=True, lack=""),
        Export(
            LIMITS[0],
            (("sacctmgr", "-P", "show", *SACCTMGR_SHOWN[0]),),
            needed=False,
            lack="all accounts are taken to lie below the root with equal shares, and no limits of accounts hold: the "
            "order of jobs changes where fair share has a weight",
        ),
        Export(
            LIMITS[2],
            (("sacctmgr", "-P", "show", *SACCTMGR_SHOWN[1]),),
            needed=False,
            lack="priorities, limits and preemption of QOS are unknown: jobs start earlier in the model than really",
        ),
        Export(
            RESERVATIONS[0],
            (("scontrol", "show", "reservation", "-o"),),
            needed=False,
            lack="reservations are guessed from the jobs that name them; others are unknown",
        ),
        Export(
            SACCT[0],
            (("sacct", "-a", "-D", "-X", "-P", "-S", since, "-o", SACCT_COLUMNS),),
            needed=True,
            lack="",
        ),
    )


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """The files of an export folder. A missing file is ``None``.

    Parameters
    ----------
    folder
        The folder.
    """

    folder: Path

    @property
    def config(self) -> Path | None:
        """The configuration."""
        return next(self._there(*CONFIG), None)

    @property
    def sacct(self) -> Path | None:
        """The accounting records."""
        return next(self._there(*SACCT, *(name + PACKED for name in SACCT)), None)

    @property
    def limits(self) -> tuple[Path, ...]:
        """The associations and QOS. An empty file, as without permission, counts as none."""
        return tuple(path for path in self._there(*LIMITS) if path.stat().st_size)

    @property
    def reservations(self) -> Path | None:
        """The advance reservations."""
        return next((path for path in self._there(*RESERVATIONS) if path.stat().st_size), None)

    @property
    def squeue(self) -> Path | None:
        """The jobs of the moment."""
        return next(self._there(SQUEUE, SQUEUE + PACKED), None)

    @property
    def sinfo(self) -> Path | None:
        """The nodes of the moment."""
        return next(self._there(SINFO, SINFO + PACKED), None)

    @property
    def now(self) -> int | None:
        """The moment, seconds since 1970."""
        path = next(self._there(NOW), None)
        if path is None:
            return None
        text = read_bounded(path, "a time", 1000).decode(errors="replace").strip().partition(".")[0]
        if not text.isdecimal() or len(text) > 15:
            raise InputError(f"{path}: expected seconds since 1970, as date +%s prints them, got {shown(text)}")
        return int(text)

    def need(self, path: Path | None, option: str, names: tuple[str, ...]) -> Path:
        """Return a file of the folder. Raise :class:`InputError` with the name of the option if it is missing."""
        if path is None:
            raise InputError(
                f"--site {self.folder}: expected a file {' or '.join(names)}, got none; 'hpcdispatch slurm export "
                f"{self.folder}' prints the commands that write it, or give {option}"
            )
        return path

    def lacking(self) -> Iterator[tuple[str, str]]:
        """Yield the missing files that an export has, and what is guessed without each."""
        there = {path.name for path in (*self.limits, *self._there(*RESERVATIONS))}
        there |= {LIMITS[0]} if LIMITS[1] in there else set()  # One file may hold both.
        for each in exports():
            if each.lack and each.name not in there and not each.name.endswith(".json"):
                yield each.name, each.lack

    def cut_off(self) -> Iterator[str]:
        """Yield the names of text files that end within a line, as files do that were cut off."""
        for path in (self.config, self.sacct, *self.limits, self.reservations):
            if path is not None and path.suffix != PACKED:
                with open_regular(path) as file:
                    file.seek(max(path.stat().st_size - 1, 0))
                    if file.read(1) not in (b"\n", b""):
                        yield path.name

    def _there(self, *names: str) -> Iterator[Path]:
        return (self.folder / name for name in names if (self.folder / name).is_file())
