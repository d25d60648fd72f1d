"""Predict that a job runs as long as its user's last similar job (the data-driven heuristic)."""

from collections.abc import Hashable, Iterator, Mapping
from typing import ClassVar, Literal

from ..base import check_choice, check_whole
from ..workloads import Job

_Key = tuple[int, *tuple[Hashable, ...]]
#: Node slots and amounts per slot.
_Resources = tuple[int, Mapping[str, int]] | None

#: Most different resources stored per rule. A prediction compares all of them.
_MOST_RESOURCES = 256

Correction = Literal["walltime", "none"]

WALLTIME_RULE = 7
"""The number of the last rule, which always applies: the walltime."""


class Heuristic:
    """The run time of the user's last similar job, never above the walltime.

    Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017. "-D" in the CP paper (section 5). As
    there, it learns from jobs as they end. It compares a job with the ended jobs of the same user. The first rule with
    a match decides:

    1. Same name, queue, walltime and resources (nodes, amounts per node).
    2. Common name prefix, same queue, walltime and resources.
    3. Same name, queue and walltime.
    4. Common name prefix, same queue and walltime.
    5. Same name.
    6. Common name prefix.
    7. The walltime.

    Among common prefixes the longest wins. Rules 3 and 4 then choose the most similar resources (`difference`) among
    the last 256 different ones. Ties go to the job that ended last.

    A job without a name has no prefix, and rules 2, 4, 5 and 6 skip it. In rules 1 and 3 two missing names are equal.
    So traces without executables, such as KTH, are predicted by queue, walltime and resources. Jobs with unknown users
    count as one user's. A prefix without a letter matches nothing. SWF traces number the executables, so leading
    digits have no meaning.

    A job that overruns its prediction gets the walltime, the last rule. After that it may end at any second.

    A prediction needs a look-up per letter of the name and rule. Rules 3 and 4 also compare all stored resources.
    Memory grows with the number of different profiles and the length of names, not with the number of jobs.

    Parameters
    ----------
    prefix
        Least length of a common prefix, at least 1.
    correction
        ``"walltime"`` as above. ``"none"``: a job that overruns its prediction may end at any second, as in the CP
        paper from version 2 on (section 4, underestimates). By name also any registered correction.

    Raises
    ------
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import Heuristic
    >>> round(hd.simulate("example", "easy", Heuristic()).summary()["wait_mean"])
    6684
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, prefix: int = 1, correction: Correction = "walltime") -> None:
        self.prefix = check_whole("prefix", prefix, 1)
        check_choice("correction", correction, Correction)
        self.correction = correction
        self._latest: dict[_Key, dict[_Resources, tuple[int, int]]] = {}
        self._ended = 0

    def predict(self, job: Job, now: int) -> float:
        """Return the run time of the best match, at most the walltime, seconds."""
        _, seconds = self.match(job)
        return float(min(seconds, job.walltime))

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the walltime, or `elapsed` if no better value is known."""
        return float(max(elapsed, job.walltime if self.correction == "walltime" else 0))

    def match(self, job: Job) -> tuple[int, int]:
        """Return the number of the rule for `job`, 1 to 7, and its uncapped seconds."""
        for key in self._keys(job):
            known = self._latest.get(key)
            if known is not None:
                asked = (job.nodes, job.per_node)
                _, _, seconds = min((difference(asked, of), -ended, ran) for of, (ended, ran) in known.items())
                return key[0], seconds
        return WALLTIME_RULE, job.walltime

    def observe(self, job: Job) -> None:
        """Store the run time of an ended job as the latest under each rule."""
        self._ended += 1
        for key in self._keys(job):
            # Without resources in the rule, only the latest job counts.
            resources = (job.nodes, job.per_node) if key[0] in {3, 4} else None
            known = self._latest.setdefault(key, {})
            known.pop(resources, None)
            known[resources] = (self._ended, job.runtime)
            if len(known) > _MOST_RESOURCES:
                del known[next(iter(known))]

    def reset(self) -> None:
        """Drop all ended jobs."""
        self._latest.clear()
        self._ended = 0

    def _keys(self, job: Job) -> Iterator[_Key]:
        """Yield the key of each applicable rule, in order. Jobs with an equal key match."""
        user, name = job.user, job.name
        request = (job.queue, job.walltime)
        resources = (job.nodes, job.per_node)
        prefixes = [name[:length] for length in range(len(name), self.prefix - 1, -1)]
        prefixes = [prefix for prefix in prefixes if any(map(str.isalpha, prefix))]
        yield 1, user, name, request, resources
        for prefix in prefixes:
            yield 2, user, prefix, request, resources
        yield 3, user, name, request
        for prefix in prefixes:
            yield 4, user, prefix, request
        if name:
            yield 5, user, name
        for prefix in prefixes:
            yield 6, user, prefix


def difference(asked: _Resources, other: _Resources) -> float:
    """Return the sum of relative differences of nodes and total amounts of two requests.

    It is 0 if one request is ``None``.

    Examples
    --------
    >>> difference((2, {"core": 4}), (4, {"core": 2}))
    0.5
    """
    if asked is None or other is None:
        return 0.0
    (nodes, amounts) = asked
    (others, other_amounts) = other
    pairs = [(nodes, others)]
    for name in sorted({*amounts, *other_amounts}):
        pairs.append((nodes * amounts.get(name, 0), others * other_amounts.get(name, 0)))
    return sum(abs(mine - theirs) / max(mine, theirs, 1) for mine, theirs in pairs)
