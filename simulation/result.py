"""The result of a simulation."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..base import FloatArray, InputError, part_label, time_text, write_whole
from ..base.checks import check_types
from ..base.checksums import SUMS, TIMINGS_SUM, damage_of_files, sums_of
from ..base.facts import Facts
from ..base.files import open_regular, read_json
from ..base.installed import version_of
from ..base.unfinished_files import UNFINISHED, named, temporary_folder
from ..dispatchers.cp import SiteConstraint
from ..workloads import Signal, Workload
from ..workloads.fitting_requests import units_of
from ..workloads.formats.table_files import bounded_table
from ..workloads.job_columns import text_categories
from ..workloads.machine_state import MachineState
from ..workloads.signals import NO_POWER
from .exports import to_evalys, to_perfetto, to_swf
from .group_metrics import group_columns, manifest_levels
from .metrics import Records, cut_summary, summarize
from .placements import restored, stored
from .plots import ResultPlots
from .recorder import Recorder
from .schema import RENAMED, SCHEMA, schema_of, with_new_names
from .simulation_errors import SimulationError
from .trimming import NOTHING, Cut, cut_of

#: The file that every result folder has.
MANIFEST = "manifest.json"
#: Its tables, each a file.
TABLES = ("jobs", "attempts", "decisions", "timings")
#: Its files, without their checksums.
FILES = (MANIFEST, *(f"{name}.parquet" for name in TABLES))
#: Types of the fields of a manifest.
_TYPES = {
    "dispatcher": str,
    "predictor": str,
    "overrun": str,
    "same_instant": str,
    "seed": int,
    "dropped_shapes": int,
    "workload": {"source": str, "sha256": str, "jobs": int, "notes": [str]},
    "machine": {
        "name": str,
        "resources": [str],
        "total": [int],
        "nodes": int,
        "primary": str,
        "idle_watts": float,
        "levels": dict,
    },
    "state": {"at": int},
}
_PACKAGES = ("hpcdispatch", "accasim", "numpy", "pandas", "scipy", "ortools", "pyarrow")


@dataclass(frozen=True)
class Result(Records):
    """The records of one simulation.

    Times are integer seconds on the trace's clock; intervals are half-open.

    Attributes
    ----------
    jobs
        One row per job, in the order of the trace. ``id, submit, runtime, walltime, nodes, user, group, name, queue,
        kind`` are those of the workload. Where users react, see :func:`.closed_loop`, ``submit`` is the time at which
        the job was submitted in this simulation. The other columns are:

        * ``start`` of the first attempt, -1 if the job never started; ``end`` of the last, or time of the rejection.
        * ``wait`` seconds in the queue, over all attempts.
        * ``run`` seconds of useful work (for a killed job, of its last attempt).
        * ``eligible`` time of the first entry into the queue. It is the submission, unless the job had to wait for a
          begin time or other jobs.
        * ``predicted`` run time at that time; ``attempts``, the number of starts.
        * ``units`` requested of the machine's primary resource (cores, if it has them).
        * of the last attempt: ``shape`` (-1: the request itself), ``run_nodes`` slots and ``run_walltime`` seconds, 0
          without an attempt; ``placement``, the node index of each slot.
        * ``groups``, ``least_groups`` on a machine with levels: groups of the level with the smallest ones on which it
          ran, and in how few it could have started.
        * ``sequential_work`` unit-seconds, the least over its request and its shapes. For a rigid job it is its own
          work.
        * ``lost`` unit-seconds of work that did not count.
        * ``deadline`` seconds after submission by which an on-demand job should start, -1 for none.
        * ``workflow`` number of the jobs connected by dependencies, -1 for none (only with dependencies).
        * ``status`` (completed, killed, rejected); ``reason`` of a kill or rejection.
    attempts
        One row per attempt on the machine: ``id, start, end``, ``outcome`` (completed, limit, killed, checkpointed,
        node-fail), ``shape`` (-1: the request itself), ``nodes`` slots, ``units`` of the primary resource and
        ``placement``. ``useful`` are the seconds of work that counted. ``walltime`` is the time to a kill, seconds, or
        else that of its shape. ``watts`` is the power during the attempt: as recorded, else by the machine's watts
        for each amount (only if the machine has a power, or all jobs have a recorded one).
    decisions
        One row per call of the dispatcher: ``time``, ``queued`` and ``running`` before it, ``started, stopped,
        rejected`` by it, and the dispatcher's own report.
    timings
        Measured times, which differ in every run: ``what`` (decision, prediction, simulation), ``index`` of the
        decision, ``seconds``. Decisions taken together in compiled code share the time of all of them.
    manifest
        Schema number, versions, options, seed and workload hash.
    constraints
        Constraints of the dispatcher, for :func:`.check`; not saved.
    state
        State at the beginning; not saved.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> result = hd.simulate(hd.example(), "easy")
    >>> result.jobs[["id", "submit", "start", "end", "wait"]].head(2)
      id  submit  start   end  wait
    0  1    1510   1510  1538     0
    1  2    1854   1854  1860     0
    >>> round(result.summary()["wait_mean"])
    6611
    """

    constraints: tuple[SiteConstraint, ...] = ()
    state: MachineState | None = None

    @classmethod
    def from_recorder(
        cls,
        workload: Workload,
        recorder: Recorder,
        manifest: dict[str, Any],
        seconds: float,
        constraints: tuple[SiteConstraint, ...] = (),
        state: MachineState | None = None,
    ) -> Result:
        """Build the tables from the records; `seconds` is the measured time of the simulation."""
        jobs = recorder.jobs_frame()
        attempts = recorder.attempts_frame(jobs["id"])
        decisions = recorder.decisions_frame()
        for name, column in group_columns(workload, jobs, attempts).items():
            jobs[name] = column
        watts = _watts(workload, attempts)
        if watts is not None:
            attempts["watts"] = watts
        return cls(jobs, attempts, decisions, _timings(recorder, seconds), manifest, constraints, state)

    def with_signal(self, signal: Signal) -> Result:
        """Return the result with the emissions or the cost of its energy by a signal.

        ``attempts`` get the column ``emissions_kg`` or ``energy_cost``, and the summary its sum with that of the idle
        machine.

        Raises
        ------
        InputError
            If the machine has no power, or the signal does not cover the schedule.
        """
        attempts = self.attempts
        if "watts" not in attempts:
            raise InputError(f"{signal.name}: {NO_POWER}")
        column = {"emissions": "emissions_kg", "price": "energy_cost"}[signal.kind]
        start, end = attempts["start"].to_numpy(), attempts["end"].to_numpy()
        # Watts times value times seconds: of g / kWh to kg, and of a price / MWh to the price, are one factor.
        made = attempts.assign(**{column: attempts["watts"].to_numpy() * signal.total(start, end) / 3.6e9})
        idle = 0.0
        if len(attempts):
            idle = self.manifest["machine"].get("idle_watts", 0.0) / 3.6e9
            idle *= float(signal.total(int(self.jobs["submit"].min()), int(end.max())))
        given = {"source": signal.name, "sha256": signal.digest, "kind": signal.kind, "column": column, "idle": idle}
        return replace(self, attempts=made, manifest={**self.manifest, "signal": given})

    @property
    def plot(self) -> ResultPlots:
        """Plots: ``gantt()``, ``utilization()``, ``queue()``, ``waits()``, ``slowdown_by_size()``."""
        return ResultPlots({str(self.manifest.get("dispatcher", "")): [self]})

    to_swf = to_swf
    to_evalys = to_evalys
    to_perfetto = to_perfetto

    def __repr__(self) -> str:
        """Return a short text with the workload and the main metrics."""
        return self._facts().text()

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        named = (str(self.manifest.get(name, "")) for name in ("dispatcher", "predictor"))
        title = f"Result of {' with '.join(named)} predictions on {self.manifest.get('workload', {}).get('source', '')}"
        if not all(len(getattr(self, name).columns) for name in TABLES):
            return Facts(title, [("tables", "some are not loaded")])
        summary = self.summary()
        counts = ", ".join(f"{summary[name]:,.0f} {name}" for name in ("completed", "killed", "rejected"))
        wait, slowdown = (
            ", ".join(f"{name} {show(summary[f'{metric}_{name}'])}" for name in ("mean", "median", "p95", "max"))
            for metric, show in (("wait", time_text), ("bounded_slowdown", "{:,.4g}".format))
        )
        return Facts(
            title,
            [
                ("jobs", f"{len(self.jobs):,}: {counts}"),
                ("wait", wait),
                ("bounded slowdown", slowdown),
                ("utilization", f"{summary['utilization']:.1%}"),
                ("makespan", time_text(summary["makespan"])),
                ("more", ".jobs, .attempts, .decisions, .summary(), .plot, .save(folder)"),
            ],
        )

    @cached_property
    def _basic_summary(self) -> dict[str, float]:
        return summarize(self)

    def summary(self, warm_up: str | Cut = NOTHING, cool_down: str | Cut = NOTHING) -> dict[str, float]:
        """Return the metrics as a flat dictionary.

        Parameters
        ----------
        warm_up, cool_down
            Jobs at both ends by submission that the metrics leave out, such as ``"5%"``, ``"200 jobs"`` or ``"2d"``.
            Utilization is then from the first to the last submission that is left. Occupancy, efficiency, lost work,
            makespan and measured times stay those of the whole simulation.

        Returns
        -------
        dict
            Undefined means are NaN. The metrics are:

            * ``jobs`` that ran, and the counts ``completed, killed, rejected``.
            * ``dropped_shapes`` that do not fit the machine, if any; ``failures``, decisions with a ``failure``, if a
              dispatcher reports them.
            * ``wait``, ``turnaround``, ``slowdown``, ``bounded_slowdown``, each with ``_mean, _median, _p95, _p99,
              _max``. They are for all jobs, and with the suffixes ``_short`` (run time < 1 h), ``_medium`` (1-5 h),
              ``_long`` (> 5 h).
            * ``turnaround_gmean``, the geometric mean, with 0 s counted as 1.
            * ``efficiency``, the sequential work of completed jobs over all used unit-seconds. It falls if jobs run
              wider than they speed up, or work is lost.
            * ``utilization`` (useful work over capacity, from first submission to last end) and ``occupancy`` (all
              work).
            * ``lost`` unit-seconds; ``makespan`` s.
            * ``decisions``, ``decision_ms_mean, _p95, _max``, ``prediction_s``, ``simulation_s``.

            On a machine with levels, see :func:`.group_metrics`:

            * ``groups_mean`` of a job at the level with the smallest groups, and ``groups_mean_LEVEL`` at the others.
            * ``crossed``: jobs in several groups although one had room; ``crossed_share`` of those that started.
            * ``fragmentation``: share of free nodes in groups with too few for a job of a common size.

            With on-demand jobs:

            * ``on_demand_jobs``; ``delay`` from submission to the first start, s, with ``_mean, _median, _p95, _p99,
              _max``.
            * ``missed`` and ``missed_share``: jobs that started after their deadline or never.
            * ``evictions_killed, evictions_checkpointed`` of batch jobs.
            * ``lost_node_hours`` of batch jobs, and the part lost by kills, ``lost_node_hours_killed``. The rest is the
              writing of checkpoints.
            * ``batch_wait``, ``batch_turnaround``, ``batch_slowdown``, ``batch_bounded_slowdown`` of the batch jobs
              alone, with the same suffixes.

            Of registered metrics, see :mod:`~hpcdispatch.simulation.metrics`:

            * ``backfill_rate``, the share of started jobs that overtook an earlier entry of the queue.
            * with known users: ``users``, ``user_slowdown_mean`` and ``user_slowdown_max`` of their mean bounded
              slowdowns, and Jain's index of these, ``jain_index``.
            * with dependencies: ``workflows``, ``workflows_broken`` and ``workflow_makespan`` with the suffixes of the
              waits.
            * ``energy_kwh``, ``power_peak_kw``, ``power_mean_kw`` and ``energy_wh_per_core_hour`` if the machine has a
              power; ``emissions_kg`` or ``energy_cost`` and ``put_off_mean`` after :meth:`with_signal`.
            * ``node_failures`` and ``lost_core_hours`` if nodes may fail, see :func:`.with_failures`.
        """
        cuts = [cut_of(name, each) for name, each in (("warm_up", warm_up), ("cool_down", cool_down))]
        if not any(cut.amount for cut in cuts):
            return dict(self._basic_summary)
        return cut_summary(self, *cuts)

    def save(self, directory: str | PathLike[str]) -> Path:
        """Write the tables as Parquet and the manifest as JSON. Return the directory.

        All files except ``timings.parquet`` and its checksum have the same bytes in every run. On a machine of one
        node, tables have the number of ``slots`` in place of ``placement``. ``SHA256SUMS`` and ``timings.sha256`` have
        the checksums of all files; :meth:`load` compares them.

        The result is complete or missing. It is written to a temporary folder beside, and renamed when complete. In an
        existing folder its files are replaced one by one, the manifest last.

        Raises
        ------
        OSError
            If it cannot be written. No part of it is left.
        SimulationError
            If a dispatcher reported values that no column can hold. No part of it is left.
        """
        folder = Path(directory)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(folder.parent, UNFINISHED) as made:
            self._write(made)
            if not folder.exists():
                folder.mkdir()
            (folder / MANIFEST).unlink(missing_ok=True)
            for name in (*sorted({*FILES, SUMS, TIMINGS_SUM} - {MANIFEST}), MANIFEST):
                os.replace(made / name, folder / name)
        return folder

    def _write(self, folder: Path) -> None:
        """Write the files."""
        pool = self.manifest.get("machine", {}).get("nodes") == 1
        for name in TABLES:
            table = getattr(self, name)
            try:
                (stored(table) if pool else table).to_parquet(folder / f"{name}.parquet", index=False)
            except OSError as error:
                raise named(error, folder / f"{name}.parquet") from None
            except (ValueError, TypeError, OverflowError) as error:
                reason = "; ".join(map(str, reversed(error.args)))  # the column, before the value
                where = f"{self.manifest.get('dispatcher')}: {name} with what it reports"
                raise SimulationError(f"{where} cannot be saved: {type(error).__name__}: {reason}") from error
        text = json.dumps(self.manifest, indent=2, sort_keys=True) + "\n"
        write_whole(folder / MANIFEST, text)
        for name, sums in sums_of({name: folder / name for name in FILES}).items():
            write_whole(folder / name, sums)

    @classmethod
    def load(cls, directory: str | PathLike[str], only: Collection[str] = TABLES, *, compare: bool = True) -> Result:
        """Read a result of :meth:`save`, from this version or an earlier one.

        Parameters
        ----------
        directory
            The folder.
        only
            Names of the tables to read. The others have neither rows nor columns.
        compare
            Whether to compare the files with their checksums first. Without it, whoever calls has done so.

        Raises
        ------
        FileNotFoundError
            If the directory or one of its files is missing.
        InputError
            If a file is invalid, damaged, or written by a newer version.
        """
        folder = Path(directory)
        for name in FILES:
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name}: no such file; expected a directory written by Result.save")
        # Results of earlier versions have no checksums.
        checked = (folder / SUMS).exists() or (folder / TIMINGS_SUM).exists()
        if checked and compare:
            damage = damage_of_files(folder, FILES, (MANIFEST, *(f"{name}.parquet" for name in only)))
            if damage is not None:
                raise InputError(f"{folder}: expected what was written, got a damaged result: {damage}")
        manifest, schema = read_manifest(folder)
        tables = dict.fromkeys(TABLES, pd.DataFrame())
        for name in only:
            try:
                with open_regular(folder / f"{name}.parquet") as file:
                    table = restored(bounded_table(folder / f"{name}.parquet", file, trusted=checked))
                tables[name] = table if schema == SCHEMA else table.rename(columns=RENAMED[name])
            except InputError:
                raise
            except Exception as error:  # noqa: BLE001 - columns of any type and content come out of a file
                reason = str(error).partition("\n")[0]
                raise InputError(f"{folder / name}.parquet: expected a Parquet table, got {reason}") from None
        return cls(tables["jobs"], tables["attempts"], tables["decisions"], tables["timings"], manifest)


def read_manifest(folder: Path) -> tuple[dict[str, Any], int]:
    """Return the manifest of a saved result with current names, and the schema of its files.

    Raises
    ------
    InputError
        If it is no manifest, or written by a newer version.
    """
    path = folder / MANIFEST
    read = read_json(path, "the manifest of a result")
    if not isinstance(read, dict):
        raise InputError(f"{path}: expected a JSON object, got {type(read).__name__}")
    schema = schema_of(read, path)
    if schema != SCHEMA:
        if read.pop("format", None) != 1:
            raise InputError(f"{path}: expected the manifest of a result, got one without a schema number")
        read = {"schema": SCHEMA, **with_new_names("manifest", read)}
    try:
        optional = dict.fromkeys(("idle_watts", "levels", "dropped_shapes", "state", "sha256", "same_instant"))
        types, names = _TYPES, optional
        if schema != SCHEMA:
            types, names = (with_new_names("manifest", each) for each in (types, names))
        check_types(str(path), read, types, names)
    except ValueError as error:
        raise InputError(f"{error}; expected the manifest of a result") from None
    machine = read["machine"]
    if machine["primary"] not in machine["resources"] or len(machine["total"]) != len(machine["resources"]):
        raise InputError(f"{path}: machine: expected an amount of each resource and a primary one, got others")
    return read, schema


def manifest(workload: Workload, named: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that determine the records: versions, options, seed, and the workload's hash."""
    machine = workload.machine
    return {
        "schema": SCHEMA,
        "dispatcher": part_label(named["dispatcher"]),
        "predictor": part_label(named["predictor"]),
        **options,
        "workload": {
            "source": workload.provenance.source,
            "sha256": workload.digest(),
            "jobs": len(workload.jobs),
            "notes": list(workload.provenance.notes),
        },
        "machine": {
            "name": machine.name,
            "resources": list(machine.resources),
            "total": machine.capacity.sum(axis=0).tolist(),
            "nodes": machine.nodes,
            "primary": machine.resources[machine.primary],
            **({} if machine.power is None else {"idle_watts": machine.power.idle}),
            **manifest_levels(workload),
        },
        "versions": {"python": platform.python_version(), **{name: version_of(name) for name in _PACKAGES}},
    }


def _watts(workload: Workload, attempts: pd.DataFrame) -> FloatArray | None:
    """Return the power of the job of each attempt, watts; ``None`` if it is not known of all.

    It is the recorded one where there is any, else that of the machine's watts for each amount.
    """
    power = workload.machine.power
    known = _recorded_watts(workload)
    if power is None and (known is None or np.isnan(known).any()):
        return None
    place = {id_: row for row, id_ in enumerate(workload.columns.texts())}
    rows = np.array([place[id_] for id_ in attempts["id"].tolist()], dtype=np.int64)
    watts = np.full(len(attempts), np.nan) if known is None else known[rows]
    if power is None:
        return watts
    jobs = workload.jobs
    for row in np.flatnonzero(np.isnan(watts)).tolist():
        at = int(attempts["shape"].iloc[row])
        nodes, per_node, _ = units_of(jobs[rows[row]].on_shape(None if at < 0 else at))
        watts[row] = power.of(nodes, per_node)
    return watts


def _recorded_watts(workload: Workload) -> FloatArray | None:
    """Return the mean power of each job as recorded: ``power``, watts, or ``energy``, joules. NaN where unknown."""
    records = workload.records
    if records is None or not {"power", "energy"} & set(records.columns):
        return None
    mean_power = np.full(len(workload), np.nan)
    if "energy" in records:
        joules = pd.to_numeric(records["energy"], errors="coerce").to_numpy(dtype=float)
        mean_power = np.where(joules > 0, joules / np.maximum(workload.columns.runtime, 1), np.nan)
    if "power" in records:
        watts = pd.to_numeric(records["power"], errors="coerce").to_numpy(dtype=float)
        mean_power = np.where(watts > 0, watts, mean_power)
    return None if np.isnan(mean_power).all() else mean_power


def _timings(recorder: Recorder, seconds: float) -> pd.DataFrame:
    """Return the measured times, those of the decisions first."""
    count = len(recorder.decision_ns)
    what = np.zeros(count + 2, dtype=np.int8)
    index = np.arange(count + 2)
    times = np.empty(count + 2)
    what[count:], index[count:] = (1, 2), 0
    np.divide(np.frombuffer(recorder.decision_ns, dtype=np.int64), 1e9, out=times[:count])
    times[count:] = recorder.prediction_ns / 1e9, seconds
    kinds = pd.Categorical.from_codes(what, dtype=text_categories(("decision", "prediction", "simulation")))
    return pd.DataFrame({"what": kinds, "index": index, "seconds": times}, copy=False)
