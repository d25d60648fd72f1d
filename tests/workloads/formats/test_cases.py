"""Traces of public reports. Each is read as its README demands."""

import warnings
from functools import partial

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import TraceWarning, read
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_workload import slurm_workload

HOUR = 3600
RUNTIME = {"default_walltime": "runtime"}
FIVE = {"jobs": 5, "runtimes": [HOUR] * 5, "cores": [4] * 5, "walltimes": [2 * HOUR] * 5, "machine": 20}
FIVE_SWF = {"jobs": 5, "submits": [60, 120, 180, 240, 300], "runtimes": [HOUR] * 5, "cores": [8] * 5}
#: The file, options, and the expected jobs, processors of the machine, and counts.
READ = [
    ("g01_gwf/t.gwf", {}, {"runtimes": [HOUR], "cores": [8], "walltimes": [7200], "users": ["U1"], "waits": [5]}),
    ("g02_pbs_log/20260302", {}, {"runtimes": [HOUR], "cores": [8], "walltimes": [7200], "waits": [60]}),
    ("g03_batsim_json/w.json", {}, {"runtimes": [60], "cores": [2], "walltimes": [120], "machine": 4}),
    ("g04_helios_csv/cluster_log.csv", RUNTIME, {"runtimes": [HOUR], "cores": [16], "gpus": [4], "waits": [60]}),
    ("g05_lsf_bhist/lsb.acct", RUNTIME, {"runtimes": [HOUR], "cores": [8], "users": ["ann"], "waits": [60]}),
    ("g06_philly_json/cluster_job_log", RUNTIME, {"runtimes": [HOUR], "cores": [2], "waits": [729]}),
    ("g07_parquet/eagle.parquet", {}, {"runtimes": [HOUR], "cores": [72], "walltimes": [7200], "waits": [300]}),
    ("g08_eagle_csv/eagle.csv", {}, {"runtimes": [HOUR], "cores": [72], "walltimes": [7200], "waits": [300]}),
    ("s02_two_clusters/jobs.sacct", {"cluster": "south"}, {"cores": [16] * 5, "counts": {"of other clusters": 5}}),
    ("s03_newline_submitline/jobs.sacct", {}, FIVE),
    ("s03b_newline_jobname/jobs.sacct", {}, FIVE | {"names": ["run", "run", "part one part two", "run", "run"]}),
    ("s04_pipes_two_columns/jobs.sacct", {}, FIVE | {"names": ["run", "run", "crazy|name", "run", "run"]}),
    ("s05_suspended/jobs.sacct", {}, {"runtimes": [7200, 14400]}),
    (
        "s06_none_partition_limit/jobs.sacct",
        {},
        {"jobs": 6, "walltimes": [7200] * 6, "counts": {"not started": 1, "walltime filled in": 1}},
    ),
    (
        "s07_reqmem/jobs.sacct",
        {},
        {
            "jobs": 11,
            "memory": [-1, -1, 4000 * 1024, 4 * 1024**2, 16384000, -1, -1, -1, 2 * 1024**2, 402653184, -1],
        },
    ),
    ("s08_trailing_bar/jobs.sacct", {}, FIVE),
    ("s08b_trailing_bar_and_pipe_name/jobs.sacct", {}, FIVE | {"names": ["run"] * 4 + ["a|b"]}),
    ("s09_tz_offset/jobs.sacct", {}, FIVE | {"begin": 1772434800}),
    ("s09b_time_format_slash/jobs.sacct", {}, FIVE | {"begin": 1772438400}),
    ("s09c_time_space/jobs.sacct", {}, FIVE | {"begin": 1772438400}),
    (
        "s10_no_header/jobs.sacct",
        {
            "columns": "JobID,User,Group,Account,Partition,Submit,Eligible,Start,End,ElapsedRaw,Timelimit,NNodes,NCPUS,"
            "ReqMem,AllocTRES,ReqTRES,State,JobName",
        },
        FIVE,
    ),
    (
        "s11_months_concatenated/jobs.sacct",
        {},
        {
            "ids": ["899", "900", "901"],
            "counts": {"header lines skipped": 1, "repeated records": 1},
        },
    ),
    ("s11b_months_noheader/jobs.sacct", {}, {"ids": ["899", "900", "901"], "counts": {"repeated records": 1}}),
    ("s12_comma/jobs.csv", {}, FIVE),
    ("s12b_lowercase/jobs.sacct", {}, FIVE),
    ("s12c_tab/jobs.tsv", {}, FIVE),
    ("s13_sacct_json/jobs.json", {}, {"runtimes": [HOUR], "walltimes": [7200], "cores": [4], "memory": [2048 * 1024]}),
    ("s14_latin1/jobs.sacct", {}, FIVE | {"names": ["run"] * 4 + ["Müller"]}),
    ("s15_unlimited/jobs.sacct", {}, {"walltimes": [7200, 365 * 86400, *[7200] * 4]}),
    ("s15b_all_unlimited/jobs.sacct", {}, {"walltimes": [365 * 86400] * 5}),
    (
        "s17_resized/jobs.sacct",
        {},
        {"jobs": 6, "runtimes": [3600, 7200, *[3600] * 4], "cores": [4, 16, 4, 4, 4, 4], "counts": {"resized": 1}},
    ),
    ("s18_crlf_bom/jobs.sacct", {}, FIVE),
    ("s20_dst_fall_back/jobs.sacct", {}, {"runtimes": [1200, 4500], "counts": {"clocks put back": 1}}),
    ("s20_dst_fall_back/jobs.sacct", {"timezone": "Europe/Berlin"}, {"runtimes": [1200, 8100], "counts": {}}),
    (
        "s21_het_array/jobs.sacct",
        {},
        {
            "jobs": 7,
            "counts": {"job steps skipped": 1, "parts of other jobs": 1, "not started": 4},
        },
    ),
    ("s22_gpus/jobs.sacct", {}, {"gpus": [2, 2, 1, 1, 0]}),
    (
        "s23_negative/jobs.sacct",
        {},
        {"jobs": 6, "waits": [60] * 5 + [0], "counts": {"started before submission": 1, "ended before the start": 1}},
    ),
    ("s24_requeued_D/jobs.sacct", {}, {"jobs": 6, "runtimes": [HOUR] * 5 + [10800], "counts": {"earlier attempts": 1}}),
    ("s25_delim_caret/jobs.sacct", {}, FIVE),
    ("s25_delim_caret/jobs.sacct", {"delimiter": "^|^"}, FIVE),
    ("s26_banner/jobs.sacct", {}, FIVE | {"counts": {"lines before the header": 1}}),
    ("s27_invalid_limit/jobs.sacct", {}, {"walltimes": [7200] * 6, "counts": {"walltime filled in": 1}}),
    ("s28_nodes_only/jobs.sacct", {}, {"nodes": [4, 16], "machine": 20, "walltimes": [7200, 14400]}),
    ("s29_rrze_meggie/jobs.txt", {}, {"nodes": [7, 4], "runtimes": [86400, 1800], "walltimes": [86400, 7200]}),
    ("s29_rrze_meggie/with_cpus.sacct", {}, {"cores": [80, 80], "runtimes": [86400, 1800]}),
    ("s30_comment_line/jobs.sacct", {}, {"cores": [4], "runtimes": [HOUR]}),
    ("w01_all_minus_one_line/t.swf", {}, {"ids": ["1", "2", "3", "5"], "counts": {"records without times": 1}}),
    ("w02_unsorted/t.swf", {}, FIVE_SWF | {"ids": ["1", "2", "3", "4", "5"], "counts": {"records sorted": 3}}),
    ("w03_extra_columns_names/t.swf", {}, FIVE_SWF | {"counts": {"fields beyond 18": 5}}),
    ("w03b_name_line_only/t.swf", {}, FIVE_SWF),
    ("w05_maxnodes_only/t.swf", {}, {"cores": [64, 32, 16, 8, 4], "machine": 124}),
    ("w06_partial_executions/t.swf", {}, {"runtimes": [5000, 3600, 1800], "counts": {"partial executions": 2}}),
    ("w06b_partial_same_submit/t.swf", {}, {"runtimes": [5000, 3600, 1800], "counts": {"partial executions": 2}}),
    ("w07_status/t.swf", {}, {"ids": ["1", "3"], "counts": {"run time <= 0": 2}}),
    ("w07_status/t.swf", {"keep_zero": True}, {"ids": ["1", "3", "4"], "runtimes": [3600, 100, 1]}),
    ("w08_fractional/t.swf", {}, {"runtimes": [89, 7, 1000]}),
    ("w09_tabs_crlf_hash/t.swf", {}, FIVE_SWF),
    ("w09b_tabs_crlf/t.swf", {}, FIVE_SWF),
    ("w10_thousands_comma/t.swf", {}, {"jobs": 4, "machine": 4096}),
    ("w11_maxprocs_minus1/t.swf", {}, {"jobs": 10, "machine": 80}),
    ("w12_preceding_think/t.swf", {}, {"jobs": 3, "counts": {"with a preceding job": 2}}),
    ("w14_duplicate_ids_merged/t.swf", {}, {"ids": ["1", "2", "3", "4"], "counts": {"jobs renumbered": 2}}),
    ("w15_requested_gt_allocated/t.swf", {}, {"cores": [16, 8, 8], "counts": {"counted by allocation": 1}}),
    ("w16_zero_job_ids/t.swf", {}, {"ids": ["0", "1"]}),
    ("w17_requested_time_lt_0/t.swf", {}, {"walltimes": [3600, 3600, 60]}),
    ("w18_21_fields/t.swf", {}, {"jobs": 3, "cores": [56, 112, 5600], "gpus": [8, 16, -1], "machine": 5600}),
]
REFUSED = {
    "s02_two_clusters/jobs.sacct": r"got 2: north \(5 records\), south \(5 records\); --cluster NAME",
    "s10_no_header/jobs.sacct": r"jobs\.sacct:1: expected the header line of sacct -P, .*--columns JobID,Submit",
    "s16_plain_sacct/jobs.txt": r":1: expected the header line of sacct -P, .* got columns of fixed width",
    "s19_default_columns/jobs.sacct": r"a column Submit; a column Start; a column End or .*; print them with sacct",
    "w13_17_fields/t.swf": r"t\.swf:4: expected 18 fields, got 17; --lenient",
    "w13b_5_fields/t.swf": r"t\.swf:3: expected 18 fields, got 5; --lenient",
}


@pytest.fixture
def case(material):
    """Give paths of cases, beside the folder of the traces."""
    return partial(material, "cases", "traces")


def found(workload):
    jobs = workload.jobs
    records = workload.records
    primary = workload.machine.resources[workload.machine.primary]
    return {
        "jobs": len(workload),
        "ids": [job.id for job in jobs],
        "submits": [job.submit for job in jobs],
        "runtimes": [job.runtime for job in jobs],
        "walltimes": [job.walltime for job in jobs],
        "cores": workload.columns.amounts("core").tolist(),
        "nodes": workload.columns.amounts("node").tolist(),
        "names": [job.name for job in jobs],
        "users": [job.user for job in jobs],
        "machine": int(workload.machine.capacity[:, workload.machine.resources.index(primary)].sum()),
        "waits": records["wait"].tolist(),
        "memory": records["requested_memory"].tolist(),
        "gpus": records["gpus"].tolist() if "gpus" in records else [],
        "counts": workload.provenance.counts,
        "begin": next((int(line.split()[-1]) for line in workload.provenance.header if "UnixStart" in line), None),
    }


@pytest.mark.traces
@pytest.mark.parametrize(("name", "options", "expected"), READ, ids=[f"{row[0]} {row[1]}"[:60] for row in READ])
def test_is_read_as_it_should_be(case, name, options, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        workload = read(case(name), **options)
    got = found(workload)
    assert {key: got[key] for key in expected} == expected


@pytest.mark.traces
@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_what_to_do(case, name):
    with pytest.raises(InputError, match=REFUSED[name]) as caught:
        read(case(name))
    assert "\n" not in str(caught.value)


@pytest.mark.traces
@pytest.mark.parametrize("name", ["multiline", "pipe"])
def test_a_site_reads_command_lines_of_many_lines(case, name):
    folder = case("s32_whatif_multiline_submitline/slurm.conf").parent
    one, other = (slurm_workload(folder / f"{each}.sacct", folder / "slurm.conf") for each in ("good", name))
    assert one.jobs == other.jobs


@pytest.mark.traces
def test_configurations(case):
    with pytest.raises(InputError, match=r"slurm\.conf:5: Include: expected the file '/etc/slurm/nodes\.conf'"):
        read_slurm_conf(case("c01_include/slurm.conf"))
    nodes = {part.name: part.nodes for part in read_slurm_conf(case("c03_nodeset/slurm.conf")).partitions}
    assert nodes == {"gpu": (4, 5), "cpu": (0, 1, 2, 3), "all": (0, 1, 2, 3, 4, 5)}
    racks = read_slurm_conf(case("c05_commas_multi/slurm.conf"))
    assert (racks.nodes[:2], racks.nodes[-3:]) == (("rack0n1", "rack0n2"), ("c1", "c3", "c4"))
    for name, count in (("c02_continuation", 4), ("c04_lowercase_spaces", 4)):
        assert len(read_slurm_conf(case(f"{name}/slurm.conf")).nodes) == count
    folder = case("c07_scontrol_down/site.txt").parent
    notes = slurm_workload(folder / "good.sacct", folder / "site.txt").provenance.notes
    assert any("6 nodes that are down or drained" in note for note in notes)


@pytest.mark.traces
def test_what_if_without_limits_is_what_if_with_a_year(case, tmp_path):
    """Guards against UNLIMITED being the longest limit of the queue."""
    folder = case("s32_whatif_multiline_submitline/good.sacct").parent
    config = tmp_path / "slurm.conf"
    config.write_text((folder / "slurm.conf").read_text().replace("MaxTime=1-00:00:00", "MaxTime=UNLIMITED"))
    records = []
    for limit in ("UNLIMITED", str(365 * 1440)):
        path = tmp_path / f"{limit}.sacct"
        path.write_text((folder / "good.sacct").read_text().replace("|120|", f"|{limit}|"))
        records.append(simulate(slurm_workload(path, config), "slurm").jobs)
    assert records[0].equals(records[1])
