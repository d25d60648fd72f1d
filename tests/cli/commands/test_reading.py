"""What commands say of a trace that they read: doubts once, several files as one."""

import pytest

from hpcdispatch.workloads import generate, read, write

EPOCH = 1704067200
MAP = '[columns]\nid = "id"\nsubmit = "in"\nstart = "from"\nend = "to"\ncores = "n"\nwalltime = "limit"\n'
COMMANDS = (("workload", "describe"), ("run", "--dispatcher", "fcfs"), ("compare", "--dispatchers", "fcfs,easy"))


def rows(first, count=20):
    """Return jobs whose walltimes are minutes, of a map that says seconds."""
    return "".join(
        f"{n},{EPOCH + n * 600},{EPOCH + n * 600},{EPOCH + n * 600 + 900},4,60\n" for n in range(first, count)
    )


@pytest.fixture
def table(tmp_path):
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "jobs.csv").write_text("id,in,from,to,n,limit\n" + rows(0))
    return tmp_path / "jobs.csv"


def plain(found):
    return " ".join((found.stdout + found.stderr).split())


class TestDoubts:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_said_once(self, command, invoke, table):
        found = invoke(*command, table, "--format", table.with_name("map.toml"))
        assert found.exit_code == 0
        assert plain(found).count("doubtful:") == 1
        assert "are these in minutes?" in plain(found)

    @pytest.mark.parametrize("command", COMMANDS)
    def test_said_once_of_what_was_converted(self, command, invoke, table):
        kept = table.with_name("jobs.jsonl")
        assert invoke("workload", "convert", table, kept, "--format", table.with_name("map.toml")).exit_code == 0
        assert plain(invoke(*command, kept)).count("doubtful:") == 1

    @pytest.mark.parametrize("command", COMMANDS)
    def test_said_of_json_lines_of_another_program(self, command, invoke, table):
        workload = read(table, format=str(table.with_name("map.toml")))
        write(workload, table.with_name("a.jsonl"))
        note = next(note for note in workload.provenance.notes if note.startswith("doubtful:"))
        text = table.with_name("a.jsonl").read_text().replace(f',"{note}"', "")
        assert note not in text
        table.with_name("b.jsonl").write_text(text)
        assert plain(invoke(*command, table.with_name("b.jsonl"))).count("doubtful:") == 1

    def test_none_of_sound_json_lines(self, invoke, tmp_path):
        write(generate("lublin:jobs=100", seed=1), tmp_path / "a.jsonl")
        assert "doubtful" not in plain(invoke("workload", "describe", tmp_path / "a.jsonl"))


class TestSeveralFiles:
    def files(self, table):
        begin = "id,in,from,to,n,limit\n"
        table.with_name("a.csv").write_text(begin + rows(0, 10))
        table.with_name("b.csv").write_text(begin + rows(10))
        return table.with_name("a.csv"), table.with_name("b.csv"), "--format", table.with_name("map.toml")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_read_as_one(self, command, invoke, table):
        found = invoke(*command, *self.files(table))
        assert found.exit_code == 0
        assert "20 jobs" in plain(found) or "20 of 20" in plain(found)
        assert "a.csv and 1 more" in plain(found) or command == COMMANDS[0]

    def test_converted_to_one(self, invoke, table):
        first, second, *how = self.files(table)
        assert invoke("workload", "convert", first, second, table.with_name("all.jsonl"), *how).exit_code == 0
        assert len(read(table.with_name("all.jsonl"))) == 20

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ("nope.csv", "nope.csv: expected another file of the trace, got no such file"),
            ("easy,fcfs", "a list has commas and a value no blanks, as in easy,fcfs and 15m"),
            ("lublin", "lublin: expected another file of the trace, got no such file"),
        ],
    )
    def test_one_of_them_is_no_file(self, more, message, invoke, table):
        found = invoke("run", table, more)
        assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
        assert message in found.stderr

    def test_of_several_formats(self, invoke, trace, table):
        found = invoke("run", trace, table, "--format", "swf")
        assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
        assert "read them one by one, or put them together first" in found.stderr
