"""The scheduler of Gainaru et al. (ICPP 2019, section 4.3), with batches. Every start on a list of intervals is tried.

Times are whole numbers. Jobs are (processors, run time, requests). All arrive at 0. Ties in the order in which they
entered the queue.
"""

from __future__ import annotations


class BatchRounds:
    """The attempts of each job, [start, end], of a whole simulation.

    Parameters
    ----------
    jobs
        The jobs.
    processors
        Of the machine.
    batch
        How many jobs get a reservation when a round begins.
    """

    def __init__(self, jobs, processors, batch):
        self.jobs, self.processors, self.batch = jobs, processors, batch
        self.tries = [0] * len(jobs)
        self.came = [0] * len(jobs)
        self.waiting = list(range(len(jobs)))
        self.booked = {}  # job -> (start, end)
        self.attempts = [[] for _ in jobs]
        while self.waiting or self.booked:
            self.round()

    def request(self, job):
        return self.jobs[job][2][self.tries[job]]

    def chosen(self):
        instants = sorted({self.came[job] for job in self.waiting})[: self.batch]
        early = [job for job in self.waiting if self.came[job] in instants]
        early.sort(key=lambda job: (-self.jobs[job][0] * self.request(job), self.came[job], job))
        return early[: self.batch]

    def fits(self, job, start):
        end = start + self.request(job)
        instants = {start, *(begin for begin, _ in self.booked.values() if start < begin < end)}
        used = (
            sum(self.jobs[other][0] for other, (begin, until) in self.booked.items() if begin <= now < until)
            for now in instants
        )
        return max(used) + self.jobs[job][0] <= self.processors

    def book(self, job, now, last=None):
        starts = sorted({now, *(end for _, end in self.booked.values() if end > now)})
        for start in starts:
            if self.fits(job, start) and (last is None or start + self.request(job) <= last):
                self.booked[job] = start, start + self.request(job)
                self.waiting.remove(job)
                return

    def fill(self, now, jobs):
        last = max((end for _, end in self.booked.values()), default=0)
        for job in jobs:
            self.book(job, now, last)

    def round(self):
        now = max((attempts[-1][1] for attempts in self.attempts if attempts), default=0)
        for job in self.chosen():
            self.book(job, now)
        self.fill(now, self.chosen())
        while self.booked:
            ends = {job: min(end, start + self.jobs[job][1]) for job, (start, end) in self.booked.items()}
            now = min(ends.values())
            ended = [job for job, end in ends.items() if end == now]
            failed = [job for job in ended if self.jobs[job][1] > self.request(job)]
            early = any(now < self.booked[job][1] for job in ended)
            for job in ended:
                self.attempts[job].append([self.booked.pop(job)[0], now])
            if early:
                self.fill(now, self.chosen())
            for job in failed:
                self.tries[job] += 1
                self.came[job] = now
                self.waiting.append(job)
            if self.booked:
                self.fill(now, failed)
