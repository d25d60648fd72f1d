"""Find saved results in a folder: the store of a campaign or a comparison, or from ``hpcdispatch run --out``."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ...analysis.conclusions import Basis
from ...base import InputError
from ...base.files import read_json
from ...base.printed import plain
from ...simulation import Result
from ...simulation.result import FILES, MANIFEST, read_manifest
from ...simulation.trimming import NOTHING, Cut
from ...workloads.power_caps import POWER_CAP
from ...workloads.signals import MAY_WAIT
from ..campaigns.recorded_names import campaigns, named
from ..campaigns.store import damage_of

#: The seed as the last option of a generator, or before another option.
_SEED = re.compile(r"[:,]seed=(\d+)(?=, |$)|(?<=[:,])seed=(\d+),")
#: Begin of the notes on shifted submissions and on resamples.
_SHIFTED, _RESAMPLED = "submissions shifted", "resampled, seed "
#: Most letters of a name: a part with its options has at most as many.
_MOST_OF_NAME = 4_000
_COLUMNS = {
    "jobs": {"id", "submit", "runtime", "start", "end", "wait", "run", "predicted", "units", "status", "user"},
    "attempts": {"id", "start", "end", "useful", "units"},
    "decisions": {"time"},
    "timings": {"what", "seconds"},
}


@dataclass(frozen=True, slots=True)
class Run:
    """A saved result that is not loaded yet.

    Attributes
    ----------
    folder
        Its folder.
    workload
        The workload without the seed: its source, and how submissions were shifted.
    sample
        The hash of the simulated workload. Only results with the same hash are paired.
    seed, dispatcher, predictor, overrun, same_instant
        Settings of the simulation.
    jobs
        Number of jobs in the workload.
    warm_up, cool_down
        Cuts of its campaign.
    basis
        Kind of its sample, see :mod:`hpcdispatch.analysis.conclusions`.
    failing
        Whether nodes fail in it. Other failures of one trace are no other samples.
    compared
        Whether its files were compared with their checksums.
    """

    folder: Path
    workload: str
    sample: str
    seed: int
    dispatcher: str
    predictor: str
    overrun: str
    same_instant: str
    jobs: int
    warm_up: Cut = NOTHING
    cool_down: Cut = NOTHING
    basis: Basis = "trace"
    failing: bool = False
    compared: bool = False

    def load(self) -> Result:
        """Read the result.

        Raises
        ------
        FileNotFoundError, InputError
            If it is incomplete.
        """
        result = Result.load(self.folder, compare=not self.compared)
        for table, expected in _COLUMNS.items():
            missing = expected - set(getattr(result, table).columns)
            if missing:
                raise InputError(f"{self.folder / table}.parquet: expected a column {min(missing)}, got none")
        return result


@dataclass(frozen=True, slots=True)
class FolderResults:
    """The results of a folder.

    Attributes
    ----------
    runs
        Usable results.
    left_out
        One line per unusable result, with the reason.
    campaign
        The campaign that gives their names and cuts; ``None`` if no campaign is recorded.
    """

    runs: tuple[Run, ...]
    left_out: tuple[str, ...] = ()
    campaign: str | None = None


def runs_of(folder: str | PathLike[str], campaign: str | None = None) -> FolderResults:
    """Return the results saved in a folder: a store, a result, or a folder of results.

    Parameters
    ----------
    folder
        The folder.
    campaign
        Name of a campaign in a store; optional if there is only one.

    Raises
    ------
    InputError
        If it is no folder, has no result, or has several campaigns and `campaign` is missing.
    """
    path = Path(folder)
    if not path.is_dir():
        got = "a file" if path.exists() else f"none (compare --out {path} makes one)"
        raise InputError(f"{path}: expected a folder of saved results, got {got}")
    known = campaigns(path)
    if campaign is None and len(known) > 1:
        raise InputError(f"{path}: expected --campaign, as several share this store: {', '.join(known)}")
    if campaign is None and known:
        campaign = known[0]
    left_out: list[str] = []
    read = _labelled(_read(_places(path), left_out)) if campaign is None else _of_campaign(path, campaign, left_out)
    runs: dict[tuple[object, ...], Run] = {}
    for run in read:
        key = (run.workload, run.sample, run.seed, run.dispatcher, run.predictor, run.overrun, run.same_instant)
        if key in runs:
            left_out.append(f"{run.folder}: expected each run once, got the one of {runs[key].folder} again")
            continue
        runs[key] = run
    if not runs and not left_out:
        raise InputError(f"{path}: expected saved results (compare --out {path} writes them), got none")
    return FolderResults(tuple(runs.values()), (*left_out, *_failed(path, campaign)), campaign)


def _of_campaign(path: Path, campaign: str, left_out: list[str]) -> list[Run]:
    """Return the finished cells of a campaign, with its names and cuts."""
    read = []
    missing = 0
    for cell in named(path, campaign):
        place = path / "cells" / cell.key[:2] / cell.key
        if not os.path.lexists(place):
            missing += not (path / "failed" / f"{cell.key}.json").is_file()
            continue
        read += [
            replace(run, workload=plain(cell.workload, _MOST_OF_NAME), warm_up=cell.warm_up, cool_down=cell.cool_down)
            for run in _read([place], left_out)
        ]
    if missing:
        left_out.append(f"{campaign}: cells that are not simulated yet: {missing}")
    return read


def _read(places: Iterable[Path], left_out: list[str]) -> list[Run]:
    """Return the runs with valid descriptions. Add the errors of the others to `left_out`."""
    read = []
    for place in places:
        try:
            read.append(_described(place))
        except (OSError, InputError) as error:
            left_out.append(str(error))
    return read


def _places(path: Path) -> Iterator[Path]:
    """Yield the folders that hold a file of a result."""
    stored = path / "cells"
    folders = [path, *path.iterdir(), *(stored.glob("??/*") if stored.is_dir() else ())]
    for folder in sorted(folders):
        if not folder.name.startswith(".") and any((folder / name).is_file() for name in FILES):
            yield folder


def _described(place: Path) -> Run:
    """Return a run from its manifest. A run in a store must be undamaged."""
    stored = place.parent.parent.name == "cells" and place.name.startswith(place.parent.name)
    if stored and (damage := damage_of(place)) is not None:
        raise InputError(f"{place}: expected what was written, got a damaged cell: {damage}; left out")
    for name in FILES:
        if not (place / name).is_file():
            raise InputError(f"{place}: expected a file {name}, got none")
    manifest, _ = read_manifest(place)
    try:
        return replace(_run(place, manifest), compared=stored)
    except (KeyError, TypeError) as error:
        raise InputError(f"{place / MANIFEST}: expected the manifest of a result, got one without {error}") from None
    except ValueError as error:
        raise InputError(f"{place / MANIFEST}: expected the manifest of a result, got {error}") from None


def _run(place: Path, manifest: dict[str, Any]) -> Run:
    workload = manifest["workload"]
    source, seed = str(workload["source"]), int(manifest["seed"])
    shifts = [note for note in workload["notes"] if note.startswith(_SHIFTED)]
    resampled = any(note.startswith(_RESAMPLED) for note in workload["notes"])
    drawn = _without_seed(source)[1] == seed
    basis: Basis = "resamples" if resampled else "independent" if drawn else "shifts" if shifts else "trace"
    conditions = [f"failures {manifest['failures']['source']}"] if "failures" in manifest else []
    conditions += [f"signal {manifest['signal']['source']}"] if "signal" in manifest else []
    conditions += [
        note.partition(":")[0] for note in workload["notes"] if note.startswith(POWER_CAP) or MAY_WAIT in note
    ]
    names = [source, *(["resampled"] if resampled else []), *shifts, *conditions]
    return Run(
        folder=place,
        basis=basis,
        failing="failures" in manifest,
        # A name of a file may have bytes that are no text; a page and its pictures show their escapes.
        workload=plain(", ".join(names), _MOST_OF_NAME),
        sample=str(workload["sha256"]),
        seed=seed,
        dispatcher=plain(str(manifest["dispatcher"]), _MOST_OF_NAME),
        predictor=plain(str(manifest["predictor"]), _MOST_OF_NAME),
        overrun=str(manifest["overrun"]),
        same_instant=str(manifest["same_instant"]),
        jobs=int(workload["jobs"]),
    )


def _labelled(runs: list[Run]) -> list[Run]:
    """Return the runs, with the part of the workload's name that all seeds share.

    The seed of a generator is removed if it equals the seed of the run in every run. If one name stands for workloads
    of different sizes, the size is added.
    """
    drawn: dict[str, bool] = {}
    for run in runs:
        bare, seed = _without_seed(run.workload)
        drawn[bare] = drawn.get(bare, True) and seed == run.seed
    named = [replace(run, workload=bare) if drawn[bare := _without_seed(run.workload)[0]] else run for run in runs]
    sizes: dict[tuple[str, int], set[int]] = {}
    for run in named:
        sizes.setdefault((run.workload, run.seed), set()).add(run.jobs)
    several = {name for (name, _), jobs in sizes.items() if len(jobs) > 1}
    return [
        replace(run, workload=f"{run.workload}, {run.jobs} jobs") if run.workload in several else run for run in named
    ]


def _without_seed(workload: str) -> tuple[str, int | None]:
    """Return the name of a workload without the seed of its generator, and that seed."""
    match = _SEED.search(workload)
    if match is None:
        return workload, None
    return workload[: match.start()] + workload[match.end() :], int(match[1] or match[2])


def _failed(path: Path, campaign: str | None) -> Iterator[str]:
    """Yield the failures recorded in a store, only those of `campaign` if given."""
    own = None if campaign is None else {cell.key for cell in named(path, campaign)}
    for file in sorted(path.glob("failed/*.json")):
        if own is not None and file.stem not in own:
            continue
        try:
            record = read_json(file, "the record of a failed run")
            said = f"{record['label']}: failed with {record['error']['type']}: {record['error']['message']}"
        except (OSError, ValueError, KeyError, TypeError):
            said = f"{file}: expected the record of a failed run, got something else"
        yield " ".join(said.split())
