"""Texts of Parquet that are no UTF-8."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import generate, read, write


def test_a_text_that_is_no_utf8_is_refused_in_one_line(tmp_path):
    path = tmp_path / "jobs.parquet"
    write(generate("lublin", jobs=20, seed=1), path)
    table = pq.read_table(path)
    name = next(
        field.name for field in table.schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    )
    broken = pa.array([b"\xff"] * len(table), pa.binary())
    texts = pc.cast(broken, options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))
    pq.write_table(table.set_column(table.schema.get_field_index(name), name, texts), path)
    with pytest.raises(InputError, match=r"jobs\.parquet: expected a sound Parquet file: .*[Ii]nvalid UTF8") as caught:
        read(path)
    assert "\n" not in str(caught.value)
