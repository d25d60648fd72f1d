import gzip

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read_run_times
from hpcdispatch.workloads.formats.run_times import read_run_history


@pytest.fixture
def file(tmp_path):
    def write(text, name="runs.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("60\n90.5\n", None, [60, 90.5]),
        ("Elapsed\r\n1:00:00\r\n1-00:00:01\r\n", None, [3600, 86401]),
        ("\ufeffElapsed\n02:30\n\n", None, [150]),
        ("1:30:00\n", None, [5400]),
        ("1:30:00\n10:00\n", None, [5400, 600]),
        ("id,hours\n1,60\n2,120\n", "hours", [60, 120]),
        ("id\ttime taken\n1\t60\n2\t120\n", "time taken", [60, 120]),
        ("JobID|Elapsed|State\n1|00:00:05|COMPLETED\n2|2-00|FAILED\n", "Elapsed", [5]),
        ("JobID|Elapsed|State\n1|00:00:05|COMPLETED\n2|2-00|TIMEOUT\n", None, [5, 172800]),
        ("2h\n10h\n1h30m\n", None, [7200, 36000, 5400]),
        ("job;hours\na;1.5\nb;2,5\n", "hours", [1.5, 2.5]),
        ("a; b\n1; 2\n", "b", [2]),
        ('name,s\n"one, two",3\n', "s", [3]),
    ],
)
def test_reads(file, text, column, expected):
    assert read_run_times(file(text), column).tolist() == expected


@pytest.mark.parametrize(("unit", "seconds"), [("s", 1), ("min", 60), ("h", 3600)])
def test_units_are_of_plain_numbers_only(file, unit, seconds):
    assert read_run_times(file("1.5\n0:10:00\n"), unit=unit).tolist() == [1.5 * seconds, 600]


def test_reads_gzip(tmp_path):
    path = tmp_path / "runs.csv.gz"
    path.write_bytes(gzip.compress(b"7\n8\n"))
    np.testing.assert_array_equal(read_run_times(path), [7, 8])


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, r": expected run times, got an empty file$"),
        ("\n \n", None, r": expected run times, got blank lines$"),
        ("Elapsed\n", None, r": column Elapsed: expected at least one run time, got none$"),
        ("5\nten\n", None, r":2: column 1: expected a time above 0, such as 90 or 1:30:00, got 'ten'$"),
        ("t\n5\n-3\n", None, r":3: column t: expected a time above 0.*, got '-3'$"),
        ("-3\n5\n", None, r":1: column 1: expected a time above 0.*, got '-3'$"),
        ("t\n5\n0\n", None, r":3: column t: expected a time above 0.*, got '0'$"),
        ("t\n5\nnan\n", None, r":3: column t: expected a time above 0.*, got 'nan'$"),
        ("nan\n5\n", None, r":1: column 1: expected a time above 0.*, got 'nan'$"),
        ("t\n5\ninf\n", None, r":3: column t: expected a time above 0.*, got 'inf'$"),
        ("t\n5\n1:2:3:4:5\n", None, r":3: column t: expected a time above 0.*, got '1:2:3:4:5'$"),
        ("t\n5\n\n6\n", None, r":3: column t: expected a time above 0.*, got an empty field$"),
        ("a,t\n1,5\n2,\n3,6\n", "t", r":3: column t: expected a time above 0.*, got an empty field$"),
        ("a,t\n1,5\n", None, r": expected the name of a column, as there are 2: 'a, t'$"),
        ("a,t\n1,5\n", "b", r": column b: no such column; the first line has: a, t$"),
        ("t,t\n1,5\n", "t", r": column t: that column more than once; the first line has: t, t$"),
        ("a,t\n1,5\n2,3,4\n", "t", r": expected the same fields on each line, got: .*line 3"),
    ],
)
def test_names_what_is_wrong(file, text, column, message):
    with pytest.raises(InputError, match=rf"runs\.csv{message}") as caught:
        read_run_times(file(text), column)
    assert "\n" not in str(caught.value)


def test_names_a_unit_that_is_none(file):
    with pytest.raises(InputError, match="unit: expected one of s, min, h, got 'd'"):
        read_run_times(file("1\n"), unit="d")


def test_names_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv: no such file"):
        read_run_times(tmp_path / "none.csv")


STATES = """Elapsed|State|JobID
00:10:00|COMPLETED|1
00:30:28|TIMEOUT|2
00:00:03|FAILED|3
00:00:00|CANCELLED by 1000|4
bad|NODE_FAIL|5
00:20:00|COMPLETED|6
00:01:00||7
"""


def test_states_say_what_a_run_tells(file):
    history = read_run_history(file(STATES))
    assert history.times.tolist() == [600, 1828, 1200]
    assert history.censored.tolist() == [False, True, False]
    assert history.left_out == {"FAILED": 1, "CANCELLED": 1, "NODE_FAIL": 1, "NO STATE": 1}
    assert history.at_limit == 0


def test_runs_of_which_none_ended_are_refused(file):
    with pytest.raises(InputError, match=r"expected a run that is COMPLETED, got '2 TIMEOUT, 1 FAILED'"):
        read_run_history(file("Elapsed|State\n10|TIMEOUT\n1|FAILED\n10|TIMEOUT\n"))


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ("100 1800 1828 1801", 3),
        ("100 1800 1870", 0),  # The longest one ended more than a minute after a limit.
        ("100 1801", 0),
        ("1801 1802", 0),
        ("1800 1830 1790 1770", 0),  # As many ended in the minute before.
        ("100 7205 7230 7000", 2),
    ],
)
def test_runs_at_a_limit_are_counted(file, times, count):
    assert read_run_history(file(times.replace(" ", "\n"))).at_limit == count
