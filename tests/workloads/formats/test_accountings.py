"""Accounting of Grid Engine, LSF, HTCondor, Flux, OAR, Grid'5000, Gridware and Kubernetes."""

import json

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read

EPOCH = 1704067200
RUN = {"default_walltime": "runtime"}


def jobs_of(folder, text, name="trace", **options):
    (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
    return read(folder / name, **(RUN | options))


def told(workload):
    waits = workload.records["wait"].tolist()
    return [
        (job.id, int(wait), job.runtime, job.walltime, sum(job.per_node.values()) * job.nodes)
        for job, wait in zip(workload.jobs, waits, strict=True)
    ]


# Grid Engine


def sge(job=500, task=0, submit=EPOCH, start=EPOCH + 10, end=EPOCH + 610, slots=4, category="-l h_rt=3600", **changed):
    given = {"pe_taskid": "NONE", "failed": 0, "exit": 0, "name": "sweep", "tail": ":0:0", "wallclock": 600} | changed
    usage = ":".join(["0"] * 17)
    return (
        f"all.q:n1:users:ann:{given['name']}:{job}:sge:0:{submit}:{start}:{end}:{given['failed']}:{given['exit']}:"
        f"{given['wallclock']}:{usage}:NONE:staff:mpi:{slots}:{task}:9.0:1.0:0.1:{category}:0.0:{given['pe_taskid']}:"
        f"1.5e6{given['tail']}\n"
    )


HEAD = "# Version: 8.1.9\n#\n"
SGE_ONE = [
    ({}, ("500", 10, 600, 3600, 4)),
    ({"task": 7}, ("500[7]", 10, 600, 3600, 4)),
    ({"category": "-l h_rt=01:30:00"}, ("500", 10, 600, 5400, 4)),
    ({"category": "-l h_rt=1::30"}, ("500", 10, 600, 3630, 4)),
    ({"category": "-U a -l h_vmem=2G,h_rt=7200,s_rt=7000 -pe mpi 4"}, ("500", 10, 600, 7200, 4)),
    ({"category": "-l s_rt=7000"}, ("500", 10, 600, 7000, 4)),
    ({"category": "NONE"}, ("500", 10, 600, 600, 4)),
    ({"category": "-l h_rt=INFINITY"}, ("500", 10, 600, 365 * 86400, 4)),
    ({"category": "-l h_rt=3600 -q a:b:c"}, ("500", 10, 600, 3600, 4)),
    ({"tail": ""}, ("500", 10, 600, 3600, 4)),
    ({"tail": ":0:0:NONE:NONE:1.0:2.0:host:/home/a:qsub -b y sh -c 'x:y':600:5"}, ("500", 10, 600, 3600, 4)),
    ({"submit": EPOCH * 1000, "start": (EPOCH + 10) * 1000, "end": (EPOCH + 610) * 1000}, ("500", 10, 600, 3600, 4)),
    ({"submit": EPOCH * 10**6, "start": (EPOCH + 10) * 10**6, "end": (EPOCH + 610) * 10**6}, ("500", 10, 600, 3600, 4)),
    ({"wallclock": 0}, ("500", 10, 600, 3600, 4)),
    ({"wallclock": "600.123"}, ("500", 10, 600, 3600, 4)),
    ({"failed": 100, "exit": 137}, ("500", 10, 600, 3600, 4)),
    ({"name": "a b"}, ("500", 10, 600, 3600, 4)),
    ({"slots": 128}, ("500", 10, 600, 3600, 128)),
    ({"start": EPOCH}, ("500", 0, 610, 3600, 4)),
    ({"end": EPOCH + 70, "category": "-l gpu=0,h_rt=60"}, ("500", 10, 60, 60, 4)),
]


@pytest.mark.parametrize(("changed", "expected"), SGE_ONE)
def test_a_record_of_grid_engine(tmp_path, changed, expected):
    assert told(jobs_of(tmp_path, HEAD + sge(**changed), "accounting")) == [expected]


def test_an_array_of_grid_engine(tmp_path):
    lines = [sge(task=task, start=EPOCH + 10 * task, slots=1) for task in range(1, 4)]
    slave = sge(501, pe_taskid="1.n2", slots=16)
    never = sge(502, start=0, end=0, failed=26, wallclock=0)
    text = HEAD + "".join([*lines, sge(501, slots=16), slave, never])
    workload = jobs_of(tmp_path, text, "accounting")
    assert [row[0] for row in told(workload)] == ["500[1]", "500[2]", "500[3]", "501"]
    assert workload.provenance.counts == {"slaves": 1, "not started": 1}


def test_grid_engine_uses_an_id_again(tmp_path):
    later = EPOCH + 10**7
    workload = jobs_of(tmp_path, sge(exit=1) + sge(submit=later, start=later + 5, end=later + 65), "accounting")
    assert [(row[0], row[2]) for row in told(workload)] == [("500", 600), ("500#2", 60)]


def test_memory_and_gpus_of_grid_engine(tmp_path):
    workload = jobs_of(tmp_path, sge(category="-l h_vmem=2G,gpu=2,h_rt=60", slots=2), "accounting")
    assert (workload.records["requested_memory"].tolist(), workload.records["gpus"].tolist()) == ([2 * 1024**2], [2])


def test_a_bad_record_of_grid_engine(tmp_path):
    with pytest.raises(
        InputError, match=r"accounting:4: expected a record of 43 or more fields with ':' between, got 3"
    ):
        jobs_of(tmp_path, HEAD + sge() + "a:b:c\n", "accounting")
    workload = jobs_of(tmp_path, HEAD + sge() + "a:b:c\n", "accounting", lenient=True)
    assert (len(workload), workload.provenance.counts["no record"]) == (1, 1)


QACCT = """==============================================================
qname        all.q
hostname     n1
group        users
owner        ann
jobname      sweep
jobnumber    500
taskid       {task}
qsub_time    {submit}
start_time   {start}
end_time     {end}
slots        4
failed       {failed}
exit_status  0
ru_wallclock 600s
category     -l h_rt=3600
"""
QACCT_TIMES = [
    ("Mon Jan  1 00:00:00 2024", "Mon Jan  1 00:00:10 2024", "Mon Jan  1 00:10:10 2024"),
    ("01/01/2024 00:00:00.000", "01/01/2024 00:00:10.000", "01/01/2024 00:10:10.000"),
    ("2024-01-01 00:00:00", "2024-01-01 00:00:10", "2024-01-01 00:10:10"),
]


@pytest.mark.parametrize(("submit", "start", "end"), QACCT_TIMES)
@pytest.mark.parametrize(("task", "id"), [("undefined", "500"), ("3", "500[3]")])
def test_what_qacct_prints(tmp_path, submit, start, end, task, id):
    text = QACCT.format(task=task, submit=submit, start=start, end=end, failed="0")
    never = QACCT.format(task=task, submit=submit, start="-/-", end="-/-", failed="26  : opening output file")
    workload = jobs_of(tmp_path, text + never.replace("500", "600").replace("600s", "0s"))
    assert told(workload) == [(id, 10, 600, 3600, 4)]


# LSF


def lsf(job=900, idx=0, start=EPOCH + 10, end=EPOCH + 610, hosts=("n1",), slots=1, limit=3600, **changed):
    given = {"status": 64, "exit": 0, "begin": 0, "needs": "select[type == any]", "command": "sleep 600"} | changed
    listed = " ".join(f'"{host}"' for host in hosts)
    extended = given.get("extended", "0")
    usage = given.get("host_usage", "0")
    return (
        f'"JOB_FINISH" "10.108" {end} {job} 1209 33554434 {slots} {EPOCH} {given["begin"]} 0 {start} "ann" "normal" '
        f'"" "" "" "lsf1" "/home" "" "" "" "{EPOCH}.900" 0 {len(hosts)} {listed} {given["status"]} 1.0 "test[1-3]" '
        f'"{given["command"]}" {" ".join(["-1"] * 19)} "" "default" 0 {slots} "" "" {idx} 2048 0 "" "" "" "" 0 "" '
        f'{given["exit"]} "" -1 "" "" "" "" -1 "" "" 5136 "" {start} "" "" {extended} {usage} -1 {limit} 1024 '
        f'"{given["needs"]}" "" -1 "" -1 0 "" 0 0 "" 600 "/home" 0 ""\n'
    )


LSF_ONE = [
    ({}, ("900", 10, 600, 3600, 1)),
    ({"idx": 2}, ("900[2]", 10, 600, 3600, 1)),
    ({"idx": -1}, ("900", 10, 600, 3600, 1)),
    ({"limit": 0}, ("900", 10, 600, 600, 1)),
    ({"limit": -1}, ("900", 10, 600, 600, 1)),
    ({"limit": 86400}, ("900", 10, 600, 86400, 1)),
    ({"hosts": ("n1", "n1", "n2", "n2")}, ("900", 10, 600, 3600, 4)),
    ({"hosts": ("16*n1", "16*n2")}, ("900", 10, 600, 3600, 32)),
    ({"hosts": ("n1",), "slots": 8}, ("900", 10, 600, 3600, 8)),
    ({"status": 32, "exit": 5}, ("900", 10, 600, 3600, 1)),
    ({"begin": EPOCH + 5}, ("900", 5, 600, 3600, 1)),
    ({"command": 'echo ""a b""'}, ("900", 10, 600, 3600, 1)),
    ({"command": "first\nsecond"}, ("900", 10, 600, 3600, 1)),
    ({"command": ""}, ("900", 10, 600, 3600, 1)),
    ({"extended": '2 1058 "1" 1110 "default"'}, ("900", 10, 600, 3600, 1)),
    ({"host_usage": '1 "n1" 1024 0 1.5 0.2'}, ("900", 10, 600, 3600, 1)),
    ({"host_usage": '1 "n1" 1024 0 1.5 0.2 0'}, ("900", 10, 600, 3600, 1)),
    ({"host_usage": '2 "n1" 1024 0 1.5 0.2 "n2" 1024 0 1.5 0.2'}, ("900", 10, 600, 3600, 1)),
    ({"start": EPOCH}, ("900", 0, 610, 3600, 1)),
    ({"slots": 64, "hosts": ("32*n1", "32*n2"), "idx": 1000}, ("900[1000]", 10, 600, 3600, 64)),
]


@pytest.mark.parametrize(("changed", "expected"), LSF_ONE)
def test_a_record_of_lsf(tmp_path, changed, expected):
    assert told(jobs_of(tmp_path, lsf(**changed), "lsb.acct")) == [expected]


@pytest.mark.parametrize("first", ['"EVENT_ADRSV_FINISH" "10.1" 1704067200 1 2 3 "a"', '"JOB_NEW" "10.1" 1704067200 7'])
def test_lsf_begins_with_another_event(tmp_path, first):
    lines = [lsf(idx=idx) for idx in (1, 2, 3)] + [lsf(901, start=0)]
    workload = jobs_of(tmp_path, "\n".join([first, *lines]), "lsb.acct")
    assert [job.id for job in workload.jobs] == ["900[1]", "900[2]", "900[3]"]
    assert workload.provenance.counts == {"other records": 1, "not started": 1}


def test_memory_and_states_of_lsf(tmp_path):
    needs = "select[type == any] rusage[mem=4000.00:duration=8h]"
    text = lsf(needs=needs, slots=2) + lsf(901, status=32, exit=5) + lsf(902, status=32, exit=14)
    workload = jobs_of(tmp_path, text, "lsb.acct")
    assert workload.records["requested_memory"].tolist()[0] == 4000 * 1024 / 2
    assert workload.records["state"].tolist() == ["COMPLETED", "TIMEOUT", "CANCELLED"]


# HTCondor

AD = {
    "ClusterId": 100,
    "ProcId": 0,
    "Owner": "ann",
    "QDate": EPOCH,
    "JobStartDate": EPOCH + 10,
    "CompletionDate": EPOCH + 610,
    "RemoteWallClockTime": 600.0,
    "RequestCpus": 4,
    "JobStatus": 4,
}
CONDOR_ONE = [
    ({}, ("100.0", 10, 600, 600, 4)),
    ({"ProcId": 7}, ("100.7", 10, 600, 600, 4)),
    ({"CompletionDate": 0, "JobStatus": 3}, ("100.0", 10, 600, 600, 4)),
    ({"CompletionDate": 0, "JobStatus": 3, "EnteredCurrentStatus": EPOCH + 900}, ("100.0", 10, 600, 600, 4)),
    ({"RemoteWallClockTime": 0}, ("100.0", 10, 600, 600, 4)),
    ({"RemoteWallClockTime": None}, ("100.0", 10, 600, 600, 4)),
    ({"RemoteWallClockTime": 599.4}, ("100.0", 10, 600, 600, 4)),
    ({"JobStartDate": None, "JobCurrentStartDate": EPOCH + 20}, ("100.0", 20, 600, 600, 4)),
    ({"RequestCpus": "ifThenElse(x, 4, 8)", "CpusProvisioned": 8}, ("100.0", 10, 600, 600, 8)),
    ({"CpusProvisioned": 6}, ("100.0", 10, 600, 600, 6)),
    ({"JobUniverse": 11, "MaxHosts": 3}, ("100.0", 10, 600, 600, 12)),
    ({"MaxWallTimeMins": 60}, ("100.0", 10, 600, 3600, 4)),
    ({"AllowedJobDuration": 7200}, ("100.0", 10, 600, 7200, 4)),
    ({"AllowedExecuteDuration": 900, "MaxWallTimeMins": 60}, ("100.0", 10, 600, 900, 4)),
    ({"ExitCode": 1}, ("100.0", 10, 600, 600, 4)),
    ({"Args": 'a = "b"'}, ("100.0", 10, 600, 600, 4)),
    ({"RequestMemory": "ifThenElse(a,b,c)"}, ("100.0", 10, 600, 600, 4)),
    ({"Owner": None, "User": "ann@site"}, ("100.0", 10, 600, 600, 4)),
    ({"JobStartDate": EPOCH}, ("100.0", 0, 600, 600, 4)),
    ({"RequestCpus": 1}, ("100.0", 10, 600, 600, 1)),
]


def classad(ad, separator):
    def text(value):
        return (
            "undefined" if value is None else json.dumps(value) if " " in str(value) or value == "ann" else str(value)
        )

    return "\n".join(f"{name} = {text(value)}" for name, value in ad.items()) + f"\n{separator}\n"


FORMS = ("json", "lines", "history", "long")


# By day the plain record in every form, and each other one in one form, in turn.
@pytest.mark.parametrize(
    ("changed", "expected", "form"),
    [
        pytest.param(*case, form, marks=[pytest.mark.nightly] * (number > 0 and form != FORMS[number % len(FORMS)]))
        for number, case in enumerate(CONDOR_ONE)
        for form in FORMS
    ],
)
def test_a_job_of_htcondor(tmp_path, changed, expected, form):
    ad = AD | changed
    ends = {"history": '*** Offset = 0 ClusterId = 100 ProcId = 0 Owner = "ann"', "long": ""}
    plain = {name: value for name, value in ad.items() if value is not None}
    text = {"json": json.dumps([plain], indent=1), "lines": json.dumps(plain)}.get(form) or classad(ad, ends[form])
    assert told(jobs_of(tmp_path, text, format="htcondor")) == [expected]
    assert told(jobs_of(tmp_path, text)) == [expected]


def test_jobs_of_htcondor_that_did_not_run(tmp_path):
    removed = AD | {"ClusterId": 101, "JobStatus": 3, "JobStartDate": 0, "CompletionDate": 0, "RemoteWallClockTime": 0}
    running = AD | {"ClusterId": 102, "JobStatus": 2, "CompletionDate": 0}
    workload = jobs_of(tmp_path, [AD, AD | {"ProcId": 1}, removed, running])
    assert [job.id for job in workload.jobs] == ["100.0", "100.1"]
    assert workload.provenance.counts["not started"] == workload.provenance.counts["not finished"] == 1


# JSON of Flux, OAR, Grid'5000, Gridware and Kubernetes

FLUX = {
    "id": 4062517723136,
    "userid": 1000,
    "t_submit": EPOCH + 0.1,
    "t_depend": EPOCH + 0.2,
    "t_run": EPOCH + 10.1,
    "t_cleanup": EPOCH + 610.1,
    "state": 64,
    "name": "sleep",
    "ncores": 4,
    "duration": 3600.0,
    "nnodes": 1,
    "result": 1,
}
FLUX_ID = str(FLUX["id"])


@pytest.mark.parametrize("form", ["jobs", "list", "lines", "indented"])
def test_flux(tmp_path, form):
    jobs = [
        FLUX,
        FLUX | {"id": 2, "t_run": 0.0, "result": 4},
        FLUX | {"id": 3, "duration": 0.0, "t_sched": EPOCH + 5.1},
    ]
    texts = {"jobs": json.dumps({"jobs": jobs}), "list": json.dumps(jobs), "lines": "\n".join(map(json.dumps, jobs))}
    workload = jobs_of(tmp_path, texts.get(form) or json.dumps({"jobs": jobs}, indent=2))
    assert told(workload) == [(FLUX_ID, 10, 600, 3600, 4), ("3", 5, 600, 600, 4)]
    assert workload.provenance.counts["not started"] == 1


OAR = {
    "owner": "ann",
    "project": "default",
    "state": "Terminated",
    "queue": "default",
    "submissionTime": EPOCH,
    "startTime": EPOCH + 10,
    "stopTime": EPOCH + 610,
    "walltime": 7200,
    "assigned_network_address": ["n1", "n2"],
    "Job_Id": 17,
}
OAR_ONE = [
    ({}, ("17", 10, 600, 7200, 2)),
    ({"Job_Id": None}, ("20", 10, 600, 7200, 2)),
    ({"assigned_resources": list(range(64))}, ("17", 10, 600, 7200, 64)),
    ({"message": "R=48,W=2:0:0,J=B"}, ("17", 10, 600, 7200, 48)),
    ({"walltime": "2:00:00"}, ("17", 10, 600, 7200, 2)),
    ({"state": "Error"}, ("17", 10, 600, 7200, 2)),
]


@pytest.mark.parametrize(("changed", "expected"), OAR_ONE)
def test_oar(tmp_path, changed, expected):
    waiting = OAR | {"Job_Id": 18, "startTime": 0, "stopTime": 0, "state": "Waiting"}
    running = OAR | {"Job_Id": 19, "stopTime": 0, "state": "Running"}
    workload = jobs_of(tmp_path, {"20": OAR | changed, "18": waiting, "19": running})
    assert told(workload) == [expected]


def test_grid5000(tmp_path):
    job = {"uid": 17, "user_uid": "ann", "walltime": 3600, "state": "terminated", "submitted_at": EPOCH}
    job |= {"started_at": EPOCH + 10, "stopped_at": EPOCH + 610, "assigned_nodes": ["a", "b"], "queue": "default"}
    cores = {"resources_by_type": {"cores": ["a"] * 16}}
    workload = jobs_of(tmp_path, {"total": 2, "items": [job, job | {"uid": 18} | cores]})
    assert [row[0] for row in told(workload)] == ["18"]
    assert told(jobs_of(tmp_path, {"items": [job]})) == [("17", 10, 600, 3600, 2)]


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_gridware(tmp_path, unit):
    job = {"job_number": 1, "task_number": 0, "owner": "u", "slots": 4, "category": "-l h_rt=3600"}
    times = {"submission_time": EPOCH, "start_time": EPOCH + 10, "end_time": EPOCH + 610}
    job |= {name: value * unit for name, value in times.items()}
    text = "\n".join(map(json.dumps, [job, job | {"job_number": 2, "task_number": 3}, job | {"start_time": 0}]))
    assert told(jobs_of(tmp_path, text, "accounting.jsonl"))[:2] == [
        ("1", 10, 600, 3600, 4),
        ("2[3]", 10, 600, 3600, 4),
    ]


def kubernetes(name="a", kind="Job", requests=None, **status):
    container = {"name": "c", "resources": {"requests": requests or {}, "limits": {}}}
    pod = {"containers": [container]}
    found = {"kind": kind, "metadata": {"name": name, "namespace": "ns", "creationTimestamp": "2024-01-01T00:00:00Z"}}
    if kind == "Job":
        return found | {"spec": {"parallelism": 1, "template": {"spec": pod}}, "status": status}
    return found | {"spec": pod, "status": status}


TIMES = {"startTime": "2024-01-01T00:00:10Z", "completionTime": "2024-01-01T00:10:10Z"}
QUANTITIES = [
    (None, 1),
    ({"cpu": "2"}, 2),
    ({"cpu": "500m"}, 1),
    ({"cpu": "2500m"}, 3),
    ({"cpu": 4}, 4),
    ({"cpu": "0.1"}, 1),
]


@pytest.mark.parametrize(("requests", "cores"), QUANTITIES)
@pytest.mark.parametrize("indent", [None, 1])
def test_jobs_of_kubernetes(tmp_path, requests, cores, indent):
    items = [kubernetes(requests=requests, **TIMES), kubernetes("b", startTime=None)]
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=indent)
    assert told(jobs_of(tmp_path, text)) == [("a", 10, 600, 600, cores)]


def test_parallel_jobs_of_kubernetes(tmp_path):
    job = kubernetes(requests={"cpu": "2", "memory": "4Gi"}, **TIMES)
    job["spec"] |= {"parallelism": 3, "activeDeadlineSeconds": 3600}
    workload = jobs_of(tmp_path, {"items": [job]})
    assert told(workload) == [("a", 10, 600, 3600, 6)]
    assert workload.records["requested_memory"].tolist() == [2 * 1024**2]


def test_pods_of_kubernetes(tmp_path):
    ended = {"terminated": {"startedAt": TIMES["startTime"], "finishedAt": TIMES["completionTime"]}}
    pod = kubernetes("p", "Pod", {"cpu": "1500m"}, phase="Succeeded", containerStatuses=[{"state": ended}])
    pod["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "2"}
    pod["spec"]["containers"].append({"name": "side", "resources": {"requests": {"cpu": "1"}}})
    pending = kubernetes("q", "Pod", {"cpu": "1"}, phase="Pending")
    workload = jobs_of(tmp_path, {"items": [pod, pending]})
    assert [(job.id, job.runtime, dict(job.per_node)) for job in workload.jobs] == [("p", 600, {"core": 3, "gpu": 2})]


# JSON for any map

MAP = """
container = "json"
[columns]
id = "job.id"
submit = "times.queued"
start = "times.began"
end = "times.done"
cores = "alloc.0.cores"
walltime = { column = "limit", unit = "min" }
"""


@pytest.mark.parametrize("form", ["list", "items", "jobs", "lines", "indented", "concatenated", "one"])
def test_json_by_a_map(tmp_path, form):
    job = {"job": {"id": 1}, "limit": 60, "alloc": [{"cores": 4}]}
    job["times"] = {"queued": EPOCH, "began": EPOCH + 10, "done": EPOCH + 610}
    texts = {
        "list": json.dumps([job]),
        "items": json.dumps({"kind": "x", "items": [job]}),
        "jobs": json.dumps({"jobs": [job]}, indent=1),
        "lines": json.dumps(job) + "\n",
        "indented": json.dumps([job], indent=4),
        "concatenated": json.dumps(job, indent=1) * 2,
        "one": json.dumps(job, indent=1),
    }
    (tmp_path / "m.toml").write_text(MAP)
    workload = jobs_of(tmp_path, texts[form], "x.json", format=str(tmp_path / "m.toml"))
    assert told(workload) == [("1", 10, 600, 3600, 4)]


def test_bad_lines_of_json_are_counted(tmp_path):
    lines = [json.dumps(FLUX | {"id": place}) for place in range(3)]
    lines[1] = lines[1][:40]
    with pytest.raises(InputError, match=r"trace:2: expected an object in JSON, got"):
        jobs_of(tmp_path, "\n".join(lines))
    workload = jobs_of(tmp_path, "\n".join([*lines, "7"]), lenient=True)
    assert (len(workload), workload.provenance.counts["no JSON"], workload.provenance.counts["no job"]) == (2, 1, 1)
