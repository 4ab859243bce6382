"""What a file of tasks would be, told before anything is stored; and what its author may say of its names."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.task_files.column_naming import ColumnNaming
from pipelines.core.task_files.read_tasks import read_tasks
from pipelines.core.task_files.upload_preview import FIRST_ROWS, LONGEST_CELL, preview_upload
from pipelines.core.tasks.task_columns import BY_NAME
from pipelines.core.text.problems import Refused

CSV = b'usr,Initial State,notes\n"Refund 4521","{""order"":{}}",mine\nCancel 7,{broken,\n'
RENAMED = ColumnNaming(renames={"usr": "user"}, left_out=frozenset({"notes"}))


def preview(data, format="table", naming=None):
    return preview_upload(
        data, format=format, naming=naming or ColumnNaming(), tools=None, ledger_schema=None
    )


def rows_of(told):
    return [row["cells"] for row in told["rows"]]


def test_columns_are_told_with_what_they_are_and_what_they_may_have_been_meant_as():
    told = preview(CSV)
    assert [(c["name"], c["column"], c["near"]) for c in told["columns"]] == [
        ("usr", None, "user"),
        ("Initial State", "state", None),
        ("notes", None, None),
    ]
    assert rows_of(told) == [["Refund 4521", '{"order":{}}', "mine"], ["Cancel 7", "{broken", ""]]
    assert [row["number"] for row in told["rows"]] == [2, 3]
    assert told["tasks"] is None
    assert {(p.get("row"), p.get("column")) for p in told["problems"]} == {
        (None, "usr"),
        (None, "user"),
        (None, "notes"),
        (3, "state"),
    }


def test_a_rename_and_a_column_left_out_leave_only_what_is_wrong_with_the_cells():
    told = preview(CSV, naming=RENAMED)
    assert [(p["row"], p["column"]) for p in told["problems"]] == [(3, "state")]
    good = preview(CSV.replace(b"{broken", b""), naming=RENAMED)
    assert good["tasks"] == 2
    assert "The column `notes` is left out." in good["notes"]
    assert any("`usr` as `user`" in note for note in good["notes"])


def test_a_header_without_any_column_of_ours_is_shown_to_be_renamed():
    told = preview(b"prompt;world\nRefund 1;{}\n")
    assert [column["name"] for column in told["columns"]] == ["prompt", "world"]
    assert rows_of(told) == [["Refund 1", "{}"]]
    naming = ColumnNaming(renames={"prompt": "user", "world": "state"})
    assert preview(b"prompt;world\nRefund 1;{}\n", naming=naming)["tasks"] == 1


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (json.dumps([{"prompt": "a"}, {"prompt": "b", "memo": 1}]).encode(), "json"),
        (b'{"prompt": "a"}\n{"prompt": "b", "memo": 1}\n', "jsonl"),
        (b"- prompt: a\n- prompt: b\n  memo: 1\n", "yaml"),
    ],
)
def test_objects_are_a_table_of_the_names_they_have(data, format):
    told = preview(data, format)
    assert {column["name"] for column in told["columns"]} == {"prompt", "memo"}
    naming = ColumnNaming(renames={"prompt": "user"}, left_out=frozenset({"memo"}))
    told = preview(data, format, naming)
    assert told["tasks"] == 2
    assert rows_of(told) == [["a"], ["b"]]
    assert any("`memo` is left out" in note for note in told["notes"])


def test_a_column_that_is_switched_on_must_be_there_and_one_that_is_off_is_not_read():
    data = b"user,state\nRefund 1,{}\n"
    told = preview(data, naming=ColumnNaming(needed=("user", "failure_rules")))
    assert [problem["column"] for problem in told["problems"]] == ["failure_rules"]
    (seed,) = read_tasks(
        b'user,state\nRefund 1,"{""order"":{""1"":{}}}"\n', naming=ColumnNaming(left_out=frozenset({"state"}))
    ).seeds
    assert seed.initial_state == {}


def test_the_user_column_is_never_left_out():
    assert preview(b"user\nhi\n", naming=ColumnNaming(left_out=frozenset({"user"})))["tasks"] == 1


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\xff", b"%PDF", b'user\n"never closed', b"\x00\x01"])
def test_what_is_no_table_is_told_and_breaks_nothing(data):
    told = preview(data)
    assert told["problems"]
    assert told["tasks"] is None


def test_a_large_file_is_shown_by_its_first_rows_and_long_cells_by_their_beginning():
    told = preview(b"user\n" + b"\n".join([b"x" * 5_000] * 200) + b"\n")
    assert told["tasks"] == 200
    assert len(told["rows"]) == FIRST_ROWS
    assert len(told["rows"][0]["cells"][0]) == LONGEST_CELL


NAMES = st.sampled_from([*BY_NAME, "prompt", "State", "notes", ""])


@given(
    st.lists(NAMES, min_size=1, max_size=6),
    st.dictionaries(st.sampled_from(["prompt", "notes", "State"]), st.sampled_from([*BY_NAME])),
    st.frozensets(NAMES, max_size=3),
)
def test_a_preview_and_an_upload_agree_on_what_is_taken(header, renames, left_out):
    data = (",".join(header) + "\n" + ",".join("{}" for _ in header) + "\n").encode()
    naming = ColumnNaming(renames=renames, left_out=left_out)
    told = preview(data, naming=ColumnNaming.from_json(naming.as_json()))
    assert (told["tasks"], told["total_problems"]) == taken(data, naming)


def taken(data, naming):
    try:
        return len(read_tasks(data, naming=naming).seeds), 0
    except Refused as refused:
        return None, refused.total
