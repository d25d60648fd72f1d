"""HCP by three searches: their specs, and the study at its smallest scale."""

from pathlib import Path

import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, find
from hpcdispatch.bench.studies.reproductions.cp2019 import contenders
from hpcdispatch.bench.studies.reproductions.cp2019.searches import LABELS, SYSTEMS, with_options
from hpcdispatch.dispatchers import create_dispatcher


def test_each_system_is_a_dispatcher_with_the_same_model():
    contest = contenders.eurora(StudySettings("smoke", Path("unused")))
    for label in LABELS:
        made = [
            create_dispatcher(with_options(contest.spec(label), options)[0]).options for options in SYSTEMS.values()
        ]
        assert [options.search for options in made] == ["cp-sat", "schedule-or-postpone", "cp-sat"]
        assert [options.solver for options in made] == ["cp-sat", "cp-sat", "none"]
        assert len({(options.version, options.ewt, options.m) for options in made}) == 1


def test_pcp_is_left_out_of_brief_runs_alone():
    brief, small = (
        contenders.in_time(contenders.PCPS, StudySettings(scale, Path("unused"))) for scale in ("brief", "small")
    )
    assert small == contenders.PCPS
    assert set(small) - set(brief) == {label for label in small if label.startswith("PCP")}


@pytest.mark.nightly
def test_all_systems_have_rows_side_by_side(tmp_path):
    outcome = find("cp2019/searches").run(StudySettings("smoke", tmp_path))
    subjects = {row.subject for row in outcome.rows}
    assert subjects == {f"{label}, {system}" for label in (*LABELS, "HCP") for system in SYSTEMS}
    assert all(claim.text.startswith("Ours") for claim in outcome.claims)
    searched = {row.subject: row.measured for row in outcome.rows if row.metric == "other than lists, %"}
    assert all(not share for subject, share in searched.items() if subject.endswith("lists"))
