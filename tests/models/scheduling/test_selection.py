"""Jobs that fit, and the first few in some order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hpcdispatch.models.scheduling.selection import first_by, fitting


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40), st.integers(0, 12))
def test_the_least_keys_come_first_and_ties_by_place(rows, most):
    key = np.array([row[0] for row in rows], dtype=float)
    among = np.array([row[1] for row in rows], dtype=bool)
    expected = sorted(np.flatnonzero(among).tolist(), key=lambda place: (key[place], place))[:most]
    assert first_by(key, among, most).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=9), st.integers(0, 9), st.integers(0, 4))
def test_jobs_that_fit_alone_and_whether_all_fit_together(rows, first, second):
    need = np.array(rows, dtype=np.int64).reshape(-1, 2)
    free = np.array([first, second])
    fits, count, together = fitting(need, free)
    assert fits.tolist() == (need <= free).all(axis=1).tolist()
    assert count == fits.sum()
    assert together == (need.sum(axis=0) <= free).all()
