"""A study is type-checked from a clone through the link that ``make`` sets."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from patience import PATIENCE

ROOT = Path(__file__).parents[1]
STUDY = """
import hpcdispatch as hd
from hpcdispatch.dispatchers import HCP3, LEJF, Evict, Lookahead
jobs = hd.generate("lublin", jobs=100, processors=32, load=0.8, seed=1)
reveal_type(hd.simulate(jobs, "easy"))
reveal_type(hd.compare(jobs, ["fcfs", "easy"], jitter="1m"))
hd.compare(jobs, "fcfs", sedes=3)
reveal_type(hd.compare([jobs, "example"], "easy"))
reveal_type(hd.compare({"one": jobs}, "easy"))
Lookahead(patience=3, least_due="12h")
Lookahead(patiense=3)
Evict(deadline="15m")
HCP3(m=50)
HCP3(mm=50)
LEJF(quantil=0.5)
"""
#: The error that each line of the study has.
WRONG = {
    7: 'Unexpected keyword argument "sedes"',
    11: 'Unexpected keyword argument "patiense"',
    12: 'Argument "deadline" to "Evict" has incompatible type "str"; expected "int"',
    14: 'Unexpected keyword argument "mm"',
    15: 'Unexpected keyword argument "quantil"',
}


@pytest.mark.nightly
def test_a_study_is_checked_from_a_clone(tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    folder = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")})
    Path(folder, "hpcdispatch-stubs").symlink_to(ROOT)
    Path(folder, "others.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "study.py").write_text(STUDY)
    python = tmp_path / "venv" / "bin" / "python"
    words = [sys.executable, "-m", "mypy", "--python-executable", python, "study.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert 'note: Revealed type is "hpcdispatch.simulation.result.Result"' in done.stdout
    assert 'note: Revealed type is "hpcdispatch.bench.campaigns.comparison.Comparison"' in done.stdout
    assert done.stdout.count('note: Revealed type is "hpcdispatch.bench.campaigns.comparison.Comparisons"') == 2
    for line, error in WRONG.items():
        assert f"study.py:{line}: error: {error}" in done.stdout
    assert f"Found {len(WRONG) + 1} errors" in done.stdout  # that of an overloaded function counts twice
