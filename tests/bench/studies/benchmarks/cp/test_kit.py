"""The comparison on a machine like KIT's: the machine, the jobs, and a smoke test."""

from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.cp.kit import kit, main


def test_the_machine_is_kits():
    machine = kit(5).machine
    assert machine.nodes == 1173
    assert sorted(set(machine.capacity[:, 0].tolist())) == [20, 48]
    assert int(machine.capacity.sum()) == 1152 * 20 + 21 * 48


def test_wide_jobs_take_whole_nodes():
    requests = {(job.nodes, job.per_node["core"]) for job in kit(500, 1).jobs}
    assert all(cores in {20, 48} for slots, cores in requests if slots > 1)
    assert any(slots > 100 for slots, _ in requests)
    assert any(cores == 48 for _, cores in requests)


def test_a_table_of_some_dispatchers():
    names = ["--dispatcher", "easy", "--dispatcher", "pcp21:blocked=1"]
    done = CliRunner().invoke(main, ["--small", "--markdown", *names])
    assert done.exit_code == 0, done.output
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows[2:] == ["easy", "pcp21:blocked=1"]
