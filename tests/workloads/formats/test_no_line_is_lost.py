"""Of each line of a trace it is said what became of it: a job, or a count by its reason."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read

SACCT = "JobID|Submit|Start|End|NCPUS|Timelimit|JobName\n"
JOB = "{}|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T01:01:00|4|02:00:00|DONE\n"
CSV = "id,submit,runtime,walltime,cores,name\n"
ROW = "{},0,60,120,4,{}\n"
SWF = "{} 0 3 100 4 -1 -1 4 200 -1 1 7 2 9 1 -1 -1 -1\n"
PBS = (
    "01/01/2024 00:00:00;{};{}.head;user=a ctime=1704067200 qtime=1704067200 start=1704067200 end=1704067260 "
    "exec_host=n1/0*4 Resource_List.walltime=02:00:00\n"
)
QUOTED = SACCT.replace("|", '","').join(('"', "")).replace("\n", '"\n')
IN_QUOTES = JOB.replace("|", '","').join(('"', "")).replace("\n", '"\n')

#: A file, and what becomes of its lines besides the one job or two that it has.
SAID = {
    "the rest of a text": ("a.sacct", SACCT + JOB.format(1) + "0|cpu=4|4|sim\n" + JOB.format(2), {"lines joined": 1}),
    "a text over lines": ("a.sacct", SACCT + JOB.format(1) + "more\nand more\n" + JOB.format(2), {"lines joined": 2}),
    "a comment": (
        "a.sacct",
        (SACCT + JOB.format(1) + "# end of January\n" + JOB.format(2)).replace("JobName", "State"),
        {"comments skipped": 1},
    ),
    "another header": (
        "a.sacct",
        QUOTED + IN_QUOTES.format(1) + QUOTED + IN_QUOTES.format(2),
        {"header lines skipped": 1},
    ),
    "a comment in SWF": ("a.swf", SWF.format(1) + "# x\n" + SWF.format(2), {"comments skipped": 1}),
    "a blank line in a text of CSV": (
        "a.csv",
        CSV + ROW.format(1, '"a\n\nb\n"') + ROW.format(2, "x"),
        {"lines joined": 2},
    ),
    "blank lines at the end of a text of CSV": (
        "a.csv",
        CSV + ROW.format(1, '"a\n\n"') + ROW.format(2, "x"),
        {"lines joined": 1},
    ),
    "a text over lines of CSV": ("a.csv", CSV + ROW.format(1, '"a\nb, c"') + ROW.format(2, "x"), {"lines joined": 1}),
    "other records of PBS": (
        "a.pbs",
        PBS.format("S", 1) + PBS.format("E", 1) + PBS.format("E", 2),
        {"other records": 1},
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_what_is_no_job_is_counted(tmp_path, case):
    name, text, counts = SAID[case]
    (tmp_path / name).write_text(text)
    workload = read(tmp_path / name)
    assert (len(workload), {key: workload.provenance.counts[key] for key in counts}) == (2, counts)


#: A file of which lines are refused, the first of these, and how many they are.
WRONG = {
    "a quote that swallows rows": ("a.csv", CSV + ROW.format(1, '"x') + ROW.format(2, 'y"') + ROW.format(3, "z"), 2, 2),
    "a quote that swallows the rest": (
        "a.csv",
        CSV + ROW.format(1, "x") + ROW.format(2, '"y') + ROW.format(3, "z"),
        3,
        2,
    ),
    "a quote that swallows a blank line": (
        "a.csv",
        CSV + ROW.format(1, '"x') + "\n" + ROW.format(2, 'y"') + ROW.format(3, "z"),
        2,
        2,
    ),
    "a quote that swallows blank lines to the end": (
        "a.csv",
        CSV + ROW.format(1, "x") + ROW.format(2, '"y') + "\n" + ROW.format(3, "z") + "\n",
        3,
        2,
    ),
    "a quote within a text and a blank line": (
        "a.csv",
        CSV + ROW.format(1, "x") + ROW.format(2, '"y') + "\n" + '4,ann,"z,1,2"\n',
        3,
        2,
    ),
    "a row that is cut short": ("a.csv", CSV + ROW.format(1, "x") + "2,0,60,120", 3, 1),
    "a row with a field too many": ("a.csv", CSV + ROW.format(1, "x") + ROW.format(2, "x,y"), 3, 1),
    "a quote in sacct's CSV": (
        "a.sacct",
        QUOTED + IN_QUOTES.format(1) + IN_QUOTES.format(2).replace("2024", '"2024', 1) + IN_QUOTES.format(3),
        3,
        2,
    ),
    "an array without tasks": ("a.sacct", SACCT + JOB.format(1) + JOB.format("7_[9-4]"), 3, 1),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_line_that_is_no_record_is_refused(tmp_path, case):
    name, text, line, count = WRONG[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rf"a\.\w+:{line}: .*expected .* got .*; --lenient"):
        read(tmp_path / name)
    workload = read(tmp_path / name, lenient=True)
    assert (len(workload), sum(workload.provenance.counts.values())) == (1, count)
