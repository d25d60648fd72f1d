"""How often intervals of the ratio to EASY cover the true one, by the kind of the samples.

Run it by ``python -m hpcdispatch.bench.studies.coverage``. Workloads come from the Lublin model. The true ratio is that
of the mean waits over many samples. Each trial takes ten independent samples, one sample in blocks, or ten shifted
copies of one sample. The last is the control: it must fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import click
import numpy as np

from ...analysis.conclusions import Daily, of_days, of_samples
from ...base import FloatArray
from ...simulation import simulate
from ...workloads import generate, jitter
from ..reports.tables import Table

RIVALS = ("easy-sjbf", "lxf", "sjf")
BASE = "easy"
#: Share of the trials below which an interval must not be called one of 95%.
LEAST = 0.88
#: Samples in a trial, and the largest shift of the control, seconds.
SAMPLES, SHIFT = 10, 60


@dataclass(frozen=True, slots=True)
class Sampled:
    """Waits of one sample: the mean and the days of each dispatcher."""

    means: dict[str, float]
    days: dict[str, Daily]


def sampled(load: float, jobs: int, seed: int) -> Sampled:
    """Return the waits of one sample under all dispatchers."""
    workload = generate(f"lublin:jobs={jobs},load={load}", seed=seed)
    means, days = {}, {}
    for name in (BASE, *RIVALS):
        found = simulate(workload, name).jobs
        wait = found["wait"].to_numpy(dtype=float)
        means[name] = float(wait.mean())
        days[name] = Daily.of(found["submit"].to_numpy(), wait)
    return Sampled(means, days)


def shifted(load: float, jobs: int, seed: int, names: Sequence[str]) -> dict[str, FloatArray]:
    """Return the mean waits of shifted copies of one sample, by dispatcher."""
    workload = generate(f"lublin:jobs={jobs},load={load}", seed=seed)
    copies = [jitter(workload, SHIFT, np.random.default_rng(copy)) for copy in range(SAMPLES)]
    return {
        name: np.array([simulate(each, name).jobs["wait"].to_numpy(dtype=float).mean() for each in copies])
        for name in names
    }


def coverage(load: float, jobs: int, samples: int, trials: int, controls: int) -> list[list[str]]:
    """Return a row for each rival: how often each kind of interval covers the true ratio."""
    drawn = [sampled(load, jobs, seed) for seed in range(samples)]
    rng = np.random.default_rng(0)
    rows = []
    shifts = [shifted(load, jobs, seed, (BASE, *RIVALS)) for seed in range(controls)]
    base = np.array([each.means[BASE] for each in drawn])
    for name in RIVALS:
        mine = np.array([each.means[name] for each in drawn])
        true = float(mine.mean() / base.mean())
        chosen = [rng.choice(samples, SAMPLES, replace=False) for _ in range(trials)]
        of_ten = [of_samples(mine[rows_], base[rows_]) for rows_ in chosen]
        of_one = [of_days(each.days[name], each.days[BASE]) for each in drawn]
        known = [each for each in of_one if not each.reason]
        ranges = [of_samples(each[name], each[BASE], "shifts").span for each in shifts]
        covers = [
            np.mean([each.low <= true <= each.high for each in estimates]) if estimates else np.nan
            for estimates in (of_ten, known)
        ]
        control = np.mean([low <= true <= high for low, high in ranges]) if ranges else np.nan
        texts = ["-" if np.isnan(each) else f"{each:.0%}" for each in (*covers, control)]
        rows.append([f"{load:g}", name, f"{true:.3f}", *texts, f"{len(of_one) - len(known)} of {samples}"])
    return rows


@click.command()
@click.option("--loads", default="0.6,0.75,0.9", show_default=True, help="Offered loads.")
@click.option("--jobs", type=click.IntRange(100), default=10_000, show_default=True, help="Jobs in each workload.")
@click.option("--samples", type=click.IntRange(20), default=60, show_default=True, help="Samples of each load.")
@click.option("--trials", type=click.IntRange(10), default=200, show_default=True, help="Trials of ten samples.")
@click.option("--controls", type=click.IntRange(0), default=10, show_default=True, help="Samples that are shifted.")
def main(loads: str, jobs: int, samples: int, trials: int, controls: int) -> None:
    """Print how often the intervals cover the true ratio. In full: --samples 3000 --trials 200 --controls 200."""
    rows = [row for load in loads.split(",") for row in coverage(float(load), jobs, samples, trials, controls)]
    heads = ("load", "dispatcher", "true ratio", "10 samples", "one trace, blocks", "range over shifts", "no interval")
    note = (
        f"Share of {trials} trials whose interval covers the ratio of the mean waits over {samples} samples of "
        f"{jobs:,} jobs. Blocks: each sample once. The range over 10 shifts of one sample is the control. Below "
        f"{LEAST:.0%} an interval must not be called one of 95%."
    )
    print(Table("Coverage of the intervals", heads, rows, 2, note).markdown())


if __name__ == "__main__":
    main()
