"""Usage of accounts and users, and their fair-share factors."""

from collections.abc import Iterable, Mapping

from ...models.slurm.priorities import Association, decay_over, rank_users
from ...workloads import EndedJob

#: Account and user, start and CPUs of a job.
Charge = tuple[tuple[str, str], int, float]


class AccountUsage:
    """Tree of accounts and users, with decaying usage.

    It contains users that have appeared, and Slurm's own ``root``, which counts too.

    Parameters
    ----------
    shares
        Shares by name of an account or a user. 1 if not named.
    half_life
        Seconds in which usage halves.
    now
        Begin of the accounting, seconds.
    """

    def __init__(self, shares: Mapping[str, int], half_life: float, now: int = 0) -> None:
        self._shares = shares
        self._half_life = half_life
        self._root = Association(children=[Association(user=True)])
        self._accounts: dict[str, Association] = {}
        self._users: dict[tuple[str, str], Association] = {}
        self._ticked = now

    def user(self, account: str, name: str) -> Association:
        """Return a user of an account. A new user is added and ranked."""
        found = self._users.get((account, name))
        if found is None:
            parent = self._accounts.get(account)
            if parent is None:
                parent = self._accounts[account] = Association(self._shares.get(account, 1))
                self._root.children.append(parent)
            found = self._users[account, name] = Association(self._shares.get(name, 1), user=True)
            parent.children.append(found)
            self._rank()
        return found

    def tick(self, now: int, running: Iterable[Charge], ended: Iterable[tuple[Charge, int]] = ()) -> None:
        """Decay usage, charge running jobs since the last tick, and rank the users.

        Without `ended`, jobs that started and ended between two ticks are never charged. Slurm does the same, unless
        ``AccountingStorageEnforce`` has ``limits``.

        Parameters
        ----------
        now
            The time, seconds.
        running
            Account and user, start and CPUs of each running job.
        ended
            The same for jobs to charge that ended since the last tick, with their ends.
        """
        left = decay_over(self._half_life, now - self._ticked)
        for association in (self._root, *self._accounts.values(), *self._users.values()):
            association.usage *= left
        for (owner, start, cpus), end in (*((charge, now) for charge in running), *ended):
            spent = max(end - max(start, self._ticked), 0)
            self._charge(owner, cpus * spent * decay_over(self._half_life, spent))
        self._ticked = now
        self._rank()

    def past(self, ended: Iterable[EndedJob], cores: str, now: int, period: int) -> None:
        """Charge jobs that ended earlier, up to the last tick during their run.

        Parameters
        ----------
        ended
            The jobs.
        cores
            Resource to charge.
        now
            Time of the resulting usage, seconds.
        period
            Seconds between two ticks.
        """
        self._ticked = now
        for each in ended:
            owner = (each.job.group, each.job.user)
            cpus = each.job.nodes * each.job.per_node.get(cores, 0)
            self.user(*owner)
            spent = max(each.end - each.end % period - each.start, 0)
            self._charge(owner, cpus * spent * decay_over(self._half_life, max(now - each.start, 0)))
        self._rank()

    def usage(self) -> list[tuple[str, str, float]]:
        """Return account, name and usage of each user, in order of appearance."""
        return [(*owner, user.usage) for owner, user in self._users.items()]

    def restore(self, usage: Iterable[tuple[str, str, float]], ticked: int) -> None:
        """Restore the usage of the last tick."""
        self._ticked = ticked
        for account, name, used in usage:
            self.user(account, name)
            self._charge((account, name), used)
        self._rank()

    def _charge(self, owner: tuple[str, str], used: float) -> None:
        for association in (self._root, self._accounts[owner[0]], self._users[owner]):
            association.usage += used

    def _rank(self) -> None:
        rank_users(self._root, len(self._users) + 1)
