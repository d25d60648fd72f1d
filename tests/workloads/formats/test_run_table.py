"""Tables of runs: valid ones, and the errors of the others."""

import gzip

import pandas as pd
import pytest
from combinations import some

from hpcdispatch.base import InputError
from hpcdispatch.workloads import RunColumns, read_runs

COLUMNS = RunColumns("bytes", "s", "what")
FRAME = pd.DataFrame({"what": ["a", "b", "a"], "bytes": [1.5, 0.0, 1e9], "s": [3.0, 4.0, 0.25]})


@pytest.mark.parametrize("name", ["runs.csv", "runs.TSV", "runs.csv.gz", "runs.parquet"])
def test_reads_every_kind(tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        FRAME.to_parquet(path)
    else:
        text = FRAME.to_csv(index=False, sep="\t" if "TSV" in name else ",").encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    found = read_runs(path, COLUMNS)
    assert found.to_dict("list") == FRAME.rename(columns={"what": "workflow", "bytes": "size", "s": "time"}).to_dict(
        "list"
    )


def test_spreadsheets_leave_marks(tmp_path):
    """A byte order mark, carriage returns, blank lines and blanks around values and names."""
    path = tmp_path / "runs.csv"
    path.write_bytes(b"\xef\xbb\xbf bytes ,s\r\n\r\n 1 , 2\r\n,\r\n3,4\r\n")
    found = read_runs(path, RunColumns("bytes", "s"))
    assert found.to_dict("list") == {"workflow": ["runs.csv"] * 2, "size": [1, 3], "time": [2, 4]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("what,bytes\na,1\n", r"runs.csv: no column 's'; columns: 'what', 'bytes'"),
        ("what;bytes;s\na;1;2\n", r"runs.csv: no column 'what'; columns: 'what;bytes;s'"),
        ("what,bytes,s,s\na,1,2,3\n", "runs.csv: column 's': expected one, got 2"),
        ("what,bytes,s\n", "runs.csv: expected runs below the header, got none"),
        ("", "runs.csv: expected a trace, got an empty file"),
        ("\n\n", "runs.csv: expected a header with the names of the columns, got nothing"),
        ("what,bytes,s\na,1,2\n\na,x,2\n", r"runs.csv:4: column 'bytes': expected a number in \[0, 1e\+30\], got 'x'"),
        ("what,bytes,s\na,1,2\na,1,-2\n", r"runs.csv:3: column 's': expected a number in \[0, 1e\+30\], got '-2'"),
        ("what,bytes,s\na,1,NaN\n", "runs.csv:2: column 's': expected a number in .*, got 'NaN'"),
        ("what,bytes,s\na,1,inf\n", "runs.csv:2: column 's': expected a number in .*, got 'inf'"),
        ("what,bytes,s\na,,1\n", "runs.csv:2: column 'bytes': expected a number in .*, got ''"),
        ('what,bytes,s\n"a\nb",1,2\na,1,?\n', r"runs.csv:4: column 's': .* got '\?'"),
        ("what,bytes,s\n ,1,2\n", "runs.csv:2: column 'what': expected a name, got ''"),
        ("what,bytes,s\na,1,2\na,1,2,3\n", "runs.csv:3: expected 3 fields, got 4"),
        ("what,bytes,s\na,1\n", "runs.csv:2: expected 3 fields, got 2"),
        ('what,bytes,s\na,1,"2\n', "runs.csv:2: expected a quote that ends with its field, got none"),
        ('what,bytes,s\n"a,1,2\nb",1,2\n', "runs.csv:2: expected a quote that ends with its field, got none"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_runs(path, COLUMNS)


@pytest.mark.parametrize(
    ("values", "message"),
    some(
        [
            ([1.0, None], r"row 2: column 's': expected a number in \[0, 1e\+30\], got ''"),
            ([True, False], "row 1: column 's': expected a number in .*, got 'True'"),
            (pd.to_timedelta([1, 2], "h"), "row 1: column 's': expected a number in .*, got '0 days 01:00:00'"),
        ]
    ),
)
def test_bad_parquet_values_are_refused(tmp_path, values, message):
    path = tmp_path / "runs.parquet"
    pd.DataFrame({"bytes": [1, 2], "s": values}).to_parquet(path)
    with pytest.raises(InputError, match=message):
        read_runs(path, RunColumns("bytes", "s"))


def test_a_damaged_parquet_file_and_other_files_are_refused(tmp_path):
    path = tmp_path / "runs.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"runs.parquet: expected a sound Parquet file: "):
        read_runs(path, COLUMNS)
    with pytest.raises(InputError, match=r"runs.txt: expected a table with a suffix among .csv, .*got '.txt'"):
        read_runs(tmp_path / "runs.txt", COLUMNS)
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_runs(tmp_path / "none.csv", COLUMNS)


def test_a_column_is_one_thing():
    with pytest.raises(InputError, match="expected different ones, got 's' twice"):
        RunColumns("s", "s")
