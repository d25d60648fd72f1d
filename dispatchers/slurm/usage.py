"""Usage of accounts and users, and their fair-share factors."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ...models.slurm.priorities import Association, decay_over, rank_users
from ...workloads import EndedJob, Job
from ...workloads.slurm_limits import ROOT, SlurmAssociation, member

#: Account and user, start and CPUs of a job.
Charge = tuple[tuple[str, str], int, float]


def restored(charge: Sequence[Any]) -> Charge:
    """Return a charge that was saved, maybe as JSON."""
    (account, user), start, cpus = charge
    return (account, user), start, cpus


class AccountUsage:
    """Tree of accounts and users, with decaying usage.

    It contains all associations, and Slurm's own ``root`` user, which counts too. Without associations, all accounts
    lie below the root, and users enter when they appear.

    Parameters
    ----------
    shares
        Shares by name of an account or a user. They have priority over those of associations. 1 if not named.
    half_life
        Seconds in which usage halves.
    now
        Begin of the accounting, seconds.
    associations
        Output of ``sacctmgr show assoc`` by account and user; the user of an account is empty.
    """

    def __init__(
        self,
        shares: Mapping[str, int],
        half_life: float,
        now: int = 0,
        associations: Mapping[tuple[str, str], SlurmAssociation] | None = None,
    ) -> None:
        self._shares = shares
        self._half_life = half_life
        self._known = associations or {}
        self._root = Association()
        self._accounts: dict[str, Association] = {ROOT: self._root}
        self._above: dict[str, tuple[Association, ...]] = {ROOT: (self._root,)}
        self._users: dict[tuple[str, str], Association] = {}
        self._add_user(ROOT, ROOT)
        for account, user in self._known:
            if user and (account, user) not in self._users:
                self._add_user(account, user)
            elif not user:
                self._account(account)
        self._rank()
        self._ticked = now

    def owner(self, account: str, user: str, partition: str) -> tuple[str, str]:
        """Return the account and the name of a user's association for jobs in a partition."""
        return account, member(self._known, account, user, partition)

    def user(self, account: str, name: str) -> Association:
        """Return a user of an account. A new user is added and ranked."""
        association = self._users.get((account, name))
        if association is None:
            association = self._add_user(account, name)
            self._rank()
        return association

    def _add_user(self, account: str, name: str) -> Association:
        parent = self._account(account)
        association = self._users[account, name] = self._association(name, (account, name))
        parent.children.append(association)
        return association

    def _account(self, name: str) -> Association:
        """Return an account, added with the accounts above it."""
        missing = list[str]()
        while name not in self._accounts and name not in missing:
            missing.append(name)
            name = self._known[name, ""].parent or ROOT if (name, "") in self._known else ROOT
        if name not in self._accounts:  # The accounts are above each other in a circle.
            name = ROOT
        for each in reversed(missing):
            association = self._accounts[each] = self._association(each, (each, ""))
            self._above[each] = (*self._above[name], association)
            self._accounts[name].children.append(association)
            name = each
        return self._accounts[name]

    def _association(self, name: str, key: tuple[str, str]) -> Association:
        known = self._known.get(key)
        shares = self._shares.get(name.partition("/")[0])
        inherits = shares is None and known is not None and known.inherits
        if shares is None:
            shares = 1 if known is None or known.shares is None else known.shares
        return Association(shares, user=bool(key[1]), inherits=inherits)

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
        self._advance(now, running, ended)
        self._rank()

    def idle_ticks(
        self, last: int, period: int, running: Sequence[Charge], ended: Iterable[tuple[Charge, int]]
    ) -> None:
        """Tick every `period` seconds up to `last` while the same jobs run. See :meth:`tick`.

        Usage converges. Once a tick changes nothing, the later ones change nothing either.
        """
        for now in range(self._ticked + period, last + 1, period):
            before = [association.usage for association in self._associations()]
            self._advance(now, running, ended)
            if not ended and before == [association.usage for association in self._associations()]:
                self._ticked = last
                break
            ended = ()
        self._rank()

    def _associations(self) -> Iterator[Association]:
        return chain(self._accounts.values(), self._users.values())

    def _advance(self, now: int, running: Iterable[Charge], ended: Iterable[tuple[Charge, int]]) -> None:
        """Decay usage, and charge jobs since the last tick."""
        left = decay_over(self._half_life, now - self._ticked)
        for association in self._associations():
            association.usage *= left
        for (owner, start, cpus), end in (*((charge, now) for charge in running), *ended):
            spent = max(end - max(start, self._ticked), 0)
            self._charge(owner, cpus * spent * decay_over(self._half_life, spent))
        self._ticked = now

    def past(self, ended: Iterable[EndedJob], cpus: Callable[[Job], float], now: int, period: int) -> None:
        """Charge jobs that ended earlier, up to the last tick during their run.

        Parameters
        ----------
        ended
            The jobs.
        cpus
            Returns the CPUs to charge for a job.
        now
            Time of the resulting usage, seconds.
        period
            Seconds between two ticks. 1 if jobs are charged until their end.
        """
        self._ticked = now
        for each in ended:
            owner = self.owner(each.job.group, each.job.user, each.job.queue)
            if owner not in self._users:
                self._add_user(*owner)
            spent = max(each.end - each.end % period - each.start, 0)
            self._charge(owner, cpus(each.job) * spent * decay_over(self._half_life, max(now - each.start, 0)))
        self._rank()

    def usage(self) -> tuple[list[tuple[str, float]], list[tuple[str, str, float]]]:
        """Return the usage of each account, by name, and of each user, by account and name, in order of appearance."""
        accounts = [(name, account.usage) for name, account in self._accounts.items()]
        return accounts, [(*owner, user.usage) for owner, user in self._users.items()]

    def restore(
        self, accounts: Iterable[tuple[str, float]], users: Iterable[tuple[str, str, float]], ticked: int
    ) -> None:
        """Restore the usage of the last tick. Ties go by order of appearance, and rounding may break them."""
        self._ticked = ticked
        for name, used in accounts:
            self._account(name).usage = used
        for account, name, used in users:
            if (account, name) not in self._users:
                self._add_user(account, name)
            self._users[account, name].usage = used
        self._rank()

    def _charge(self, owner: tuple[str, str], used: float) -> None:
        for association in (*self._above[owner[0]], self._users[owner]):
            association.usage += used

    def _rank(self) -> None:
        rank_users(self._root, len(self._users))
