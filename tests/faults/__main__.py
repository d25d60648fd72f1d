"""Kill campaigns at random instants: ``PYTHONPATH=tests python -m faults --kills 1000 [--first SEED]``.

Each kill -9 hits the client, one of its two workers, the server that forks these, or the whole group. The campaign uses
one or two processes, or the command started it, or two campaigns share one store. No kill may damage a stored cell. A
complete campaign must have left, byte for byte, the store of an undisturbed one, and no unfinished file. No kill leaves
a process. Temporary folders that it leaves are gone after the last campaigns, which nothing disturbs.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import small_campaign
from kept_cells import deterministic
from patience import PATIENCE

from hpcdispatch.base.unfinished_files import UNFINISHED
from hpcdispatch.bench.campaigns.execution import CampaignPlan, Store, plan_campaign, run_campaign

#: Eight small cells: the less time each takes, the more often a kill comes between two steps of the store.
TEXT = small_campaign.TEXT.format(jobs=20).replace("seeds = 3", "seeds = 1")
#: A folder in memory. The effect of a kill does not depend on the disk, and a disk would delay every write.
IN_MEMORY = Path("/dev/shm")
#: Kinds of campaigns: processes of one client, and whether the command starts it.
WAYS = {"alone": (1, False), "two at once": (1, False), "workers": (2, False), "command": (2, True)}
#: How often of 31. The last two take twenty times as long: they import everything anew.
SHARES = (20, 8, 2, 1)
#: The share of a campaign's time within which an early kill comes.
SOON = 0.4
#: Victims: the client, one of its workers, the server that forks these, or the group.
CLIENT = ("client",)
ANYBODY = ("client", "worker", "worker", "server", "group")
VICTIMS = {"alone": CLIENT, "two at once": CLIENT, "workers": ANYBODY, "command": ANYBODY}


@dataclass
class Campaign:
    """A campaign, its expected store, and the counts of kills."""

    file: Path
    plan: CampaignPlan
    expected: dict
    rng: random.Random
    counts: Counter = field(default_factory=Counter)
    #: Seconds of a client without kills, per kind of campaign.
    needs: dict = field(default_factory=lambda: dict.fromkeys(WAYS, 2.0))

    def start(self, way, store):
        """Start a client in a session of its own; return its process id."""
        workers, cold = WAYS[way]
        process = os.fork()
        if process:
            return process
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        if cold:
            command = [sys.executable, "-m", "hpcdispatch.cli", "campaign", str(self.file), "--retry"]
            os.execv(sys.executable, [*command, "--workers", str(workers), "--out", str(store.folder)])
        code = 1
        try:
            outcome = run_campaign(self.plan, store, workers=workers, retry=True)
            code = int(bool(outcome.failed))
        finally:
            os._exit(code)

    def live(self, way, store, kill):
        """Run one or two clients. Kill one of the processes at a random instant. Return whether it is done."""
        begin = monotonic()
        victim = self.rng.choice(VICTIMS[way])
        clients = [self.start(way, store) for _ in range(1 + (way == "two at once"))]
        struck = not kill
        after = self.rng.uniform(0, SOON * self.needs[way])
        codes = {}
        while len(codes) < len(clients):
            for client in set(clients) - set(codes):
                ended, status = os.waitpid(client, os.WNOHANG)
                if ended:
                    codes[client] = status
            if not struck and monotonic() - begin > after and clients[0] not in codes:
                struck = self.strike(clients[0], victim, way)
            sleep(0.005)
        if not kill or not struck:
            self.needs[way] = 0.5 * self.needs[way] + 0.5 * (monotonic() - begin)
        left = [client for client in clients if not gone(client)]
        assert not left, f"{way}, {victim}: processes left"
        return not any(codes.values())

    def strike(self, client, victim, way):
        """Kill. Return whether there was a process to kill."""
        found = {"worker": workers_of, "server": servers_of}.get(victim, lambda pid: [pid])(client)
        if not found:
            return False
        with contextlib.suppress(ProcessLookupError):
            if victim == "group":
                os.killpg(client, signal.SIGKILL)
            else:
                os.kill(self.rng.choice(found), signal.SIGKILL)
            self.counts[f"{victim} ({way})"] += 1
        return True


def gone(group):
    """Wait until no process of a group is left. Kill those that stay, and return whether there were none."""
    until = monotonic() + PATIENCE
    with contextlib.suppress(ProcessLookupError):
        while monotonic() < until:
            os.killpg(group, 0)
            sleep(0.005)
        os.killpg(group, signal.SIGKILL)
        return False
    return True


def servers_of(pid):
    """Return the process that a client has started to make its workers."""
    return [child for child in children_of(pid) if b"multiprocessing.forkserver" in command_of(child)]


def workers_of(pid):
    """Return the processes that simulate cells for a client."""
    return [worker for server in servers_of(pid) for worker in children_of(server)]


def children_of(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found


def command_of(pid):
    """Return how a process was called; of one that is gone, nothing."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def undamaged(store):
    """Return how many cells are stored, each of which must be whole."""
    keys = list(store.finished())
    for key in keys:
        assert store.damage(key) is None, (key, store.damage(key))
    return len(keys)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--long", type=float, default=float("inf"), metavar="SECONDS", help="stop after so long")
    given = parser.parse_args()
    rng = random.Random(given.first)
    ended = 0
    checked = 0
    begin = monotonic()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        temporary = Path(name) / "t"  # short, or sockets would be in /tmp
        temporary.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        file = Path(name) / "campaign.toml"
        file.write_text(TEXT)
        plan = plan_campaign(file)
        whole = Store(Path(name) / "whole")
        run_campaign(plan, whole)
        campaign = Campaign(file, plan, deterministic(whole), rng)
        while campaign.counts.total() < given.kills and monotonic() - begin < given.long:
            store = Store(Path(name) / f"store{ended}")
            done = False
            while not done:
                done = campaign.live(
                    rng.choices(list(WAYS), SHARES)[0], store, kill=campaign.counts.total() < given.kills
                )
                checked += undamaged(store)
            assert deterministic(store) == campaign.expected
            assert not list(store.folder.rglob(f"{UNFINISHED}*"))
            ended += 1
            shutil.rmtree(store.folder)
        for way in WAYS:
            assert campaign.live(way, Store(Path(name) / way), kill=False)
        assert not list(temporary.iterdir()), list(temporary.iterdir())
    struck = ", ".join(f"{count} {victim}" for victim, count in sorted(campaign.counts.items()))
    print(f"{campaign.counts.total()} kills ({struck}) over {ended} campaigns of {len(plan.cells)} cells")
    print(f"{monotonic() - begin:,.0f} s; of {checked:,} cells looked at none is damaged, every store as undisturbed")


if __name__ == "__main__":
    main()
