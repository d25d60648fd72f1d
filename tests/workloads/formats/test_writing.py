"""Jobs that a format can hold are the same after a write and a read."""

from pathlib import Path
from tempfile import TemporaryDirectory

from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.workloads import Job, Machine, Workload, read, write

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8).map(str.strip)
#: Names that a table leaves empty. It has no other sign for unknown ones.
UNKNOWN = {
    *("-", "--", "-/-", "?", "null", "none", "nil", "nan", "nat", "<na>", "n/a", "n.a.", "#n/a", "\\n"),
    *("unknown", "unset", "not_set", "not set", "never"),
}
NAMES = TEXT.filter(lambda text: text.lower() not in UNKNOWN)
NUMBERS = st.one_of(st.just(""), st.integers(0, 10**9).map(str))
TIMES = st.tuples(st.integers(0, 10**7), st.integers(1, 10**6), st.integers(1, 10**6))


def workloads(texts, gpus=0):
    """Return ordered jobs on a pool of 64 cores, with ids from any number on."""

    def jobs(rows, first):
        rows = sorted(rows, key=lambda row: row[0])
        return tuple(
            Job(
                str(first + number),
                submit,
                runtime,
                walltime,
                1,
                {"core": cores} | ({"gpu": cards} if cards else {}),
                **dict(zip(FIELDS, names, strict=True)),
            )
            for number, ((submit, runtime, walltime), cores, cards, names) in enumerate(rows)
        )

    row = st.tuples(TIMES, st.integers(1, 64), st.integers(0, gpus), st.tuples(*[texts] * 4))
    return st.builds(jobs, st.lists(row.map(lambda one: (*one,)), min_size=1, max_size=8), st.integers(0, 10**6))


FIELDS = ("user", "group", "name", "queue")
POOL = Machine.pool(64)
CARDS = Machine.homogeneous(1, core=64, gpu=4)


def written_and_read(jobs, machine, name, given=None):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(Workload(jobs, machine), path)
        return read(path, given)


@settings(max_examples=number_of_inputs(40))
@given(workloads(NUMBERS), st.sampled_from(["w.swf", "w.swf.gz"]))
def test_swf(jobs, name):
    again = written_and_read(jobs, POOL, name)
    assert again.jobs == jobs
    assert again.machine == POOL


@settings(max_examples=number_of_inputs(40))
@given(workloads(TEXT, gpus=4), st.sampled_from(["w.jsonl", "w.jsonl.gz"]))
def test_json_lines(jobs, name):
    again = written_and_read(jobs, CARDS, name)
    assert again.jobs == jobs
    assert again.machine == CARDS


@settings(max_examples=number_of_inputs(40))
@given(workloads(NAMES, gpus=4), st.sampled_from(["w.csv", "w.csv.gz", "w.parquet"]))
def test_tables(jobs, name):
    assert written_and_read(jobs, CARDS, name, CARDS).jobs == jobs
