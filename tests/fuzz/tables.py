"""Tables of jobs and accountings of other systems, malformed; none of their records may be lost."""

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


def csv_table(rng):
    """Return a table as CSV."""
    lines = [",".join(HEADER)]
    for number in range(1, rng.randint(2, 9)):
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
    for number in range(1, rng.randint(2, 9)):
        row = {"JobID": str(number), **USUAL, "JobName": rng.choice(NAMES)}
        if rng.random() < 0.3:
            row[name] = rng.choice(SACCT[name := rng.choice(names)])
        lines.append(damaged(rng, ",".join('"' + row[name].replace('"', '""') + '"' for name in names), ","))
    return "\n".join([*lines, ""]).encode()


def pbs(rng):
    """Return an accounting of PBS."""
    lines = []
    for number in range(1, rng.randint(2, 9)):
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
        for number in range(1, rng.randint(2, 6))
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


#: What is drawn, the suffix of its file, and what reads it.
TABLES = {
    "csv": (csv_table, ".csv", read_trace),
    "quoted": (quoted_sacct, ".sacct", read_trace),
    "pbs": (pbs, ".pbs", read_trace),
    "sacct-json": (sacct_json, ".json", read_trace),
    "philly": (philly, ".philly", read_trace),
    "batsim": (batsim, ".batsim", read_trace),
}
