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


def test_the_model_of_boxes_has_as_many_variables_on_any_number_of_nodes():
    """Its bytes grow, since domains list the nodes. Those of the paper's PCP grow faster."""
    done = CliRunner().invoke(main, ["--small", "--markdown", "--sizes"])
    assert done.exit_code == 0, done.output
    lines = [line.split("|") for line in done.stdout.splitlines() if "pcp" in line]
    counts = {(line[1].strip(), line[2].strip()): [int(cell.replace(",", "")) for cell in line[3:7]] for line in lines}
    (few, many) = dict.fromkeys(nodes for nodes, _ in counts)
    assert counts[many, "pcp21"][0] == counts[few, "pcp21"][0]
    assert counts[many, "pcp21"][2] > 0  # variables with gaps in their domain
    growth = {name: counts[many, name][3] / counts[few, name][3] for name in ("pcp3", "pcp21")}
    assert 1 < growth["pcp21"] < growth["pcp3"]
