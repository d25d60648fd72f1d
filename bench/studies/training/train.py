"""Train a policy to choose the next job: MaskablePPO on one part of a trace, tested on later parts and other traces.

Run it by ``python -m hpcdispatch.bench.studies.training.train``; it needs ``pip install 'hpcdispatch[train]'``. Each
seed of training gives a policy, saved as plain arrays. ``judge`` compares stored policies with dispatchers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from ....base import InputError
from ....dispatchers import Dispatcher
from ....learn import Network, Rules, load_policy, save_policy
from ....simulation import simulate
from ....simulation.metrics import job_metrics
from ....workloads import Workload
from ....workloads.sources import workload_of
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show

#: Baselines of a policy. Orders have EASY behind, as the policy has.
RIVALS = (
    "fcfs",
    "sjf",
    "lxf",
    "easy:order=sjf",
    "easy:order=f1",
    "easy:order=f2",
    "easy:order=f3",
    "easy:order=f4",
    "easy:order=wfp3",
    "easy:order=unicep",
    "easy",
    "easy-sjbf",
    "hcp3",
    "lookahead",
)
ENVIRONMENT: Mapping[str, Any] = {"id": "PickJob-v0", "visible": 64, "backfill": "easy", "commit": False}
TRAINED_ON = "lublin:jobs=20000,processors=256,load=1.0,seed=11"
FOLDER = Path(__file__).parent
#: The part of a trace for training. Test stretches are from the rest.
PART = 0.6
#: Bootstrap samples of an interval.
SAMPLES = 4000
#: Blocks of a continuous stream.
BLOCKS = 12
#: Seed of the first stored policy, the one that comes with hpcdispatch.
FIRST_SEED = 10


def train(
    workload: Workload, seed: int, steps: int, part: tuple[float, float] = (0.0, PART), warm_up: str | None = "easy"
) -> Network:
    """Return a network on the rows of an observation, trained for this many decisions.

    Episodes begin as `warm_up` left the trace; ``None``: on an empty machine.
    """
    import gymnasium  # noqa: PLC0415 - as torch below, in an extra
    import torch  # noqa: PLC0415
    from sb3_contrib import MaskablePPO  # noqa: PLC0415
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy  # noqa: PLC0415
    from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: PLC0415

    class Rows(torch.nn.Module):
        """One small network scores each row; another one values their mean."""

        def __init__(self) -> None:
            super().__init__()
            self.latent_dim_pi = ENVIRONMENT["visible"]
            self.latent_dim_vf = 32
            self.score = torch.nn.Sequential(
                torch.nn.Linear(8, 32),
                torch.nn.Tanh(),
                torch.nn.Linear(32, 16),
                torch.nn.Tanh(),
                torch.nn.Linear(16, 1),
            )
            self.worth = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32))

        def forward(self, features: Any) -> tuple[Any, Any]:
            return self.forward_actor(features), self.forward_critic(features)

        def forward_actor(self, features: Any) -> Any:
            return self.score(features.reshape(len(features), -1, 8)).squeeze(-1)

        def forward_critic(self, features: Any) -> Any:
            rows = features.reshape(len(features), -1, 8)
            return self.worth(torch.cat((rows.mean(1), rows.amax(1)), 1))

    class Policy(MaskableActorCriticPolicy):
        """Takes the scores of the rows as those of the actions."""

        def _build_mlp_extractor(self) -> None:
            extractor: Any = Rows()
            self.mlp_extractor = extractor

        def _build(self, lr_schedule: Any) -> None:
            super()._build(lr_schedule)
            self.action_net = torch.nn.Identity()
            optimizer: Any = self.optimizer_class
            self.optimizer = optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    torch.set_num_threads(1)
    options = {name: value for name, value in ENVIRONMENT.items() if name != "id"}

    def made() -> Any:
        given = {"workload": workload, "jobs": 256, "part": part, "warm_up": warm_up, **options}
        return gymnasium.make(f"hpcdispatch/{ENVIRONMENT['id']}", **given)

    model = MaskablePPO(
        Policy,
        DummyVecEnv([made] * 8),
        n_steps=512,
        batch_size=1024,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,
        gae_lambda=0.97,
        ent_coef=0.003,
        seed=seed,
        policy_kwargs={"ortho_init": False},
        device="cpu",
    )
    model.learn(steps)
    trained: Any = model.policy.mlp_extractor
    layers = [each for each in trained.score if hasattr(each, "weight")]
    return Network([(each.weight.detach().numpy().T, each.bias.detach().numpy()) for each in layers])


def judge(
    workload: Workload, policies: Sequence[Path], rivals: Sequence[str], jobs: int, stretches: int, first: float
) -> pd.DataFrame:
    """Return mean bounded slowdown and wait of dispatchers and policies. Each stretch of a trace has a row.

    Parameters
    ----------
    workload, jobs, stretches, first
        Stretches of so many jobs lie evenly between a share of the trace and its end.
    policies
        Files of policies, one per seed of training.
    rivals
        Dispatchers.
    """
    last = len(workload) - jobs
    if last < round(first * len(workload)):
        raise InputError(f"jobs: expected at most {len(workload) - round(first * len(workload))}, got {jobs}")
    contenders: dict[str, str | Dispatcher] = {f"policy {path.stem}": load_policy(path) for path in policies}
    contenders |= {name: name for name in rivals}
    rows = []
    for begin in np.linspace(first * len(workload), last, stretches).astype(int).tolist():
        part = workload.slice(begin, begin + jobs)
        for name, dispatcher in contenders.items():
            told = simulate(part, dispatcher).summary()
            rows.append(
                {
                    "stretch": begin,
                    "contender": name,
                    "wait": told["wait_mean"],
                    "slowdown": told["bounded_slowdown_mean"],
                }
            )
    return pd.DataFrame(rows)


def judge_stream(workload: Workload, policies: Sequence[Path], rivals: Sequence[str], first: float) -> pd.DataFrame:
    """Return mean bounded slowdown and wait on one continuous stream. Each of 12 blocks of its jobs has a row.

    The stream is the trace from a share on. The tenth of the trace before it is simulated, too, and not counted.
    """
    size = len(workload)
    begin, counted = round(max(0.0, first - 0.1) * size), round(first * size)
    stream = workload.slice(begin, size)
    contenders: dict[str, str | Dispatcher] = {f"policy {path.stem}": load_policy(path) for path in policies}
    contenders |= {name: name for name in rivals}
    rows = []
    for name, dispatcher in contenders.items():
        jobs = job_metrics(simulate(stream, dispatcher).jobs)
        for block, part in enumerate(np.array_split(np.arange(counted - begin, size - begin), BLOCKS)):
            mean = jobs.loc[part].mean()
            row = {"stretch": block, "contender": name, "wait": mean["wait"], "slowdown": mean["bounded_slowdown"]}
            rows.append(row)
    return pd.DataFrame(rows)


def spread(found: pd.DataFrame) -> Table:
    """Return the bounded slowdowns of the policies of each seed, and how far they lie apart."""
    by = found[found["contender"].str.startswith("policy ")].groupby("contender")["slowdown"].mean()
    rows = [[str(name), f"{value:.2f}", f"{value / by.min():.2f}"] for name, value in by.sort_values().items()]
    return Table("spread over seeds of training", ["policy", "bounded slowdown", "times the best"], rows)


def table(found: pd.DataFrame, title: str) -> Table:
    """Return each dispatcher's mean bounded slowdown, and the policies' ratio to it, with 95% intervals.

    Seeds of training and stretches are both sampled anew for the intervals. A policy wins where the interval of the
    ratio is below 1.
    """
    heads = ["dispatcher", "bounded slowdown", "wait (s)", "policy / it", "95% interval", "policy"]
    rng, rows = np.random.default_rng(0), []
    slowdown = found.pivot(index="contender", columns="stretch", values="slowdown")
    learned = slowdown.index.str.startswith("policy ")
    mine = slowdown[learned].to_numpy()
    size = slowdown.shape[1]
    seeds = rng.integers(len(mine), size=(SAMPLES, len(mine), 1))
    stretches = rng.integers(size, size=(SAMPLES, 1, size))
    sampled = mine[seeds, stretches].mean(axis=(1, 2))
    whole = found.assign(contender="policy")[found["contender"].str.startswith("policy ")]
    by = pd.concat([found, whole]).groupby("contender")[["slowdown", "wait"]].mean()
    for name, mean in by.sort_values("slowdown").iterrows():
        cells = [str(name), f"{mean['slowdown']:.2f}", f"{mean['wait']:,.0f}"]
        if str(name).startswith("policy"):
            rows.append([*cells, "", "", ""])
            continue
        other = slowdown.loc[str(name)].to_numpy()
        low, high = np.quantile(sampled / other[stretches[:, 0]].mean(axis=1), (0.025, 0.975))
        verdict = "wins" if high < 1 else "loses" if low > 1 else "no difference"
        rows.append([*cells, f"{mine.mean() / other.mean():.3f}", f"{low:.3f} to {high:.3f}", verdict])
    return Table(title, heads, rows)


@click.command()
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Policies that are trained.")
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    default=200_000,
    show_default=True,
    help="Decisions of each; 0: judge stored ones.",
)
@click.option(
    "--traces", default=f"{TRAINED_ON} kth-sp2", show_default=True, help="What is judged on, with blanks between."
)
@click.option("--jobs", type=click.IntRange(min=10), default=400, show_default=True, help="Jobs per stretch.")
@click.option("--stretches", type=click.IntRange(min=1), default=12, show_default=True)
@click.option("--train-on", default=TRAINED_ON, show_default=True, help="A generator.")
@click.option(
    "--warm-up", default="easy", show_default=True, help="Dispatcher before episodes; none: they begin empty."
)
@click.option("--stream", is_flag=True, help="Judge on one continuous stream per trace instead of stretches.")
@click.option("--rivals", default=" ".join(RIVALS), help="Dispatchers, with blanks between.")
@click.option("--folder", type=click.Path(path_type=Path), default=FOLDER, help="Where policies are.")
@click.option("--markdown", is_flag=True)
@in_one_line()
def main(
    seeds: int,
    steps: int,
    traces: str,
    jobs: int,
    stretches: int,
    train_on: str,
    warm_up: str,
    stream: bool,
    rivals: str,
    folder: Path,
    markdown: bool,
) -> None:
    """Train policies on a generated trace, then judge them."""
    paths = [folder / f"policy{seed}.npz" for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
    for seed, path in enumerate(paths if steps else [], FIRST_SEED):
        network = train(workload_of(train_on), seed, steps, warm_up=None if warm_up == "none" else warm_up)
        save_policy(path, network, Rules.of(ENVIRONMENT))
        click.echo(f"trained {path.name}", err=True)
    for name in traces.split():
        if stream:
            found = judge_stream(workload_of(name), paths, rivals.split(), PART)
            title = f"{name}: the last {1 - PART:.0%} as one stream, {BLOCKS} blocks"
        else:
            found = judge(workload_of(name), paths, rivals.split(), jobs, stretches, PART)
            title = f"{name}: {stretches} stretches of {jobs:,} jobs from the last {1 - PART:.0%}"
        show([table(found, title), spread(found)], markdown)


if __name__ == "__main__":
    main()
