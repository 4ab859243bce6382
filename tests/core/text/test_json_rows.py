"""Rows of a large JSON text, read one by one: what is found is what reading all of it finds."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.text.json_rows import split_rows
from pipelines.core.text.json_text import MAX_DEPTH, InvalidJson, loads

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(alphabet='a"\\]}[{,é\n😀'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"],}'), inner, max_size=4),
    max_leaves=12,
)


@given(
    rows=st.lists(JSON, max_size=8),
    name=JSON,
    is_ascii=st.booleans(),
    indent=st.sampled_from([None, 1]),
    most=st.integers(0, 9),
)
def test_every_row_is_found_wherever_brackets_and_quotes_stand(
    rows: list, name: object, is_ascii: bool, indent: int | None, most: int
) -> None:
    for whole in (rows, {"name": name, "rows": rows}, {"rows": rows, "name": name}):
        split = split_rows(json.dumps(whole, ensure_ascii=is_ascii, indent=indent).encode(), most=most)
        assert split is not None
        assert list(split.rows) == rows[:most]
        assert len(split.rows) == len(rows)
        assert split.rest == ([] if whole is rows else {"name": name, "rows": []})


@given(
    text=st.text(alphabet='[]{}",:1a \\n', max_size=30), before=st.sampled_from(["", '{"rows":', '{"rows":['])
)
def test_what_cannot_be_read_in_only_one_way_is_never_split(text: str, before: str) -> None:
    data = (before + text).encode()
    split = split_rows(data, most=100)
    try:
        whole = loads(data)
    except InvalidJson:
        assert split is None
        return
    rows = whole.get("rows") if isinstance(whole, dict) else whole
    assert split is None or list(split.rows) == rows


@pytest.mark.parametrize(
    "text",
    [
        '{"rows":[{"a":1,"a":2}]}',
        '{"rows":[1],"rows":[2]}',
        '{"rows":[1],"r\\u006fws":[2]}',
        '{"rows":[1,,2]}',
        '{"rows":[1,]}',
        '{"rows":[NaN]}',
        '{"rows":[[1}]}',
        '{"rows":[1]]}',
        '{"rows":[1]',
        '{"rows":[1]} x',
        '{"rows":[' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "]}",
        '{"rows":{"a":1}}',
        '{"more":[1]}',
        "",
        "7",
    ],
)
def test_what_is_odd_is_left_to_whoever_reads_it_whole(text: str) -> None:
    assert split_rows(text.encode(), most=100) is None


def test_as_deep_as_may_be_is_split() -> None:
    depth = MAX_DEPTH - 2
    assert split_rows(b'{"rows":[' + b"[" * depth + b"]" * depth + b"]}", most=1) is not None


@pytest.mark.parametrize(
    "row", [b'{"user":"x","state":{"o":{"1":{"a":[1.5,2.5]}}}}', b"{}", b'{"a":"\\u00e9"}']
)
@pytest.mark.parametrize("times", [1, 999, 1_000, 1_001, 3_500, 30_000])
def test_many_rows_are_counted_and_the_first_are_read(row: bytes, times: int) -> None:
    split = split_rows(b'{"rows":[' + b",".join([row] * times) + b"]}", most=5)
    assert split is not None
    assert len(split.rows) == times
    assert list(split.rows) == [loads(row)] * min(times, 5)


def test_a_text_is_checked_in_less_memory_than_it_takes_as_values() -> None:
    row = (
        b'{"user":"x","state":{"o":{' + b",".join(b'"%d":{"n":%d}' % (at, at) for at in range(3_000)) + b"}}}"
    )
    data = b'{"rows":[' + b",".join([row] * 100) + b"]}"
    tracemalloc.start()
    try:
        assert split_rows(data, most=5_000) is not None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(data)  # as values all of it would be fifteen times its size
