"""Public data sets in their published layouts are made, read and simulated. Custom maps."""

import gzip
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, TraceWarning, Workload, read, write
from hpcdispatch.workloads.formats.column_maps import built_in, column_map, suggested_map
from hpcdispatch.workloads.formats.recognition import UnknownTableError

#: Submission, start and end of three jobs, seconds from the first of January 2024.
SUBMIT = (0, 60, 120)
START = (10, 60, 4000)
END = (3610, 4000, 4600)
RUNTIMES = [3600, 3940, 600]
EPOCH = 1704067200
JOBS = 3


def clock(seconds, form="%Y-%m-%d %H:%M:%S", zone="UTC"):
    stamps = pd.to_datetime(np.array(seconds) + EPOCH, unit="s", utc=True).tz_convert(zone)
    return [stamp.strftime(form) for stamp in stamps]


def stamps(seconds):
    return pd.to_datetime(np.array(seconds) + EPOCH, unit="s", utc=True)


def pbs():
    lines = [
        f"01/01/2024 00:00:0{row};E;{row + 1}.head;user=ann group=g jobname=a b queue=q ctime={EPOCH + SUBMIT[row]} "
        f"qtime={EPOCH + SUBMIT[row]} etime={EPOCH + SUBMIT[row]} start={EPOCH + START[row]} exec_host=n1/0*4+n2/0*4 "
        f"Resource_List.walltime=02:00:00 Resource_List.nodect=2 Resource_List.mem=8gb end={EPOCH + END[row]} "
        f"Exit_status=0 resources_used.walltime={RUNTIMES[row] // 3600:02}:{RUNTIMES[row] // 60 % 60:02}:00"
        for row in range(JOBS)
    ]
    lines[1] = lines[1].replace("walltime=01:05:00", "walltime=01:05:40")
    return "\n".join(["01/01/2024 00:00:00;Q;1.head;queue=q", *lines, "01/01/2024 00:00:00;S;1.head;user=ann"]) + "\n"


def philly():
    local = "America/Los_Angeles"
    return json.dumps(
        [
            {
                "status": "Pass",
                "vc": "v",
                "jobid": f"application_{row}",
                "user": "u",
                "submitted_time": clock([SUBMIT[row]], zone=local)[0],
                "attempts": [
                    {
                        "start_time": clock([START[row]], zone=local)[0],
                        "end_time": clock([END[row]], zone=local)[0],
                        "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}],
                    }
                ],
            }
            for row in range(JOBS)
        ]
    )


def batsim_json():
    profiles = {f"p{row}": {"type": "delay", "delay": RUNTIMES[row]} for row in range(JOBS)}
    profiles["p1"] = {"type": "composed", "repeat": 2, "seq": ["half"]}
    profiles["half"] = {"type": "delay", "delay": RUNTIMES[1] / 2}
    jobs = [
        {"id": row, "subtime": SUBMIT[row], "res": 8, "walltime": 7200, "profile": f"p{row}"} for row in range(JOBS)
    ]
    return json.dumps({"nb_res": 8, "jobs": jobs, "profiles": profiles})


IDS = {"job_id": [11, 12, 13], "user": list("abc")}
TIMES = {"submit_time": clock(SUBMIT), "start_time": clock(START), "end_time": clock(END)}
CHINA = {name: clock(seconds, zone="Asia/Shanghai") for name, seconds in zip(TIMES, (SUBMIT, START, END), strict=True)}
#: For each built-in map: the file, its content (a table or a text), and the expected jobs.
LAYOUTS = {
    "pm100": (
        "jobs.parquet",
        {
            "job_id": [1, 2, 3],
            "user_id": [5, 5, 6],
            "group_id": [1, 1, 1],
            "partition": [1] * 3,
            "qos": [0] * 3,
            "priority": [9, 9, 9],
            "submit_time": stamps(SUBMIT),
            "eligible_time": stamps(SUBMIT),
            "start_time": stamps(START),
            "end_time": stamps(END),
            "run_time": RUNTIMES,
            "time_limit": [120] * 3,
            "num_nodes_req": [2] * 3,
            "num_nodes_alloc": [2] * 3,
            "num_cores_req": [8] * 3,
            "num_cores_alloc": [8] * 3,
            "num_gpus_req": [2] * 3,
            "num_gpus_alloc": [2] * 3,
            "mem_req": [16.0] * 3,
            "shared": ["OK"] * 3,
            "job_state": ["COMPLETED"] * 3,
            "node_power_consumption": [[300, 500], [400], []],
        },
        {"core": 8, "gpu": 2},
    ),
    "fdata": (
        "24_01.parquet",
        {
            "jid": ["j1", "j2", "j3"],
            "usr": ["u"] * 3,
            "jnam": ["n"] * 3,
            "cnumr": [384] * 3,
            "nnumr": [8] * 3,
            "nnuma": [8] * 3,
            "adt": clock(SUBMIT, zone="Asia/Tokyo"),
            "sdt": clock(START, zone="Asia/Tokyo"),
            "edt": clock(END, zone="Asia/Tokyo"),
            "elpl": [7200] * 3,
            "duration": RUNTIMES,
            "exit state": ["completed"] * 3,
            "avgpcon": [90.5] * 3,
            "pri": [127] * 3,
            "freq_req": [2000] * 3,
            "mszl": [1e9] * 3,
        },
        {"node": 8},
    ),
    "supercloud": (
        "slurm-log.csv",
        {
            "id_job": [1, 2, 3],
            "id_user": [7] * 3,
            "time_submit": np.array(SUBMIT) + EPOCH,
            "time_eligible": np.array(SUBMIT) + EPOCH,
            "time_start": np.array(START) + EPOCH,
            "time_end": np.array(END) + EPOCH,
            "timelimit": [120] * 3,
            "nodes_alloc": [1] * 3,
            "nodelist": ["['n1']"] * 3,
            "state": [3, 6, 3],
            "cpus_req": [8] * 3,
            "tres_alloc": ["1=8,2=1000,4=1,1001=1,1002=1"] * 3,
            "gres_used": ["gpu:2"] * 3,
            "priority": [1] * 3,
        },
        {"core": 8, "gpu": 2},
    ),
    "helios": (
        "cluster_log.csv",
        {
            **IDS,
            "vc": ["v"] * 3,
            "gpu_num": [2] * 3,
            "cpu_num": [8] * 3,
            "node_num": [1] * 3,
            "state": ["COMPLETED"] * 3,
            **CHINA,
            "duration": RUNTIMES,
            "queue": [10, 0, 3880],
        },
        {"core": 8, "gpu": 2},
    ),
    "acme": (
        "trace_seren.csv",
        {
            **IDS,
            "node_num": [1] * 3,
            "gpu_num": [2] * 3,
            "cpu_num": [8] * 3,
            "type": ["Eval"] * 3,
            "state": ["FAILED"] * 3,
            **{name: [f"{text}+08:00" for text in texts] for name, texts in CHINA.items()},
            "duration": RUNTIMES,
            "queue": [10, 0, 3880],
            "gpu_time": [7200.0] * 3,
        },
        {"core": 8, "gpu": 2},
    ),
    "eagle": (
        "eagle.csv.gz",
        {
            **IDS,
            "account": ["x"] * 3,
            "name": ["n"] * 3,
            "partition": ["p"] * 3,
            "qos": ["normal"] * 3,
            "state": ["COMPLETED"] * 3,
            **{
                name: clock(seconds, zone="America/Denver")
                for name, seconds in zip(TIMES, (SUBMIT, START, END), strict=True)
            },
            "run_time": RUNTIMES,
            "wallclock_req": [7200] * 3,
            "nodes_req": [1] * 3,
            "processors_req": [8] * 3,
            "mem_req": ["0"] * 3,
            "gpus_req": [0] * 3,
            "exit_code": ["0:0"] * 3,
        },
        {"core": 8},
    ),
    "kestrel": (
        "kestrel.parquet",
        {
            **IDS,
            **{
                name: clock(seconds, zone="America/Denver")
                for name, seconds in zip(TIMES, (SUBMIT, START, END), strict=True)
            },
            "wallclock_req": [7200] * 3,
            "nodes_req": [1] * 3,
            "processors_req": [8] * 3,
            "power_per_node": [[600.0, 610.0]] * 3,
        },
        {"core": 8},
    ),
    "alcf": (
        "ANL-ALCF-DJC-THETA.csv.gz",
        {
            "JOB_NAME": ["1.cobalt"] * 3,
            "COBALT_JOBID": [1.0, 2.0, 3.0],
            "MACHINE_NAME": ["theta"] * 3,
            "QUEUED_TIMESTAMP": clock(SUBMIT),
            "START_TIMESTAMP": clock(START),
            "END_TIMESTAMP": clock(END),
            "USERNAME_GENID": [12] * 3,
            "PROJECT_NAME_GENID": [3] * 3,
            "QUEUE_NAME": ["default"] * 3,
            "WALLTIME_SECONDS": [7200.0] * 3,
            "RUNTIME_SECONDS": RUNTIMES,
            "NODES_USED": [8.0] * 3,
            "NODES_REQUESTED": [8.0] * 3,
            "CORES_USED": [512] * 3,
            "CORES_REQUESTED": [512] * 3,
            "LOCATION": ["0-7"] * 3,
            "EXIT_STATUS": [0] * 3,
        },
        {"node": 8},
    ),
    "lassen": (
        "final_csm_allocation_history_hashed.csv",
        {
            "allocation_id": [1, 2, 3],
            "primary_job_id": [1, 2, 3],
            "hashed_user_id": ["h"] * 3,
            **{
                name: [f"{text}.250000" for text in clock(seconds, zone="America/Los_Angeles")]
                for name, seconds in zip(
                    ("job_submit_time", "begin_time", "end_time"), (SUBMIT, START, END), strict=True
                )
            },
            "num_nodes": [8] * 3,
            "time_limit": [7200] * 3,
            "exit_status": [0] * 3,
            "num_gpus": [4] * 3,
        },
        {"node": 8},
    ),
    "batsim": (
        "out_jobs.csv",
        {
            "job_id": [1, 2, 3],
            "workload_name": ["w0"] * 3,
            "profile": ["p"] * 3,
            "submission_time": SUBMIT,
            "requested_number_of_resources": [8] * 3,
            "requested_time": [7200.0] * 3,
            "success": [1] * 3,
            "final_state": ["COMPLETED_SUCCESSFULLY"] * 3,
            "starting_time": START,
            "execution_time": RUNTIMES,
            "finish_time": END,
            "waiting_time": [10, 0, 3880],
            "allocated_resources": ["0-7"] * 3,
            "consumed_energy": [5.5] * 3,
        },
        {"core": 8},
    ),
    "batsim-json": ("workload.json", batsim_json(), {"core": 8}),
    "philly": ("cluster_job_log", philly(), {"core": 4, "gpu": 4}),
    "pbs": ("20240101", pbs(), {"core": 8}),
    "gwf": (
        "grid.gwf",
        "# GWF\n"
        + "".join(
            f"{row} {SUBMIT[row]} {START[row] - SUBMIT[row]} {RUNTIMES[row]} "
            "8 -1 -1 8 7200 -1 1 U G X Q P S S UNITARY -1\n"
            for row in range(JOBS)
        ),
        {"core": 8},
    ),
    "lsf": (
        "lsb.acct",
        "".join(
            f'"JOB_FINISH" "10" {EPOCH + END[row]} {row} 10 33 8 {EPOCH + SUBMIT[row]} 0 0 '
            f'{EPOCH + START[row]} "ann" "q" '
            f'"more" {row} "of it"\n'
            for row in range(JOBS)
        )
        + '"JOB_NEW" "10.1" 1 9\n',
        {"core": 8},
    ),
    "jobs": (
        "jobs.csv",
        {
            "id": list("xyz"),
            "submit": SUBMIT,
            "wait": [10, 0, 3880],
            "runtime": RUNTIMES,
            "walltime": [7200] * 3,
            "cores": [8] * 3,
            "user": ["u"] * 3,
        },
        {"core": 8},
    ),
}
#: Maps of files that are not recognised, or without walltimes.
BY_NAME = {"kestrel"}
NO_WALLTIMES = {"helios", "acme", "philly", "lsf"}
POWER = {"pm100": [400, 400, -1], "fdata": [90.5] * 3, "kestrel": [605.0] * 3}


def laid_out(folder, name):
    file, content, _ = LAYOUTS[name]
    path = folder / file
    if isinstance(content, str):
        path.write_text(content)
    elif path.suffix == ".parquet":
        pd.DataFrame(content).to_parquet(path)
    else:
        pd.DataFrame(content).to_csv(path, index=False)
    return path


#: Accounting of schedulers, which other tests read.
ACCOUNTINGS = {
    "sge",
    "qacct",
    "htcondor",
    "flux",
    "oar",
    "grid5000",
    "gridware",
    "kubernetes",
    "kubernetes-pods",
}


def test_every_built_in_map_has_a_layout():
    assert set(LAYOUTS) | ACCOUNTINGS == set(built_in())


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_public_layout_is_read_and_simulated(tmp_path, name):
    path = laid_out(tmp_path, name)
    options = {"default_walltime": 7200} if name in NO_WALLTIMES else {}
    workload = read(path, format=name, **options)
    if name not in BY_NAME:
        assert read(path, **options).jobs == workload.jobs
    amounts = LAYOUTS[name][2]
    assert [(job.submit, job.runtime, job.walltime) for job in workload.jobs] == [
        (submit, run, 7200) for submit, run in zip(SUBMIT, RUNTIMES, strict=True)
    ]
    assert {tuple(job.per_node.items()) for job in workload.jobs} == {tuple(amounts.items())}
    if name != "batsim-json":
        assert workload.records["wait"].tolist() == [10, 0, 3880]
    if name in POWER:
        assert workload.records["power"].tolist() == POWER[name]
    result = simulate(workload, "easy")
    assert len(result.jobs) == JOBS
    assert (result.jobs["start"] >= result.jobs["submit"]).all()


def test_a_map_of_ones_own(tmp_path):
    path = tmp_path / "site.csv"
    own = tmp_path / "site.toml"
    path.write_text(
        "nr;kind;in;from;to;limit;n;per;ram\n"
        "1;job;01/02/2024 08:00;01/02/2024 08:10;01/02/2024 09:10;2;2;4;1\n"
        "2;step;01/02/2024 08:00;01/02/2024 08:10;01/02/2024 09:10;2;2;4;1\n"
    )
    own.write_text(
        'zone = "Europe/Berlin"\n[columns]\nid = "nr"\nsubmit = "in"\nstart = "from"\nend = "to"\nnodes = "n"\n'
        'walltime = { column = "limit", unit = "h" }\ncores = { column = "per", per = "node" }\n'
        'memory = { column = "ram", unit = "GB", per = "core" }\n[filter]\nkind = ["job"]\n'
    )
    workload = read(path, format=str(own))
    assert [(job.id, job.runtime, job.walltime, dict(job.per_node)) for job in workload.jobs] == [
        ("1", 3600, 7200, {"core": 8})
    ]
    assert workload.records["requested_memory"].tolist() == [1024**2]
    assert workload.provenance.counts == {"filtered out": 1}
    assert f"; UnixStartTime: {pd.Timestamp('2024-01-02T07:00').value // 10**9}" in workload.provenance.header


BAD_MAPS = [
    ("a = 1", "map: expected keys among columns, about, .*, got 'a'"),
    ("[columns]\nid = 'a'", r"columns: expected id, submit and others among .*, got \['id'\]"),
    ("[columns]\nid = 'a'\nsubmit = 1", "columns: submit: expected a table, got 1"),
    (
        "[columns]\nid = 'a'\nsubmit = {column = 'b', unit = 'day'}",
        "submit: unit: expected one of s, ms, .*, got 'day'",
    ),
    ("[columns]\nid = 'a'\nsubmit = {column = 'b', pattern = '('}", "a pattern with one group"),
    ("zone = 'Mars'\n[columns]\nid = 'a'\nsubmit = 'b'", "zone: expected the name of a time zone, got 'Mars'"),
    ("processor = 'gpu'\n[columns]\nid = 'a'\nsubmit = 'b'", "processor: expected one of core, node, got 'gpu'"),
    ("[columns]\nid = 'a'\nsubmit = 'b'\n[keep]\npower = 1", "keep: power: expected a column, got 1"),
    ("x = ", "expected a column map in TOML, got an error"),
]


@pytest.mark.parametrize(("text", "message"), BAD_MAPS)
def test_bad_maps_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        column_map(str(path))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


BAD_TABLES = [
    (
        {"submit_time": ["soon", *clock(SUBMIT[1:])]},
        r":2: field 'submit_time': expected a time .* got 'soon'; --lenient",
    ),
    ({"processors_req": ["8", "many", "8"]}, r":3: field 'processors_req': expected a number, got 'many'"),
    ({"processors_req": ["8", "1e12", "8"]}, r":3: field 'processors_req': expected a whole number up to"),
    ({"job_id": ["1", "2", ""]}, r":4: field 'job_id': expected an id, got ''"),
]


@pytest.mark.parametrize(("changed", "message"), BAD_TABLES)
def test_bad_rows_are_refused_or_left_out(tmp_path, changed, message):
    path = tmp_path / "e.csv"
    table = LAYOUTS["eagle"][1] | {"gpus_req": ["0"] * 3} | changed
    pd.DataFrame(table).to_csv(path, index=False)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    workload = read(path, lenient=True)
    assert len(workload) == JOBS - 1
    assert next(iter(workload.provenance.counts.values())) == 1


def test_rows_with_too_many_fields(tmp_path):
    path = tmp_path / "e.csv"
    pd.DataFrame(LAYOUTS["eagle"][1]).to_csv(path, index=False)
    path.write_text(path.read_text() + "1,2" * 30 + "\n")
    with pytest.raises(InputError, match=r"e\.csv:5: expected 17 fields, got 31; --lenient"):
        read(path)
    assert len(read(path, lenient=True)) == JOBS


def test_an_unknown_table_gets_a_suggestion(tmp_path):
    path = tmp_path / "u.csv"
    path.write_text("JobNumber,Owner,SubmitTime,Start Time,EndTime,NodeCount\n1,a,2,3,4,5\n")
    with pytest.raises(UnknownTableError, match="expected a known table, got the columns JobNumber, Owner") as caught:
        read(path)
    own = tmp_path / "own.toml"
    own.write_text(suggested_map(caught.value.columns))
    found = column_map(str(own))
    assert {ours: columns[0].column for ours, columns in found.columns.items()} == {
        "id": "JobNumber",
        "user": "Owner",
        "submit": "SubmitTime",
        "start": "Start Time",
        "end": "EndTime",
        "nodes": "NodeCount",
    }
    assert found.processor == "node"
    assert read(path, format=str(own), default_walltime="runtime").jobs[0].runtime == 1


def test_a_table_without_the_columns_of_its_map(tmp_path):
    path = laid_out(tmp_path, "helios")
    with pytest.raises(
        InputError, match=r"cluster_log\.csv:1: expected a column 'COBALT_JOBID' for id, as the map alcf says"
    ):
        read(path, format="alcf")


BAD_JSON = [
    ("workload.json", "{", r":1: expected .* in JSON, got an error"),
    ("workload.json", '{"jobs": 3, "subtime": 1}', "a workload of Batsim with lists 'jobs'"),
    (
        "workload.json",
        '{"jobs": [{"id": 1, "subtime": 0, "profile": "x"}], "profiles": {"x": {"type": "mpi"}}}',
        r":1: entry 1 of 'jobs': expected id, .* a profile that is a delay",
    ),
    ("log", '[{"jobid": "a", "attempts": 4}]', r":1: entry 1: expected a job with 'jobid' and 'attempts'"),
    ("jobs.json", '{"jobs": [{"job_id": 1}], "meta": {}}', r":1: entry 1 of 'jobs': expected a job, got .*KeyError"),
    ("20240101", pbs() + "nonsense\n", r":6: expected a record as 'date time;E;id"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD_JSON)
def test_bad_accountings_are_refused_in_one_line(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_requeued_job_of_pbs_is_one(tmp_path):
    path = tmp_path / "20240101"
    lines = pbs().splitlines()
    path.write_text(
        "\n".join(
            [
                lines[1].replace("Exit_status=0", "Exit_status=-11"),
                lines[1].replace(f"start={EPOCH + 10}", f"start={EPOCH + 20}"),
            ]
        )
        + "\n"
    )
    assert len(read(path)) == 1


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_table_holds_cores_and_gpus(tmp_path, suffix):
    machine = Machine.homogeneous(1, core=16, gpu=4)
    jobs = [
        Job("a", 5, 60, 90, 1, {"core": 4, "gpu": 2}, user="=u", name='x,"y"\nz'),
        Job("b", 7, 60, 90, 1, {"core": 1}),
    ]
    path = tmp_path / f"w{suffix}"
    write(Workload(jobs, machine), path)
    assert read(path, machine).jobs == tuple(jobs)
    with pytest.raises(InputError, match=r"a table of jobs has no column for mem, kind on-demand; JSON lines"):
        write(Workload([Job("a", 0, 1, 1, 1, {"core": 1, "mem": 3}, kind="on-demand")], Machine.pool(4)), path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz"])
def test_a_table_has_priorities(tmp_path, suffix):
    jobs = [
        Job(str(row), 0, 10, 20, priority=priority, qos=qos)
        for row, (priority, qos) in enumerate([(2**32 - 1, "high"), (0, ""), (-7, "low")])
    ]
    write(Workload(jobs, Machine.pool(4)), tmp_path / f"w{suffix}")
    assert read(tmp_path / f"w{suffix}").jobs == tuple(jobs)


def test_nice_lowers_the_priority_of_a_map(tmp_path):
    (tmp_path / "site.csv").write_text("nr,in,took,prio,nice,class\n1,0,60,100,30,long\n2,0,60,,5,\n3,0,60,9,,x\n")
    columns = {"id": "nr", "submit": "in", "elapsed": "took", "priority": "prio", "nice": "nice", "qos": "class"}
    lines = "".join(f'{ours} = "{theirs}"\n' for ours, theirs in columns.items())
    (tmp_path / "site.toml").write_text(f'clock = "relative"\n[columns]\n{lines}cores = "one"\n')
    with pytest.raises(InputError, match="expected a column 'one' for cores, as the map site says"):
        read(tmp_path / "site.csv", format=str(tmp_path / "site.toml"), default_walltime=60)
    table = (tmp_path / "site.csv").read_text().splitlines()
    (tmp_path / "site.csv").write_text("\n".join([f"{table[0]},one", *(f"{line},1" for line in table[1:])]))
    jobs = read(tmp_path / "site.csv", format=str(tmp_path / "site.toml"), default_walltime=60).jobs
    assert [(job.priority, job.qos) for job in jobs] == [(70, "long"), (-5, ""), (9, "x")]
    (tmp_path / "site.csv").write_text("nr,in,took,prio,nice,class,one\n1,0,60,1.5,0,a,1\n")
    with pytest.raises(InputError, match=r"site.csv:2: field 'prio': expected a whole number.*, got '1.5'"):
        read(tmp_path / "site.csv", format=str(tmp_path / "site.toml"), default_walltime=60)


def test_of_parquet_the_first_rows_alone(tmp_path):
    path = laid_out(tmp_path, "pm100")
    assert read(path, head=2).jobs == read(path).jobs[:2]


def test_of_a_table_packed_as_it_says(tmp_path):
    path = tmp_path / "e.csv.gz"
    path.write_bytes(b"job_id,submit_time\n")
    with pytest.raises(InputError, match="expected gzip data"):
        read(path)
    path.write_bytes(gzip.compress(b"\x89PNG\0\0\n"))
    with pytest.raises(InputError, match="expected text, got binary data"):
        read(path)
    path = tmp_path / "e.parquet"
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"e\.parquet: expected a sound Parquet file"):
        read(path)


def test_a_warning_says_what_was_filled_in(tmp_path):
    path = tmp_path / "e.csv"
    pd.DataFrame(LAYOUTS["eagle"][1] | {"wallclock_req": ["7200", "", "NULL"]}).to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TraceWarning, match="2 of 3 jobs have no walltime"):
            read(path)
