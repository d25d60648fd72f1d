import pandas as pd

from hpcdispatch.workloads.formats.csv_text import csv_text


def test_what_a_spreadsheet_would_run_gets_an_apostrophe():
    frame = pd.DataFrame({"=name": ["=cmd|' /C calc'!A0", "@x", "plain"], "value": [-1.5, 2, 3]})
    frame["kind"] = pd.Categorical(["+1", "a", "a"])
    lines = csv_text(frame).splitlines()
    assert lines == ["'=name,value,kind", "'=cmd|' /C calc'!A0,-1.5,'+1", "'@x,2.0,a", "plain,3.0,a"]
