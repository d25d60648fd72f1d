"""The next batch of waiting jobs, by looking at all of them."""

import heapq

import numpy as np
import pytest

from hpcdispatch.bench.studies.standing_rounds import ranked_heap, unreserved_jobs


def by_looking(waiting, batch):
    """Return the jobs with the least ranks among the arrivals at the first `batch` instants."""
    most = len(waiting) if batch < 0 else batch
    instants = sorted({instant for instant, _, _ in waiting})[:most]
    early = sorted((rank, instant, job) for instant, rank, job in waiting if instant in instants)
    return [job for _, _, job in early][:most]


@pytest.mark.parametrize("batch", [-1, 1, 3, 20])
def test_a_batch_as_by_looking_at_all(batch):
    rng = np.random.default_rng(batch + 1)
    unreserved = unreserved_jobs.open_unreserved(400)
    waiting = []
    job = 0
    heap = ranked_heap.open_heap(400)
    chosen = np.empty(400, dtype=np.int64)
    for instant in range(120):
        came = [(job + place, int(rng.integers(-6, 0))) for place in range(int(rng.integers(0, 4)))]
        for number, rank in came:
            unreserved_jobs.put_in(unreserved, number, rank, instant)
        waiting += [(instant, rank, number) for number, rank in came]
        job += len(came)
        count = unreserved_jobs.largest(unreserved, batch, heap, chosen)
        assert chosen[:count].tolist() == by_looking(waiting, batch)
        assert not heap.size[0]
        for _ in range(min(len(waiting), int(rng.integers(0, 4)))):
            unreserved_jobs.discard(unreserved, waiting.pop(int(rng.integers(len(waiting))))[2])
        unreserved_jobs.discard(unreserved, 399)  # It was never put in.
    assert job > 100


def test_a_heap_gives_the_least():
    rng = np.random.default_rng(1)
    heap, other = ranked_heap.open_heap(300), []
    for number in range(300):
        ranks = int(rng.integers(9)), int(rng.integers(9))
        ranked_heap.push(heap, *ranks, number)
        heapq.heappush(other, (*ranks, number))
        if rng.random() < 0.4:
            first = heapq.heappop(other)
            assert tuple(heap.rows[:2, 0]) == first[:2]
            found = ranked_heap.pop(heap)
            # Those of the same ranks come in any order.
            if found != first[2]:
                other.remove((*first[:2], found))
                heapq.heappush(other, first)
                heapq.heapify(other)
