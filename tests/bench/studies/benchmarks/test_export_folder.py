"""The export folder that the study of the first answer writes."""

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.export_folder import main


@pytest.mark.nightly
def test_a_small_export_is_answered(tmp_path):
    done = CliRunner().invoke(main, ["--small", "--keep", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert "slurm meets the recorded starts" in " ".join(done.output.split())
    lines = (tmp_path / "site" / "jobs.sacct").read_text().splitlines()
    assert len(lines) == 301
    assert {len(line.split("|")) for line in lines} == {21}
