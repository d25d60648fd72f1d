"""Registered parts with extreme options, on a few jobs."""

import random

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.simulation import Budget, BudgetError, simulate
from hpcdispatch.workloads import GENERATORS

from .inputs import NUMBERS

#: Values within and just beyond the bounds of an option. Very large ones of generators are valid, but slow.
SMALL = (
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "0.5",
    "1.5",
    "1e-9",
    "1e-300",
    "0.999",
    "-1",
    "none",
    "inf",
    "nan",
    "true",
    "1.0",
    "60",
)
#: More of what a dispatcher may stand on.
OVER = (
    "easy",
    "fcfs",
    "conservative",
    "slurm",
    "rounds",
    "sa",
    "evict",
    "toptimal",
    "soft-toptimal",
    "portfolio",
    "hcp1",
    "x",
)
OFTEN = {
    "over": OVER,
    "first": OVER,
    "reference": OVER,
    "of": ("easy+fcfs", "easy", "+", "easy:placement=best-fit+lxf"),
}
#: What a solver takes for each decision, as it is told to.
SHORT = {"d": ("0.001", "0.002", "1e-300", "0", "-1", "nan", "none", "x"), "limit": ("deterministic", "x", "")}
SHORT["d_max"] = SHORT["d"]
#: What makes a workload small.
FEW = {"lublin": "jobs=20", "accre": "jobs=20", "theta": "days=1", "theta-scenario": "jobs=5"}


def drawn_spec(rng, registry, values):
    """Return a part with some options. The others have their defaults."""
    name = rng.choice(registry.names())
    given = {}
    for option in rng.sample(registry.options(name), min(len(registry.options(name)), rng.randint(0, 3))):
        choices = getattr(option.annotation, "__args__", ())
        pool = SHORT.get(option.name) or OFTEN.get(option.name, values)
        if (
            option.name not in SHORT
            and choices
            and all(isinstance(choice, str) for choice in choices)
            and rng.random() < 0.7
        ):
            pool = choices
        given[option.name] = str(rng.choice(pool))
    limited = [option.name for option in registry.options(name) if option.name in ("d", "d_max")]
    return name, dict.fromkeys(limited, "0.001") | given


def written(name, given):
    return name + ":" * bool(given) + ",".join(f"{key}={value}" for key, value in given.items())


def simulated(rng):
    """Return a dispatcher and a predictor."""
    values = NUMBERS if rng.random() < 0.3 else SMALL
    return "\n".join(written(*drawn_spec(rng, registry, values)) for registry in (dispatchers, predictors)).encode()


def generated(rng):
    """Return a generator."""
    name, given = drawn_spec(rng, GENERATORS, NUMBERS if rng.random() < 0.2 else SMALL)
    key, _, value = FEW.get(name, "seed=1").partition("=")
    return written(name, {key: value, **given}).encode()


def simulate_few(path):
    """Simulate some jobs; a part that takes its options goes through with them."""
    from cross.cases import MODES, drawn_workload  # noqa: PLC0415 - it loads what simulates, which others do without

    dispatcher, _, predictor = path.read_bytes().decode("utf-8", "replace").partition("\n")
    seed = random.Random(dispatcher).randrange(1000)
    workload = drawn_workload(seed, ("nodes", "pool")[seed % 2]).head(12)
    try:
        return simulate(workload, dispatcher, predictor, overrun=MODES[seed % 3], budget=Budget(decisions=3000))
    except BudgetError as error:
        raise InputError(str(error)) from error


def generate_few(path):
    """Draw a workload."""
    return GENERATORS.create(path.read_bytes().decode("utf-8", "replace"))


#: What is drawn, the suffix of its file, and what reads it.
PARTS = {"simulated": (simulated, ".txt", simulate_few), "generated": (generated, ".txt", generate_few)}
