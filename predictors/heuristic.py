"""The data-driven heuristic: a job runs as long as the user's last job of the same profile."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Literal

from ..base.checks import check_choice, check_whole
from ..workloads import Job

_LETTERS = re.compile(r"[^\W\d_]*")

Correction = Literal["walltime", "none"]

WALLTIME_RULE = 7
"""The number of the last rule, which always applies: the requested time."""


def name_prefix(name: str, length: int | None = None) -> str:
    """Return the part of a job's name that it shares with its siblings.

    Users number the jobs of a series (``job1``, ``job2``; Galleguillos et al. 2017), so the prefix is what
    stands before the first digit or separator (``_ - .`` and all else that is no letter): ``align_07.sh`` and
    ``align12`` share ``align``. Any common leading characters, taken for a match, would relate most names of
    a user, and finding the longest would need a comparison with each of them; this prefix is a property of
    one name, so that a dictionary finds the match.

    Parameters
    ----------
    name
        The job's name.
    length
        A fixed number of leading characters instead; a shorter name is its own prefix.

    Returns
    -------
    str
        The prefix. It is empty, and matches nothing, where the name is empty, begins with a digit or
        separator (without `length`) or has nothing but digits: SWF traces number the executables, and the
        leading digits of such a number mean nothing.

    Examples
    --------
    >>> name_prefix("align_07.sh")
    'align'
    >>> name_prefix("307")
    ''
    >>> name_prefix("align_07.sh", length=3)
    'ali'
    """
    if name.isdigit():
        return ""
    if length is not None:
        return name[:length]
    found = _LETTERS.match(name)
    return found.group() if found else ""


class Heuristic:
    """The last run time of the user's most similar finished jobs, never above the request.

    Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017; "-D" in the CP paper (section
    5), where, as here, knowledge is gathered online as jobs end. The first of these rules that has a match
    among the finished jobs of the same user decides, and within a rule the job that ended last:

    1. same name, queue, requested time and resources (nodes, amounts per node)
    2. same name prefix, queue, requested time and resources
    3. same name, queue and requested time
    4. same name prefix, queue and requested time
    5. same name
    6. same name prefix
    7. the requested time

    A job without a name has no prefix, and rules 2, 4, 5, 6 pass it by. In rules 1 and 3 "no name" equals "no
    name", so that traces without executables, such as KTH, are still predicted by queue, requested time and
    resources. Jobs whose user is unknown count as one user's.

    A job that outruns its prediction gets the requested time, the last of the rules; one that has outrun that as well
    may end at any second.

    A prediction takes at most six look-ups; memory grows with the number of different profiles, not of jobs.

    Parameters
    ----------
    prefix
        Take this many leading characters as the name prefix, at least 1; ``None`` takes what stands before
        the first digit or separator, see `name_prefix`.
    correction
        ``"walltime"`` as above; ``"none"`` takes a job that outruns its prediction to end at any second, as the CP
        paper does from version 2 on (section 4, underestimates).

    Raises
    ------
    ValueError
        If an option is out of its range.
    """

    def __init__(self, *, prefix: int | None = None, correction: Correction = "walltime") -> None:
        self.prefix = None if prefix is None else check_whole("prefix", prefix, 1)
        check_choice("correction", correction, Correction)
        self.correction = correction
        self._latest: dict[tuple[Hashable, ...], int] = {}

    def predict(self, job: Job, now: int) -> float:
        """Return the run time of the best match or the requested time, whichever is less, seconds."""
        _, seconds = self.match(job)
        return float(min(seconds, job.walltime))

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return the requested time, or `elapsed` if nothing better is known."""
        return float(max(elapsed, job.walltime if self.correction == "walltime" else 0))

    def match(self, job: Job) -> tuple[int, int]:
        """Return the number of the rule that decides on `job`, 1 to 7, and its seconds, not yet capped."""
        for key in self._keys(job):
            seconds = self._latest.get(key)
            if seconds is not None:
                return key[0], seconds
        return WALLTIME_RULE, job.walltime

    def observe(self, job: Job) -> None:
        """Remember the run time of a finished job as the latest under each rule."""
        for key in self._keys(job):
            self._latest[key] = job.runtime

    def reset(self) -> None:
        """Forget all finished jobs."""
        self._latest.clear()

    def _keys(self, job: Job) -> Iterator[tuple[int, *tuple[Hashable, ...]]]:
        """Yield what a job must have in common with another, for each rule that applies to it, in order."""
        user, name = job.user, job.name
        request = (job.queue, job.walltime)
        resources = (job.nodes, job.per_node)
        prefix = name_prefix(name, self.prefix)
        yield 1, user, name, request, resources
        if prefix:
            yield 2, user, prefix, request, resources
        yield 3, user, name, request
        if prefix:
            yield 4, user, prefix, request
        if name:
            yield 5, user, name
        if prefix:
            yield 6, user, prefix
