"""Tables of jobs and accountings of other systems, malformed; none of their records may be lost."""

import json
from functools import partial

from .inputs import NUMBERS, SACCT, TEXTS, TIMES, USUAL, changed, read_trace

NAMES = (*TEXTS, "a\nb", 'x "y" z', "1,2,3,4,5,6,7", "a\n1,2,3,4,5,6,7,8")
HEADER = ("id", "submit", "wait", "runtime", "walltime", "cores", "user", "name")


def damaged(rng, line, separator):
    """Return a line that is cut short, too long, or has a quote too many; mostly as it is."""
    if rng.random() < 0.8:
        return line
    at = rng.randrange(len(line))
    before, after = line[:at], line[at:]
    return rng.choice((before, after, line + separator + "7", f'{before}"{after}', f'"{line}', "#" + line))


def some(rng):
    """Return one more than a number of records: few, at times many."""
    return rng.randint(2, 8) if rng.random() < 0.7 else rng.randint(20, 80)


def csv_table(rng):
    """Return a table as CSV."""
    lines = [",".join(HEADER)]
    for number in range(1, some(rng)):
        row = [str(number), str(number * 10), "0", "60", "120", "4", "ann", "sim"]
        if rng.random() < 0.3:
            row[rng.randrange(6)] = rng.choice(NUMBERS)
        if rng.random() < 0.4:
            row[-1] = '"' + rng.choice(NAMES).replace('"', '""') + '"'
        lines.append(damaged(rng, ",".join(row), ","))
    return "\n".join([*lines, ""]).encode()


def quoted_sacct(rng):
    """Return what sacct prints, made CSV with quotes, of which some are not closed."""
    names = ["JobID", *USUAL]
    lines = [",".join(f'"{name}"' for name in names)]
    for number in range(1, some(rng)):
        row = {"JobID": str(number), **USUAL, "JobName": rng.choice(NAMES)}
        if rng.random() < 0.3:
            row[name] = rng.choice(SACCT[name := rng.choice(names)])
        lines.append(damaged(rng, ",".join('"' + row[name].replace('"', '""') + '"' for name in names), ","))
    return "\n".join([*lines, ""]).encode()


def pbs(rng):
    """Return an accounting of PBS."""
    lines = []
    for number in range(1, some(rng)):
        when = 1704067200 + number
        odd = {name: rng.choice((*NUMBERS, *TIMES)) for name in ("start", "end", "ctime") if rng.random() < 0.1}
        fields = {"user": "ann", "ctime": when, "qtime": when, "start": when + 5, "end": when + 65} | odd
        pairs = " ".join(f"{name}={value}" for name, value in fields.items())
        line = f"01/01/2024 00:00:00;{rng.choice('EEEQSD')};{number}.head;{pairs} exec_host=n1/0*4 "
        lines.append(damaged(rng, line + "Resource_List.walltime=02:00:00", ";"))
    return "\n".join([*lines, ""]).encode()


def sacct_json(rng):
    """Return what sacct --json prints."""
    jobs = [
        {
            "job_id": number,
            "name": "sim",
            "user": "ann",
            "association": {"cluster": "c"},
            "partition": "a",
            "time": {
                "submission": 1704067200,
                "start": 1704067210,
                "end": 1704067270,
                "elapsed": 60,
                "limit": {"set": True, "infinite": False, "number": 2},
            },
            "required": {"CPUs": 4, "memory": 4000},
            "allocation_nodes": 1,
            "state": {"current": ["COMPLETED"]},
            "tres": {"allocated": [{"type": "cpu", "count": 4}]},
            "array": {"job_id": number, "task": rng.choice(("7", "9-4"))} if rng.random() < 0.1 else {},
        }
        for number in range(1, some(rng))
    ]
    return changed(rng, {"jobs": jobs, "meta": {}})


def philly(rng):
    """Return a trace of Philly."""
    times = {"start_time": "2017-10-09 07:02:00", "end_time": "2017-10-09 08:02:00"}
    return changed(
        rng,
        [
            {
                "status": "Pass",
                "vc": "v",
                "jobid": f"a{number}",
                "user": "u",
                "submitted_time": "2017-10-09 07:00:00",
                "attempts": [{**times, "detail": [{"ip": "m", "gpus": ["gpu0"]}]}],
            }
            for number in range(rng.randint(1, 5))
        ],
    )


def batsim(rng):
    """Return a workload of Batsim."""
    jobs = [{"id": n, "subtime": n, "res": 2, "walltime": 100, "profile": "p"} for n in range(rng.randint(1, 5))]
    return changed(rng, {"nb_res": 8, "jobs": jobs, "profiles": {"p": {"type": "delay", "delay": 50}}})


def odd(rng, usual, values, share=0.1):
    """Return a value, or at times another one."""
    return rng.choice(values) if rng.random() < share else usual


def sge(rng):
    """Return an accounting of Grid Engine."""
    lines = ["# Version: 8.1.9"] if rng.random() < 0.3 else []
    for number in range(1, some(rng)):
        times = [odd(rng, 1704067200 + number + add, (*NUMBERS, *TIMES)) for add in (0, 10, 70)]
        category = odd(rng, "-l h_rt=3600,h_vmem=2G", ("NONE", "-l h_rt=1:2:3", "-l h_rt=::", "a:b:c", "-l gpu=9"), 0.3)
        fields = ["q", "n", "g", "ann", "run", odd(rng, number, NUMBERS, 0.03), "sge", "0", *times, "0", "0", "60"]
        fields += [*["0"] * 17, "NONE", "staff", "mpi", odd(rng, 4, NUMBERS), rng.choice("0012"), "9.0", "1.0", "0.1"]
        fields += [category, "0.0", rng.choice(("NONE", "NONE", "NONE", "1.n2")), "1.5e6", "0", "0"]
        lines.append(damaged(rng, ":".join(map(str, fields)), ":"))
    return "\n".join([*lines, ""]).encode()


def lsf(rng):
    """Return an accounting of LSF."""
    lines = []
    for number in range(1, some(rng)):
        submit, start, end = (odd(rng, 1704067200 + number + add, NUMBERS) for add in (0, 10, 70))
        count = odd(rng, 1, (0, 2, "x", 10**7), 0.1)
        event = rng.choice(("JOB_FINISH",) * 6 + ("JOB_NEW", "EVENT_ADRSV_FINISH"))
        line = (
            f'"{event}" "10.1" {end} {number} 12 3 4 {submit} 0 0 {start} "ann" "q" "" "" "" "h" "/" "" "" "" "f" 0 '
            f'{count} "n1" 64 1.0 "{odd(rng, "run", TEXTS, 0.1)}" "c" {"-1 " * 19}'
            f'"" "p" 0 4 "" "" {rng.choice("0012")} 0 0 '
            f'"" "" "" "" 0 "" {rng.choice((0, 5, 14))} "" -1 "" "" "" "" -1 "" "" 5 "" 0 "" "" 0 0 -1 '
            f'{odd(rng, 3600, NUMBERS)} 10 "rusage[mem=100]"'
        )
        lines.append(damaged(rng, line.replace("\n", " "), " "))
    return "\n".join([*lines, ""]).encode()


def json_lines(make):
    """Return what draws records in JSON: as lines, or as a list."""

    def draw(rng):
        records = [make(rng, number) for number in range(1, some(rng))]
        if rng.random() < 0.5:
            return ("\n".join(map(json.dumps, records)) + "\n").encode()
        return changed(rng, records)

    return draw


def condor(rng, number):
    ad = {"ClusterId": number, "ProcId": rng.choice((0, 0, 1)), "Owner": "ann", "RequestCpus": odd(rng, 4, NUMBERS)}
    dates = ("QDate", "JobStartDate", "CompletionDate")
    ad |= {name: odd(rng, 1704067200 + number + add, NUMBERS) for name, add in zip(dates, (0, 10, 70), strict=True)}
    return ad | {"RemoteWallClockTime": odd(rng, 60.0, NUMBERS), "JobStatus": rng.choice((4, 4, 3, 2, 9))}


def flux(rng, number):
    times = {"t_submit": 0.1, "t_run": 10.2, "t_cleanup": 70.3}
    job = {"id": number, "ncores": odd(rng, 4, NUMBERS), "duration": odd(rng, 3600.0, NUMBERS), "result": 1}
    return job | {name: odd(rng, 1704067200 + number + add, (*NUMBERS, 0.0)) for name, add in times.items()}


def oar(rng, number):
    times = {"submissionTime": 0, "startTime": 10, "stopTime": 70}
    job = {"Job_Id": number, "walltime": odd(rng, 3600, (*NUMBERS, "1:00:00")), "state": "Terminated"}
    job |= {name: odd(rng, 1704067200 + number + add, NUMBERS) for name, add in times.items()}
    return job | {"assigned_resources": list(range(odd(rng, 4, (0, 1, 9))))}


def gridware(rng, number):
    times = {"submission_time": 0, "start_time": 10, "end_time": 70}
    job = {
        "job_number": number,
        "task_number": rng.choice((0, 0, 3)),
        "slots": odd(rng, 4, NUMBERS),
        "category": "-l h_rt=9",
    }
    return job | {name: odd(rng, (1704067200 + number + add) * 10**6, NUMBERS) for name, add in times.items()}


def grid5000(rng, number):
    times = {"submitted_at": 0, "started_at": 10, "stopped_at": 70}
    job = {"uid": number, "user_uid": "ann", "state": rng.choice(("terminated", "error", "running"))}
    job |= {name: odd(rng, 1704067200 + number + add, (*NUMBERS, 0, None)) for name, add in times.items()}
    job |= {"walltime": odd(rng, 3600, NUMBERS), "assigned_nodes": ["n1", "n2"][: rng.randint(0, 2)]}
    return job | {"resources_by_type": odd(rng, {"cores": ["c1", "c2"]}, ({}, None, [], {"cores": 7}))}


#: Dates as Kubernetes writes them, and others.
_DATES = ("2024-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2024-01-01T00:00:10.5+02:00", None, "", 17, *TIMES)
_QUANTITIES = ("500m", "1", "1500m", "0", "-1", "1e3", "4Gi", "", None, 2, 0.5, "9" * 400, "1,5", "x")


def kubernetes(rng, number):
    """Return a job of Kubernetes."""
    requests = {"cpu": odd(rng, "500m", _QUANTITIES), "memory": odd(rng, "1Gi", _QUANTITIES)}
    limits = {"nvidia.com/gpu": odd(rng, "1", _QUANTITIES)} if rng.random() < 0.3 else {}
    containers = [{"name": "c", "resources": {"requests": requests, "limits": limits}}] * rng.randint(0, 2)
    return {
        "kind": odd(rng, "Job", ("Pod", "", None, 3), 0.05),
        "metadata": {
            "name": odd(rng, f"job-{number}", TEXTS, 0.05),
            "namespace": "lab",
            "creationTimestamp": odd(rng, "2024-01-01T00:00:00Z", _DATES),
        },
        "spec": {
            "parallelism": odd(rng, 2, NUMBERS),
            "activeDeadlineSeconds": odd(rng, 3600, NUMBERS),
            "template": {"spec": {"containers": containers}},
        },
        "status": {
            "startTime": odd(rng, "2024-01-01T00:00:10Z", _DATES),
            "completionTime": odd(rng, "2024-01-01T01:00:10Z", _DATES),
            "conditions": [{"type": rng.choice(("Complete", "Failed", "Suspended", ""))}][: rng.randint(0, 1)],
        },
    }


def kubernetes_pods(rng, number):
    """Return a pod of Kubernetes."""
    job = kubernetes(rng, number)
    ended = {"startedAt": job["status"]["startTime"], "finishedAt": job["status"]["completionTime"]}
    return {
        "kind": odd(rng, "Pod", ("Job", None), 0.05),
        "metadata": job["metadata"],
        "spec": job["spec"]["template"]["spec"] | {"activeDeadlineSeconds": 3600},
        "status": {
            "phase": rng.choice(("Succeeded", "Failed", "Running", "Pending", "")),
            "startTime": job["status"]["startTime"],
            "containerStatuses": [{"state": {"terminated": ended}}][: rng.randint(0, 1)],
        },
    }


def items(make):
    """Return what draws the answer of an API: a list of records in an object, of which some values are others."""

    def draw(rng):
        records = [make(rng, number) for number in range(1, some(rng))]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": records}, indent=rng.choice((None, 1))).encode()

    return draw


def qacct(rng):
    """Return what qacct -j prints."""
    lines = []
    dates = ("-/-", "Thu Jan  1 00:00:00 1970", "2024-01-01", "01/01/2024 00:00:10.123", *TIMES)
    for number in range(1, some(rng)):
        fields = {
            "qname": "all.q",
            "hostname": "n1",
            "owner": "ann",
            "jobname": odd(rng, "run", TEXTS),
            "jobnumber": odd(rng, number, NUMBERS, 0.03),
            "taskid": rng.choice(("undefined", "undefined", 1, 2)),
            "qsub_time": odd(rng, "Mon Jan  1 00:00:00 2024", dates),
            "start_time": odd(rng, f"Mon Jan  1 00:00:{number % 60:02} 2024", dates),
            "end_time": odd(rng, f"Mon Jan  1 01:00:{number % 60:02} 2024", dates),
            "granted_pe": "mpi",
            "slots": odd(rng, 4, NUMBERS),
            "failed": rng.choice((0, "37  : qmaster enforced h_rt limit", 100)),
            "exit_status": odd(rng, 0, NUMBERS),
            "ru_wallclock": odd(rng, "3600s", NUMBERS),
            "category": odd(rng, "-l h_rt=7200", ("", "-l h_rt=::", "-l gpu=9")),
            "pe_taskid": rng.choice(("NONE", "NONE", "NONE", "1.n2")),
        }
        lines.append("=" * 62)
        for key, value in fields.items():
            if rng.random() < 0.97:
                lines.append(damaged(rng, f"{key:<13}{value}  ", " ") if rng.random() < 0.05 else f"{key:<13}{value}  ")
    return "\n".join([*lines, ""]).encode()


def condor_long(rng):
    """Return what condor_history -long prints."""
    lines = []
    for number in range(1, some(rng)):
        ad = condor(rng, number)
        ad["RequestMemory"] = odd(rng, 100, ("ifthenelse(1,2,3)", "undefined", *NUMBERS))
        for key, value in ad.items():
            text = f'"{value}"' if isinstance(value, str) and rng.random() < 0.5 else value
            line = f"{key} = {text}"
            lines.append(damaged(rng, line, " ") if rng.random() < 0.05 else line)
        lines.append(rng.choice(("", "", '*** Offset = 7 ClusterId = 1 ProcId = 0 Owner = "ann"')))
    return "\n".join([*lines, ""]).encode()


def read_as(name):
    """Return what reads a trace of a format, whatever its first lines are."""
    return partial(read_trace, format=name, default_walltime="runtime")


#: What is drawn, the suffix of its file, and what reads it.
TABLES = {
    "csv": (csv_table, ".csv", read_trace),
    "quoted": (quoted_sacct, ".sacct", read_trace),
    "pbs": (pbs, ".pbs", read_trace),
    "sge": (sge, ".sge", read_as("sge")),
    "lsf": (lsf, ".lsf", read_as("lsf")),
    "htcondor": (json_lines(condor), ".records", read_as("htcondor")),
    "flux": (json_lines(flux), ".records", read_as("flux")),
    "oar": (json_lines(oar), ".records", read_as("oar")),
    "gridware": (json_lines(gridware), ".records", read_as("gridware")),
    "htcondor-long": (condor_long, ".ads", read_as("htcondor")),
    "grid5000": (json_lines(grid5000), ".records", read_as("grid5000")),
    "kubernetes": (items(kubernetes), ".items", read_as("kubernetes")),
    "kubernetes-pods": (items(kubernetes_pods), ".items", read_as("kubernetes-pods")),
    "qacct": (qacct, ".qacct", read_as("qacct")),
    "sacct-json": (sacct_json, ".json", read_trace),
    "philly": (philly, ".philly", read_trace),
    "batsim": (batsim, ".batsim", read_trace),
}
