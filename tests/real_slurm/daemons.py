"""The daemons of a Slurm and its accounting database. Their files are in one folder, their ports on loopback."""

import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sbatch", "munged", "mariadbd", "mariadb-install-db", "faketime")
#: User and account with these shares.
USERS = {"hpcdispatch-a": ("phys", 10), "hpcdispatch-b": ("chem", 20)}
#: Seconds that a daemon may take to answer, by its clock.
PATIENCE = 1200


def missing() -> str:
    """Return the obstacle to a Slurm here, empty if there is none."""
    if os.geteuid() != 0:
        return "root"
    if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"{', '.join(lacking)} (.ci/slurm installs them)"
    known = {user.pw_name for user in pwd.getpwall()}
    if lacking := sorted(set(USERS) - known):
        return f"users {', '.join(lacking)} (.ci/slurm makes them)"
    return ""


class Daemons:
    """A Slurm of some nodes of 4 cores. It runs within its context."""

    def __init__(self, folder: Path, nodes: int, conf: Path, before: Path | None = None):
        self.folder = folder
        self.nodes = nodes
        self.conf = conf
        self.before = before
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        self.running: list[subprocess.Popen] = []

    def __enter__(self):
        self.folder.chmod(0o755)
        for name in ("state", "database", *(f"n{number}" for number in range(1, self.nodes + 1))):
            (self.folder / name).mkdir()
        Path("/run/slurm").mkdir(exist_ok=True)
        self._configure()
        try:
            self._munge()
            self._database()
            self._accounting()
            self._slurm()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.running):
            process.terminate()
        until = time.monotonic() + PATIENCE / 4
        for process in reversed(self.running):
            try:
                process.wait(max(until - time.monotonic(), 1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _configure(self):
        first = free_ports(self.nodes + 3)
        self.port = first + 2
        where = {"folder": self.folder, "host": socket.gethostname().partition(".")[0], "first": first}
        texts = {"slurm.conf": configuration(self.conf), "slurmdbd.conf": (HERE / "slurmdbd.conf").read_text()}
        texts["gres.conf"] = gpus(texts["slurm.conf"])
        for name, text in texts.items():
            path = self.folder / name
            path.write_text(filled_in(text, self.nodes, **where))
            path.chmod(0o600 if name == "slurmdbd.conf" else 0o644)

    def _munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{what}-file={self.folder}/munge.{what}" for what in ("key", "pid", "log", "seed")]
        files.append(f"--socket={self.folder}/munge.socket")
        self._start("munged", "--foreground", "--force", "--num-threads=4", *files)
        self._until((self.folder / "munge.socket").exists, "munged")

    def _database(self):
        data = f"--datadir={self.folder}/database"
        sock = f"--socket={self.folder}/database.socket"
        made = ["mariadb-install-db", "--no-defaults", "--user=root", data, "--skip-test-db"]
        subprocess.run([*made, "--auth-root-authentication-method=normal"], check=True, capture_output=True)
        # Its clock is the machine's. With another clock, threads may sleep for years and never end.
        self._start(
            "mariadbd",
            "--no-defaults",
            "--user=root",
            data,
            sock,
            f"--pid-file={self.folder}/database.pid",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--innodb-buffer-pool-size=64M",
            "--innodb-lock-wait-timeout=900",
            "--performance-schema=OFF",
            LD_PRELOAD="",
        )
        asked = ["mariadb", "--no-defaults", "--user=root", sock, "-e"]
        self._until(lambda: self._answers([*asked, "select 1"]), "mariadbd")
        self._run(
            *asked,
            "create user slurm@'127.0.0.1' identified by 'slurm'; grant all on *.* to slurm@'127.0.0.1';"
            "create user slurm@localhost identified by 'slurm'; grant all on *.* to slurm@localhost",
        )

    def _accounting(self):
        self._start("slurmdbd", "-D")
        self._until(lambda: self._answers(["sacctmgr", "-n", "list", "cluster"]), "slurmdbd")
        self._run("sacctmgr", "-i", "-Q", "add", "cluster", "tried")
        for user, (account, shares) in USERS.items():
            self._run("sacctmgr", "-i", "-Q", "add", "account", account, f"fairshare={shares}")
            self._run("sacctmgr", "-i", "-Q", "add", "user", user, f"account={account}", "fairshare=1")

        if self.before is not None:
            self._run("sh", str(self.before.resolve()))

    def _slurm(self):
        self._start("slurmctld", "-D")
        for number in range(1, self.nodes + 1):
            self._start("slurmd", "-D", "-N", f"n{number}")
        self._until(self._idle, "slurmd")

    def _idle(self) -> bool:
        asked = ["sinfo", "-h", "-N", "-o", "%N", "-t", "idle"]
        done = subprocess.run(asked, capture_output=True, text=True, env=self.environment, check=False)
        return len(set(done.stdout.split())) == self.nodes

    def _start(self, *command: str, **environment: str):
        with (self.folder / "daemons.out").open("ab") as out:
            self.running.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                    env=self.environment | environment,
                )
            )

    def _run(self, *command: str):
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command[:5])}: {done.stdout}{done.stderr}")

    def _answers(self, command: list[str]) -> bool:
        return subprocess.run(command, capture_output=True, env=self.environment, check=False).returncode == 0

    def _until(self, ready, name: str):
        until = time.monotonic() + PATIENCE
        while not ready():
            ended = [process.args[0] for process in self.running if process.poll() is not None]
            if ended or time.monotonic() > until:
                said = (self.folder / "daemons.out").read_text()[-2000:]
                raise SystemExit(f"{', '.join(ended) or name}: no answer\n{said}")
            time.sleep(0.5)


def configuration(conf: Path) -> str:
    """Return the text of a slurm.conf. The nodes are those of `conf` where it has any."""
    common = (HERE / "slurm.conf").read_text()
    own = conf.read_text()
    if "NodeName=" in own:
        common = "".join(line for line in common.splitlines(True) if not line.startswith("NodeName="))
    return common + own


def gpus(text: str) -> str:
    """Return the gres.conf of a slurm.conf. Any devices stand for GPUs. Without them slurmd finds no GPU."""
    found = re.findall(r"(?m)^(NodeName=\S+).*\sGres=gpu:(\d+)", text)
    return "".join(f"{nodes} Name=gpu File=/dev/tty[1-{number}]\n" for nodes, number in found)


def filled_in(text: str, nodes: int, folder: str | Path = "", host: str = "", first: int = 1) -> str:
    """Return a text with its braces filled for so many nodes and ports."""
    known = {"FOLDER": folder, "HOST": host, "NODES": nodes}
    known |= {"CONTROLLER": first, "ACCOUNTING": first + 1, "DATABASE": first + 2}
    known |= {"FIRST": first + 3, "LAST": first + 2 + nodes}
    known["PORTS"] = range(first + 2, first + 3 + nodes)  # from 1 on, as the names of nodes
    return text.format_map(known)


def free_ports(count: int) -> int:
    """Return the first of so many consecutive unused ports."""
    for first in range(21000, 32000, 50):
        if all(map(_is_free, range(first, first + count))):
            return first
    raise SystemExit("no ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
