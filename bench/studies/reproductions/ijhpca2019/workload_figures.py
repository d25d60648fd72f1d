"""Figures 1 to 7, 10 and 11 of Gainaru et al., IJHPCA 2019. Some can be made from printed values, others cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .....base import FloatArray
from .....models.complexity import fit_complexity
from .....workloads import generate
from .....workloads.job_columns import JobColumns
from ..claims import LEAST, by_construction, row
from ..outcome import Claim, ComparedFigure, Drawing, Run, Scale, StudyOutcome, StudySettings
from . import public_runs
from .patterns import PATTERNS
from .workflow_complexity import quicksort_runs

_SEEDS: dict[Scale, int] = {"smoke": 3, "brief": 20, "small": 20, "full": 100}
#: Ratios of figure 7, and that of real logs. The figure has 0.3 where its text has 0.5.
_RATIOS = (0.3, 1.0, 1.2, 1.3)
_BIN = 0.5
_EDGES = np.arange(0, 24 + _BIN, _BIN)
#: Printed: the mean squared errors of figure 3 stay below this.
_FITS = 0.01


def fig3(means: StudySettings) -> StudyOutcome:
    """Return how well quicksort and matrix multiplication follow their complexities. The unit is operations."""
    sorts, products = [], []
    for seed in means.draws(_SEEDS):
        runs = quicksort_runs(seed, means.broken("sizes"))
        fit = fit_complexity(runs["size"], runs["time"]).of("n log n")
        sorts.append(fit.mse / float(np.mean(runs["time"])) ** 2)
        size = np.random.default_rng(seed).integers(10, 1000, 200).astype(float) ** 2
        slope, intercept = np.polyfit(size**1.5, products_of(size), 1)
        error = products_of(size) - slope * size**1.5 - intercept
        products.append(float(np.mean(error**2)) / float(np.mean(products_of(size))) ** 2)
    rows = (
        row("quicksort, n log n", "MSE over the square of the mean", sorts, _FITS, 6),
        row("matrix multiplication, n^1.5", "MSE over the square of the mean", products, _FITS, 6),
    )
    runs = quicksort_runs(0)
    points = {"subject": ["quicksort"] * len(runs), "x": runs["size"].tolist(), "y": runs["time"].tolist()}
    evidence = f"at most {max(sorts):.2g}; the paper: below {_FITS}"
    claims = (
        Claim("Quicksort follows n log n, with a small error", _decided(sorts, max(sorts) < _FITS), evidence),
        by_construction(
            Claim(
                "Matrix multiplication follows n^1.5",
                _decided(products, max(products) < _FITS),
                f"at most {max(products):.2g}; the paper: below {_FITS}",
            )
        ),
    )
    note = (
        f"{len(means.draws(_SEEDS))} times 200 sortings of random arrays, and products of square matrices. The paper "
        "measured seconds on its machine; here comparisons and multiplications are counted, of which a product of "
        "matrices always has n^1.5. The paper does not print the unit of its errors: here they are relative."
    )
    return StudyOutcome((note,), rows, claims, Drawing("points", points, "elements", "comparisons"), runs=_runs(means))


def products_of(size: FloatArray) -> FloatArray:
    """Return the multiplications for two square matrices with this many elements each."""
    side: FloatArray = np.sqrt(size)
    return side**3


def fig6(means: StudySettings) -> StudyOutcome:
    """Return the distribution of the run times of each pattern."""
    drawn = {name: _columns(f"accre:pattern={pattern}", means) for pattern, name in PATTERNS.items()}
    rows: list[ComparedFigure] = []
    for name, each in drawn.items():
        hours = [jobs.runtime / 3600 for jobs in each]
        rows.append(row(name, "mean, h", [float(np.mean(part)) for part in hours], 8 if "normal" in name else None, 2))
        rows.append(row(name, "up to 1 h, %", [100 * float(np.mean(part <= 1)) for part in hours], None, 1))
        rows.append(
            row(name, "3 to 15 h, %", [100 * float(np.mean((part >= 3) & (part <= 15))) for part in hours], None, 1)
        )
    shares = {"(b) 50% large": 50.0, "(c) 80% large": 80.0, "(d) 20% large": 20.0}
    claims = [
        by_construction(
            _share(
                f"{share:g}% of the jobs run for 3 to 15 h: {name}",
                share,
                [100 * float(np.mean(jobs.runtime >= 3 * 3600)) for jobs in drawn[name]],
            )
        )
        for name, share in shares.items()
    ]
    curves = {name: np.concatenate([jobs.runtime for jobs in each]) for name, each in drawn.items()}
    note = (
        f"{len(means.draws(_SEEDS))} draws of 800 jobs of each pattern, as the words of section 4.1 have them: the "
        "axes of the drawings are not printed. So the figure shows what is simulated and tests nothing."
    )
    return StudyOutcome((note,), tuple(rows), tuple(claims), _histogram(curves), runs=_runs(means))


def fig7(means: StudySettings) -> StudyOutcome:
    """Return the distributions of estimates of the second pattern. Its run times are beside them."""
    curves: dict[str, FloatArray] = {}
    rows, short = [], {}
    for ratio in _RATIOS:
        each = _columns(f"accre:pattern=b,mean_er={ratio}", means)
        curves.setdefault("run time", np.concatenate([jobs.runtime for jobs in each]))
        curves[f"estimate, {ratio}"] = np.concatenate([jobs.walltime for jobs in each])
        short[ratio] = [100 * float(np.mean(jobs.walltime < jobs.runtime)) for jobs in each]
        rows.append(row(f"mean estimation ratio {ratio}", "estimates that fall short, %", short[ratio], None, 1))
    real = float(np.mean(short[1.2]))
    low, high = min(short[0.3]), max(short[1.3])
    claims = (
        by_construction(
            Claim(
                "At 1.2, the mean of real logs, 10 to 15% of the estimates fall short",
                _decided(short[1.2], 10 <= real <= 15),
                f"{real:.1f}%; of a normal law with the printed deviation of 0.2 it is 15.9%; the paper: "
                "10-15% drawn, around 16% in its logs",
            )
        ),
        by_construction(_share("At 1, as many fall short as not", 50.0, short[1.0])),
        by_construction(
            Claim(
                "At 0.3 most fall short, at 1.3 most do not",
                _decided(short[0.3], high < 50 < low),
                f"at least {low:.1f}% and at most {high:.1f}%; the paper: mostly",
            )
        ),
    )
    note = (
        f"{len(means.draws(_SEEDS))} draws of 800 jobs of pattern (b), and estimates with a deviation of the ratio of "
        "0.2, never below 0.1. All of it follows from the printed law."
    )
    return StudyOutcome((note,), tuple(rows), claims, _histogram(curves), runs=_runs(means))


def _runs(means: StudySettings) -> str:
    return str(len(means.draws(_SEEDS)))


def _columns(spec: str, means: StudySettings) -> list[JobColumns]:
    return [generate(spec, seed=seed).columns for seed in means.draws(_SEEDS)]


def _decided(samples: Sequence[object], holds: bool) -> bool | None:
    return bool(holds) if len(samples) >= LEAST else None


def _share(text: str, share: float, percentages: Sequence[float]) -> Claim:
    """Return the claim that a percentage equals another. It may differ by three standard errors of the mean."""
    mean = float(np.mean(percentages))
    error = float(np.std(percentages)) / np.sqrt(len(percentages))
    return Claim(
        text, _decided(percentages, abs(mean - share) <= 3 * error + 0.5), f"{mean:.1f}%; the paper: {share:g}%"
    )


def _histogram(curves: dict[str, FloatArray]) -> Drawing:
    """Return the share of jobs by hours, one curve each."""
    data: dict[str, list[object]] = {name: [] for name in ("subject", "x", "y")}
    for name, seconds in curves.items():
        counted, _ = np.histogram(seconds / 3600, _EDGES)
        data["subject"] += [name] * len(counted)
        data["x"] += _EDGES[:-1].tolist()
        data["y"] += (100 * counted / len(seconds)).tolist()
    return Drawing("steps", data, "hours", f"jobs, % by {_BIN:g} h")


#: Makes an outcome of public data. It needs the reason for missing the paper's, and the untestable claims.
Public = Callable[[str, tuple[Claim, ...]], StudyOutcome]


def _bare(reason: str, claims: tuple[Claim, ...]) -> StudyOutcome:
    return StudyOutcome((reason, public_runs.NOTE), (), claims)


def _without(reason: str, *claims: str, public: Public = _bare) -> Run:
    """Return a function that makes a figure from public data. The paper's data are not public."""

    def run(means: StudySettings) -> StudyOutcome:
        del means
        return public(
            reason, tuple(Claim(text, None, "no data; the paper: so", unmet="public data") for text in claims)
        )

    return run


_LOGS = "The logs of ACCRE are not public, and the points of the figure are not printed."
RUNS: dict[str, Run] = {
    "ijhpca2019/fig1": _without(
        f"{_LOGS} `workload analyze` makes it of a log.",
        "Multi-Atlas and dtiQA_v2 run for 11 to 45 h, and write from a few MB to tens of GB",
        public=public_runs.run_by_run,
    ),
    "ijhpca2019/fig2": _without(
        f"{_LOGS} `workload analyze` prints its percentiles of a log.",
        "Most of 31 workflows vary by more than an order of magnitude in run time and traffic",
        "Generic fMRI varies by about 20% in run time and 10% in traffic",
        public=public_runs.ranges,
    ),
    "ijhpca2019/fig3": fig3,
    "ijhpca2019/fig4": _without(
        f"{_LOGS} Classes, correlations and errors are those of Table 1, see `table1`. The public runs have "
        "no input sizes.",
        "fMRIQA_v2 follows n log n, dtiQA_v2 n^2 log n, and Multi-Atlas no function of the size",
    ),
    "ijhpca2019/fig5": _without(
        f"{_LOGS} `workload describe` shows the arrivals of a log. The public runs have no dates.",
        "Days with more workflows do not always have more traffic",
    ),
    "ijhpca2019/fig6": fig6,
    "ijhpca2019/fig7": fig7,
    "ijhpca2019/fig10": _without(
        "The 1,011 runs of Multi-Atlas are not public, and no correlation is printed. `phase_table` of "
        "`analysis/workflows.py` makes it of a log with a column for each phase.",
        "The fusion phase correlates strongly with the time of Multi-Atlas, and registration hardly does",
        "Registration varies much less than fusion",
        public=public_runs.over_time,
    ),
    "ijhpca2019/fig11": _without(
        "The runs and the similarities of images and atlases, by which ranges are predicted, are not public, and the "
        "accuracies are not printed. The predictor `ranges` takes a number of ranges and an accuracy.",
        "The fewer ranges, the more often the right one is predicted",
        public=public_runs.accuracy,
    ),
}
