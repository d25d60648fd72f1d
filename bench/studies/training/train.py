"""Train a policy to choose the next job: MaskablePPO on one part of a trace, tested on later parts and other traces.

Run it by ``python -m hpcdispatch.bench.studies.training.train``; it needs ``pip install 'hpcdispatch[train]'``. Each
seed of training gives a policy, saved as plain arrays. ``judge`` compares stored policies with dispatchers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from ....base import InputError
from ....dispatchers import Dispatcher
from ....learn import Network, Rules, load_policy, save_policy
from ....learn.columns import DEFAULT
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
#: Beside the default columns the logarithm of the cores: `share` alone tells small jobs hardly apart.
COLUMNS = (*DEFAULT, "cores")
ENVIRONMENT: Mapping[str, Any] = {
    "id": "PickJob-v0",
    "visible": 64,
    "backfill": "easy",
    "commit": False,
    "observe": "+".join(COLUMNS),
    # With more waiting jobs than rows, those that F2 ranks first. The oldest ones hide all short jobs of a long queue.
    "order": "f2",
}
#: Jobs of an episode.
EPISODE = 256
#: Share of the training part whose stretches choose among the stages of a training.
CHOICE = 1 / 6
#: Number of these stretches, and of stages.
STRETCHES, STAGES = 8, 10
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


def relative_reward(env: Any, workload: Workload, dispatcher: str) -> Any:
    """Return an environment whose rewards are parts of the mean bounded slowdown of a dispatcher on the same jobs.

    That mean differs by a factor of a thousand between stretches. As they are, rewards of a few crowded stretches
    decide all updates: the value function cannot follow them, and its gradient takes the whole step.
    """
    import gymnasium  # noqa: PLC0415 - in an extra

    slowdown = job_metrics(simulate(workload, dispatcher).jobs)["bounded_slowdown"].to_numpy()

    class Relative(gymnasium.Wrapper[Any, Any, Any, Any]):
        scale = 1.0

        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            observation, info = self.env.reset(**options)
            self.scale = float(slowdown[info["start"] : info["start"] + EPISODE].mean())
            return observation, info

        def step(self, action: Any) -> Any:
            observation, reward, *more = self.env.step(action)
            return observation, float(reward) / self.scale, *more

        def action_masks(self) -> Any:
            return self.env.unwrapped.action_masks()  # type: ignore[attr-defined]

    return Relative(env)


def loss_of(network: Network, env: Any, starts: Sequence[int]) -> float:
    """Return the mean over stretches of minus the sum of rewards."""
    total = 0.0
    for start in starts:
        observation, info = env.reset(options={"start": start})
        over = False
        while not over:
            observation, reward, over, _, info = env.step(network(observation, info["action_mask"].astype(bool)))
            total -= reward
    return total / len(starts)


def train(
    workload: Workload,
    seed: int,
    steps: int,
    part: tuple[float, float] = (0.0, PART),
    warm_up: str | None = "easy",
    told: Callable[[str], None] = lambda line: None,
) -> Network:
    """Return a network on the rows of an observation, trained for this many decisions.

    Rewards are relative to EASY, see :func:`relative_reward`. The learning rate falls to 0. Ten stages of the training
    are judged on stretches from the end of `part`, from which no episode is drawn, and the best one is returned.

    Parameters
    ----------
    workload, part
        Where episodes are from.
    seed, steps
        Of the training.
    warm_up
        Episodes begin as this dispatcher left the trace; ``None``: on an empty machine.
    told
        Receives a line per stage.
    """
    import gymnasium  # noqa: PLC0415 - as torch below, in an extra
    import torch  # noqa: PLC0415
    from sb3_contrib import MaskablePPO  # noqa: PLC0415
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy  # noqa: PLC0415
    from stable_baselines3.common.callbacks import BaseCallback  # noqa: PLC0415
    from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: PLC0415

    width = len(COLUMNS)

    class RowNetwork(torch.nn.Module):
        """One small network scores each row; another one values their mean."""

        def __init__(self) -> None:
            super().__init__()
            self.latent_dim_pi = ENVIRONMENT["visible"]
            self.latent_dim_vf = 32
            self.score = torch.nn.Sequential(
                torch.nn.Linear(width, 32),
                torch.nn.Tanh(),
                torch.nn.Linear(32, 16),
                torch.nn.Tanh(),
                torch.nn.Linear(16, 1),
            )
            self.worth = torch.nn.Sequential(torch.nn.Linear(2 * width, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32))

        def forward(self, features: Any) -> tuple[Any, Any]:
            return self.forward_actor(features), self.forward_critic(features)

        def forward_actor(self, features: Any) -> Any:
            return self.score(features.reshape(len(features), -1, width)).squeeze(-1)

        def forward_critic(self, features: Any) -> Any:
            rows = features.reshape(len(features), -1, width)
            return self.worth(torch.cat((rows.mean(1), rows.amax(1)), 1))

    class Policy(MaskableActorCriticPolicy):
        """Takes the scores of the rows as those of the actions."""

        def _build_mlp_extractor(self) -> None:
            extractor: Any = RowNetwork()
            self.mlp_extractor = extractor

        def _build(self, lr_schedule: Any) -> None:
            super()._build(lr_schedule)
            self.action_net = torch.nn.Identity()
            optimizer: Any = self.optimizer_class
            self.optimizer = optimizer(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def network_of(model: Any) -> Network:
        layers = [each for each in model.policy.mlp_extractor.score if hasattr(each, "weight")]
        return Network([(each.weight.detach().numpy().T.copy(), each.bias.detach().numpy().copy()) for each in layers])

    torch.set_num_threads(1)
    options = {name: value for name, value in ENVIRONMENT.items() if name != "id"}
    middle = part[1] - CHOICE * (part[1] - part[0])

    def made(ends: tuple[float, float] = (part[0], middle)) -> Any:
        given = {"workload": workload, "jobs": EPISODE, "part": ends, "warm_up": warm_up, **options}
        return relative_reward(gymnasium.make(f"hpcdispatch/{ENVIRONMENT['id']}", **given), workload, "easy")

    judged = made((middle, part[1]))
    last = round(part[1] * len(workload)) - EPISODE
    starts = np.linspace(round(middle * len(workload)), last, STRETCHES).astype(int).tolist()

    class BestStage(BaseCallback):
        """Keeps the best stage."""

        def __init__(self) -> None:
            super().__init__()
            self.best: tuple[float, Network] | None = None
            self.stage = 0

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            if self.num_timesteps >= self.stage * steps / STAGES:
                self.stage = int(self.num_timesteps * STAGES / steps) + 1
                self.judge()

        def judge(self) -> None:
            network = network_of(self.model)
            loss = loss_of(network, judged, starts)
            told(f"{self.num_timesteps:,} decisions: {loss:.3f} of EASY's bounded slowdown")
            if self.best is None or loss < self.best[0]:
                self.best = loss, network

    choice = BestStage()
    model = MaskablePPO(
        Policy,
        DummyVecEnv([made] * 8),
        n_steps=512,
        batch_size=1024,
        n_epochs=4,
        learning_rate=lambda left: 1e-3 * left,
        gamma=1.0,
        gae_lambda=0.97,
        ent_coef=0.003,
        seed=seed,
        policy_kwargs={"ortho_init": False},
        device="cpu",
    )
    model.learn(steps, callback=choice)
    choice.judge()
    assert choice.best is not None
    return choice.best[1]


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


def spread(results: pd.DataFrame) -> Table:
    """Return the bounded slowdowns of the policies of each seed, and how far they lie apart."""
    by = results[results["contender"].str.startswith("policy ")].groupby("contender")["slowdown"].mean()
    rows = [[str(name), f"{value:.2f}", f"{value / by.min():.2f}"] for name, value in by.sort_values().items()]
    return Table("spread over seeds of training", ["policy", "bounded slowdown", "times the best"], rows)


def table(results: pd.DataFrame, title: str) -> Table:
    """Return each dispatcher's mean bounded slowdown, and the policies' ratio to it, with intervals.

    Seeds of training and stretches are both sampled anew for the intervals. A policy wins where the interval of the
    ratio is below 1.
    """
    heads = ["dispatcher", "bounded slowdown", "wait (s)", "policy / it", "interval", "policy"]
    rng, rows = np.random.default_rng(0), []
    slowdown = results.pivot(index="contender", columns="stretch", values="slowdown")
    learned = slowdown.index.str.startswith("policy ")
    mine = slowdown[learned].to_numpy()
    size = slowdown.shape[1]
    seeds = rng.integers(len(mine), size=(SAMPLES, len(mine), 1))
    stretches = rng.integers(size, size=(SAMPLES, 1, size))
    sampled = mine[seeds, stretches].mean(axis=(1, 2))
    whole = results.assign(contender="policy")[results["contender"].str.startswith("policy ")]
    by = pd.concat([results, whole]).groupby("contender")[["slowdown", "wait"]].mean()
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
        before = None if warm_up == "none" else warm_up
        network = train(workload_of(train_on), seed, steps, warm_up=before, told=partial(click.echo, err=True))
        save_policy(path, network, Rules.of(ENVIRONMENT))
        click.echo(f"trained {path.name}", err=True)
    for name in traces.split():
        if stream:
            results = judge_stream(workload_of(name), paths, rivals.split(), PART)
            title = f"{name}: the last {1 - PART:.0%} as one stream, {BLOCKS} blocks"
        else:
            results = judge(workload_of(name), paths, rivals.split(), jobs, stretches, PART)
            title = f"{name}: {stretches} stretches of {jobs:,} jobs from the last {1 - PART:.0%}"
        show([table(results, title), spread(results)], markdown)


if __name__ == "__main__":
    main()
