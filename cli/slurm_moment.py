"""The state of Slurm at a moment, from which simulations begin: for forecasts, reasons and advice."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from ..base import InputError
from ..base.printed import first_of
from ..base.unfinished_files import temporary_folder
from ..dispatchers import Slurm
from ..workloads import MachineState, Snapshot, Workload, read
from ..workloads.slurm_cluster import ClusterJob
from ..workloads.slurm_conf import SlurmSite, read_slurm_conf
from ..workloads.slurm_limits import SlurmLimits, read_slurm_limits
from ..workloads.slurm_reservations import SlurmReservation, read_slurm_reservations
from ..workloads.slurm_workload import slurm_workload, standing_jobs, started_at
from .command_errors import say
from .parameters import option
from .progress import spinner
from .site_folder import CONFIG, DAYS, SACCT, SiteFolder
from .site_options import FILE, SnapshotFiles
from .slurm_answers import (
    CommandFailedError,
    accounting,
    configuration,
    limits_of,
    reservations_of,
    say_of_limits,
    say_of_reservations,
)


@dataclass(frozen=True, slots=True)
class SiteAnswers:
    """The files of a site. Missing ones come from Slurm."""

    config: Annotated[Path | None, option("slurm.conf, in place of asking scontrol.", type=FILE, group="The site")]
    sacct: Annotated[Path | None, option("What sacct -P printed, in place of asking.", type=FILE)]
    timezone: Annotated[str | None, option("Of local times in it.", "ZONE")]
    shares: Annotated[str, option("Shares of accounts and users; else 1.", "A=N;B=N", default="")]
    limits: Annotated[tuple[Path, ...], option("What sacctmgr printed, in place of asking.", "FILE", FILE)]
    reservations: Annotated[Path | None, option("What scontrol show reservation -o printed, likewise.", type=FILE)]


@dataclass(frozen=True, slots=True)
class SlurmMoment:
    """The running and waiting jobs, on the machine of the site.

    Attributes
    ----------
    snapshot
        As Slurm printed it.
    workload, state
        The jobs, and the state of the running and ended ones.
    site, limits, reservations
        The configuration, and the output of ``sacctmgr`` and ``scontrol show reservation``.
    options
        Of ``slurm``.
    zero
        Seconds since 1970 at time 0.
    """

    snapshot: Snapshot
    workload: Workload
    state: MachineState
    site: SlurmSite
    limits: SlurmLimits | None
    reservations: tuple[SlurmReservation, ...]
    options: dict[str, str]
    zero: int

    def slurm(self, **changed: str) -> Slurm:
        """Return the site's scheduler, with other options."""
        own: dict[str, Any] = {**self.options, "epoch": self.zero, **changed}
        return Slurm(**own)

    def held(self, job: str) -> ClusterJob | None:
        """Return a waiting job outside the plan, such as a held one. ``None`` if it is planned or unknown."""
        known = set(self.workload.columns.texts())
        return next(
            (
                each
                for each in self.snapshot.waiting
                if job in (each.id, *each.ids) and not known & {each.id, *each.ids}
            ),
            None,
        )

    def waiting(self, job: str) -> str:
        """Return the id of a waiting job; of an array, its first task.

        Raises
        ------
        InputError
            If there is no such waiting job in the plan.
        """
        running = {since.id for since in self.state.running}
        ids = [id_ for id_ in self.workload.columns.texts() if id_ not in running]
        first_id = next((id_ for id_ in ids if id_ == job or id_.startswith(f"{job}_")), None)
        if first_id is not None:
            return first_id
        if job in running:
            raise InputError(f"job {job}: expected one that waits, got one that runs")
        held = self.held(job)
        if held is None:
            raise InputError(f"job {job}: expected one that waits and can be planned, got none")
        why = "without a limit" if held.limit is None else f"that waits for {held.reason or 'something else'}"
        raise InputError(f"job {job}: expected one that can be planned, got one {why}")


@contextmanager
def moment_of(snapshot: SnapshotFiles, answers: SiteAnswers, told: str) -> Iterator[SlurmMoment]:
    """Read a moment from files or Slurm, while a spinner shows a text. Temporary files stay until the end."""
    with temporary_folder() as made, spinner(told):
        answers = in_folder(answers, snapshot.site)
        config, sacct, names, reserved = asked_files(answers, Path(made), ask=snapshot.asks)
        past = slurm_workload(sacct, config, timezone=answers.timezone)
        say_of_limits(names)
        site = read_slurm_conf(config)
        seen = snapshot.read()
        reservations = read_slurm_reservations(reserved, site) if reserved else ()
        say_of_reservations(reservations)
        workload, state = standing_jobs(seen, site, past, reservations)
        shut = [node.name for node in seen.nodes if node.reserved and reserved is None]
        if shut:
            say(
                "note",
                f"{first_of(shut, 5)}: a reservation closes them for ever here; --reservations says when it ends",
            )
        options = {
            "config": str(config),
            "shares": answers.shares,
            "limits": names,
            "reservations": str(reserved or ""),
        }
        yield SlurmMoment(
            seen,
            workload,
            state,
            site,
            read_slurm_limits(names, site.settings.get("clustername", "")) if names else None,
            reservations,
            options,
            started_at(workload),
        )


def in_folder(answers: SiteAnswers, site: Path | None) -> SiteAnswers:
    """Return the files of a site, with those of an export folder in place of those that are not given."""
    if site is None:
        return answers
    folder = SiteFolder(site)
    return replace(
        answers,
        config=answers.config or folder.need(folder.config, "--config", CONFIG),
        sacct=answers.sacct or folder.need(folder.sacct, "--sacct", SACCT),
        limits=answers.limits or folder.limits,
        reservations=answers.reservations or folder.reservations,
    )


def asked_files(answers: SiteAnswers, folder: Path, *, ask: bool = False) -> tuple[Path, Path, str, Path | None]:
    """Return configuration, accounting records, limits and reservations. `ask` requests missing ones from Slurm.

    Configuration and accounting records are always requested. Limits and reservations are requested only for the
    present.
    """
    limits = list(answers.limits)
    reserved = answers.reservations
    config = answers.config or configuration(folder)
    if ask and not limits:
        try:
            asked_limits = limits_of(folder)
            limits = [asked_limits] if asked_limits.read_bytes().strip() else []
        except CommandFailedError as error:
            say("note", f"{error}; no limits are known")
    if ask and reserved is None:
        reserved = reservations_of(folder)
    return config, answers.sacct or accounting(folder, DAYS), ";".join(map(str, limits)), reserved


def accounted(answers: SiteAnswers, folder: Path) -> Workload:
    """Return the jobs of the accounting records."""
    return read(answers.sacct or accounting(folder, DAYS), timezone=answers.timezone)
