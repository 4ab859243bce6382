"""Uploads: CSV and JSON rows become seeds, and every bad cell is named by its row and column."""

import csv
import io
import json
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.task_files.file_formats import read_source
from pipelines.core.task_files.read_tasks import COLUMNS, MAX_ROWS, parse_tasks, tasks_as_csv, tasks_as_rows
from pipelines.core.tasks.seed import AXES, OWN_PARTS, Seed, TrackedConstraint, parse_seed
from pipelines.core.text import csv_text
from pipelines.core.text.problems import Refused
from pipelines.core.tools.failure_rules import parse_failure_rules
from pipelines.core.tools.tools_schema import parse_tools_schema

# As the documentation has it
BEHAVIOR = (
    "The refund_order tool rejects any order whose shipped_at is more than 90 days before the run date and "
    "returns it unchanged."
)
EXAMPLE = (
    "user,behavior,state,failure_rules\n"
    '"Refund order #4521 if it shipped more than 30 days ago.",'
    f'"{BEHAVIOR}",'
    '"{""order"":{""4521"":{""status"":""shipped"",""shipped_at"":""2026-04-01"",""amount"":79.50}}}",'
    '"[{""trigger"":""after_n_calls"",""tool"":""refund_order"",""n"":1,""duration"":1,'
    '""error"":{""code"":502,""message"":""Payment processor unavailable""}}]"\n'
).encode()
TOOLS = parse_tools_schema([{"name": "refund_order", "input_schema": {"type": "object"}}])
LEDGER = parse_ledger_schema({"entities": [{"type": "order", "id_field": "id"}]})


def refused(source, **around):
    with pytest.raises(Refused) as found:
        parse_tasks(source, **around)
    return found.value


def problems(source, **around):
    return refused(source, **around).problems


def rows(*lines):
    return "\n".join(lines).encode()


# What is accepted


def test_the_documented_example():
    (seed,) = parse_tasks(EXAMPLE, tools=TOOLS, ledger_schema=LEDGER)
    assert seed.as_json() == {
        "user_instruction": "Refund order #4521 if it shipped more than 30 days ago.",
        "behavior_instructions": BEHAVIOR,
        "initial_state": {
            "order": {"4521": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5}}
        },
        "failure_rules": [
            {
                "trigger": "after_n_calls",
                "tool": "refund_order",
                "n": 1,
                "duration": 1,
                "error": {"code": 502, "message": "Payment processor unavailable"},
            }
        ],
    }


def test_json_rows_use_the_columns_names_with_json_values():
    rows = [
        {"user": "Hi.", "state": {"order": {}}, "max_turns": 1, "tags": ["a", "b"]},
        {"user": "Hi.", "state": '{"order": {}}', "max_turns": "1", "tags": "a, b", "behavior": None},
    ]
    first, second = parse_tasks(rows)
    assert first == second
    assert (first.initial_state, first.max_turns, first.tags) == ({"order": {}}, 1, ("a", "b"))


FILES = {
    "byte order mark": b"\xef\xbb\xbfuser\nHi.",
    "CRLF": b"user\r\nHi.\r\n",
    "CR": b"user\rHi.\r",
    "quoted header": b'"user"\n"Hi."\n',
    "spaces around the header": b" user \nHi.\n",
    "blank lines before and after": b"\n\nuser\n\nHi.\n\n\n",
    "an empty row": b"user,behavior\n,\nHi.,\n , \n",
    "an unnamed column without content": b"user,,\nHi.,,\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_files_as_programs_write_them(data):
    assert parse_tasks(data) == [Seed(user_instruction="Hi.")]


def test_a_cell_may_hold_line_breaks_commas_and_quotes():
    (seed,) = parse_tasks(b'user,tags\n"Say ""hi"",\r\nthen\nstop.",x\n')
    assert seed.user_instruction == 'Say "hi",\r\nthen\nstop.'


def test_a_quote_within_an_unquoted_cell_is_a_character():
    assert parse_tasks(b'user,state\nThe 19" rack,{}\n')[0].user_instruction == 'The 19" rack'


def test_a_cell_may_be_far_larger_than_the_csv_modules_limit():
    state = {"order": {str(i): {"note": "x" * 1_000} for i in range(500)}}
    (seed,) = parse_tasks(tasks_as_csv([Seed(user_instruction="Hi.", initial_state=state)]))
    assert seed.initial_state == state
    assert csv.field_size_limit() == 131_072, "the process-wide limit is left alone"


def test_rows_with_one_world_share_it():
    first, second = parse_tasks(b'user,state\na,"{""order"": {}}"\nb,"{""order"": {}}"\n')
    assert first.initial_state is second.initial_state


# What is refused


def test_unknown_headers_are_all_listed():
    found = problems(b"user,behaviour,colour,expected\na,b,c,d\n")
    assert [problem.column for problem in found] == ["behaviour", "colour", "expected"]
    assert found[0].hint == "did you mean `behavior`?"
    assert "`user`" in found[1].hint


def test_unknown_keys_of_json_rows_are_all_listed():
    found = problems([{"user": "a", "behaviour": "b"}, {"user": "a", "colour": 1}])
    assert [(problem.row, problem.path, problem.column) for problem in found] == [
        (1, "/rows/0/behaviour", "behaviour"),
        (2, "/rows/1/colour", "colour"),
    ]
    assert found[0].hint == "did you mean `behavior`?"


WHOLE_FILES = {
    "empty": (b"", "the file is empty"),
    "only line breaks": (b"\n\r\n", "the file is empty"),
    "only commas": (b",,\n", "the file is empty"),
    "a header only": (b"user\n", "the upload has no rows"),
    "empty rows only": (b"user,state\n,\n\n", "the upload has no rows"),
    "Latin-1": ("user\nÉtat".encode("latin-1"), "not UTF-8 (line 2, byte 5)"),
    "a quote that is never closed": (b'user,state\na,{}\n"b,{}\nc,{}\n', "never closed"),
    "quotes that are not doubled": (b'user,state\na,"{"order": {}}"\n', "closing quote"),
    "a column twice": (b"user,user\na,b\n", "the header has the column `user` 2 times"),
    "no user column": (b"state\n{}\n", "the column `user` is missing"),
    "a cell under no header": (b"user,\na,b\n", "the header has no name for its column"),
}


@pytest.mark.parametrize(("data", "says"), WHOLE_FILES.values(), ids=WHOLE_FILES)
def test_files_that_cannot_be_taken(data, says):
    assert says in problems(data)[0].message


@pytest.mark.parametrize("rows", [None, {}, "x", 5])
def test_rows_that_are_no_list(rows):
    assert [problem.path for problem in problems(rows)] == ["/rows"]


def test_structural_problems_name_their_row():
    assert [problem.row for problem in problems(b'user,state\na,{}\n"b,{}\n')] == [3]
    assert [problem.row for problem in problems(b'user,state\na,{}\n\nb,"{"a"}"\n')] == [4]


CELLS = {
    "blank user": (b"user,tags\n ,x\n", 2, "user", "missing"),
    "single quotes": (b"user,state\na,{'order': {}}\n", 2, "state", "not valid JSON"),
    "cut off": (b'user,state\na,"{""order"": "\n', 2, "state", "not valid JSON"),
    "NaN": (b'user,state\na,"{""order"": {""1"": {""total"": NaN}}}"\n', 2, "state", "NaN"),
    "a key twice": (b'user,state\na,"{""order"": {}, ""order"": {}}"\n', 2, "state", "twice"),
    "JSON of the wrong kind": (b"user,state\na,[]\n", 2, "state", "must be a JSON object"),
    "not a whole number": (b"user,max_turns\na,3.5\n", 2, "max_turns", "3.5"),
    "a number out of range": (b"user,max_turns\na,51\n", 2, "max_turns", "from 1 to 50"),
    "a word that is no choice": (b"user,turn_mode\na,chat\n", 2, "turn_mode", "`single_shot`"),
    "a NUL": (b"user,tags\na\0b,x\n", 2, "user", "NUL"),
    "a NUL in JSON": (b'user,state\na,"{""o\0"": {}}"\n', 2, "state", "not valid JSON"),
    "too many cells": (b"user,state\na,{},x\n", 2, None, "has 3 cells, but the header has 2"),
    "too few cells": (b"user,state\na,{}\nb\n", 3, None, "has 1 cell, but the header has 2"),
    "after an empty row": (b"user,max_turns\na,1\n,\nb,x\n", 4, "max_turns", "`x`"),
}


@pytest.mark.parametrize(("data", "row", "column", "says"), CELLS.values(), ids=CELLS)
def test_a_bad_cell_is_named_by_row_and_column(data, row, column, says):
    (problem,) = problems(data)
    assert (problem.row, problem.column) == (row, column)
    assert says in problem.message
    assert problem.path == (f"row {row}, column {column}" if column else f"row {row}")


HINTS = {
    "single quotes": ("{'order': {}}", "double quotes"),
    "typographic quotes": ("{“order”: {}}", "straight"),
    "Python's words": ('{"order": {"1": {"gift": True}}}', "true, false and null"),
    "a comma too many": ('{"order": {},}', "comma"),
    "no JSON at all": ("order 1 is paid", "starts with {"),
    "cut off by Excel": ('{"order": "' + "x" * 32_756, "32,767"),
}


@pytest.mark.parametrize(("cell", "hint"), HINTS.values(), ids=HINTS)
def test_the_usual_slips_in_json_cells_get_a_hint(cell, hint):
    (problem,) = problems([{"user": "a", "state": cell}])
    assert hint in problem.hint
    assert (problem.path, problem.row, problem.column) == ("/rows/0/state", 1, "state")


def test_a_problem_inside_a_cell_says_where_in_both_forms():
    wrong = {"order": {"4521": "paid"}}
    (in_csv,) = problems(b'user,state\na,"{""order"": {""4521"": ""paid""}}"\n')
    (in_json,) = problems([{"user": "a", "state": wrong}])
    assert in_csv.path == "row 2, column state, at /order/4521"
    assert in_json.path == "/rows/0/state/order/4521"


WRONG_EFFECTS = {
    "late by nothing": ({"latency_ms": 0}, "/0/latency_ms", "from 1 to 300000"),
    "unknown kind": ({"error": {"kind": "timout"}}, "/0/error/kind", "timout"),
    "late timeout": (
        {"error": {"kind": "timeout"}, "latency_ms": 5},
        "/0/latency_ms",
        "a timeout sends no reply",
    ),
    "nothing at all": ({}, "/0/error", "missing"),
}


@pytest.mark.parametrize(("effect", "place", "says"), WRONG_EFFECTS.values(), ids=WRONG_EFFECTS)
def test_a_wrong_effect_of_a_rule_is_told_in_both_forms(effect, place, says):
    wrong = [{"trigger": "after_n_calls", "tool": "refund_order", "n": 1} | effect]
    cell = json.dumps(wrong).replace('"', '""')
    (in_csv,) = problems(f'user,failure_rules\na,"{cell}"\n'.encode())
    (in_json,) = problems([{"user": "a", "failure_rules": wrong}])
    assert in_csv.path == f"row 2, column failure_rules, at {place}"
    assert in_json.path == f"/rows/0/failure_rules{place}"
    assert in_csv.message == in_json.message
    assert says in in_json.message


def test_messages_speak_of_columns_not_axes():
    (problem,) = problems([{"user": ""}])
    assert problem.message == "`user` is missing"


def test_rules_and_states_are_checked_against_the_agent():
    found = problems(EXAMPLE.replace(b"refund_order", b"refnd_order").replace(b"order", b"ordr"), tools=TOOLS)
    assert [(problem.row, problem.column) for problem in found] == [(2, "failure_rules")]
    found = problems(b'user,state\na,"{""orders"": {}}"\n', ledger_schema=LEDGER)
    assert [(problem.column, problem.hint) for problem in found] == [("state", "did you mean `order`?")]


def test_every_bad_cell_of_every_row_is_listed_in_order():
    found = problems(b"user,state,max_turns,tags\na,{,0,x\n,[],x,y\nb,{},1\n")
    assert [(problem.row, problem.column) for problem in found] == [
        (2, "state"),
        (2, "max_turns"),
        (3, "max_turns"),
        (3, "user"),
        (3, "state"),
        (4, None),
    ]


def test_the_first_thousand_problems_are_listed_and_all_are_counted():
    found = refused(b"user,max_turns\n" + b"a,x\n" * 1_500)
    assert (len(found.problems), found.total) == (1_000, 1_500)
    entities = {str(i): i for i in range(3_000)}
    found = refused([{"user": "a", "state": {"order": entities}}])
    assert (len(found.problems), found.total) == (1_000, 3_000)


def test_five_thousand_rows_and_no_more():
    row = {"user": "a"}
    assert len(parse_tasks([row] * MAX_ROWS)) == 5_000
    assert "5,001" in problems([row] * (MAX_ROWS + 1))[0].message
    assert "5,001" in problems(b"user\n" + b"a\n" * (MAX_ROWS + 1))[0].message
    assert problems([])[0].message == "the upload has no rows"


# Columns and axes


def test_every_axis_has_exactly_one_column():
    assert sorted(column.axis for column in COLUMNS) == sorted(AXES)
    assert {*AXES, *OWN_PARTS} == {field.name for field in fields(Seed)}
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert all(column.help.endswith(".") for column in COLUMNS)


# Round trips

texts = st.text(min_size=1, max_size=20).filter(lambda text: text.strip() and "\0" not in text)
tricky = st.sampled_from(
    ['"', ",", "\r\n", '{"a"', "[1]", '"x"', " x ", "=1+1", "\ufeff", "ends\n", "5", "null"]
)
texts = (texts | tricky).filter(str.strip)
free = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, free, max_size=3)
checks = st.sampled_from([None, {"final_response": {"$contains": "x"}}])
either = objects | st.lists(free, max_size=3)
maybe = st.none() | texts
rules = st.lists(
    st.builds(
        lambda tool, n, effect: {"trigger": "after_n_calls", "tool": tool, "n": n} | effect,
        texts,
        st.integers(1, 9),
        st.builds(lambda response: {"error": {"code": 200, "response": response}}, free)
        | st.builds(lambda ms: {"latency_ms": ms}, st.integers(1, 300_000))
        | st.builds(lambda ms: {"error": {"kind": "timeout", "after_ms": ms}}, st.integers(1, 300_000))
        | st.just({"error": {"kind": "reset"}, "latency_ms": 7}),
    ),
    max_size=2,
).map(lambda body: parse_failure_rules(body, tools=None))
seeds = st.builds(
    Seed,
    user_instruction=texts,
    failure_rules=rules,
    behavior_instructions=maybe,
    initial_state=st.dictionaries(
        texts.filter(lambda name: name != "initial_state"),
        st.dictionaries(texts, objects, max_size=2),
        max_size=2,
    ),
    expected_outcome=st.sampled_from([None, "completion", "refusal", "no_change"]),
    turn_mode=st.sampled_from(["single_shot", "model_as_user"]),
    max_turns=st.integers(1, 50),
    memory_mode=st.sampled_from(["replay", "stateful"]),
    user_simulator_persona=maybe,
    scripted_user_turns=st.lists(texts, max_size=2).map(tuple),
    tracked_constraints=st.lists(
        st.builds(TrackedConstraint, id=texts, description=texts, check=checks),
        max_size=2,
        unique_by=lambda c: c.id,
    ).map(tuple),
    workspace_seed=st.none() | texts | either,
    setup_command=maybe,
    eval=st.none() | texts | either,
    expected_state=st.sampled_from([None, {"unchanged": True}, {"order.1.status": {"$in": ["paid", 1]}}]),
    expected_answer=st.sampled_from([None, {"amount": 79.5, "when": {"$date": "2026-05-03"}}]),
    expected_calls=st.sampled_from([None, ["get_order"], {"must_not": [{"tool": "refund_order"}]}]),
    task_input=st.none() | either,
    tags=st.lists(texts.map(str.strip), max_size=3, unique=True).map(tuple),
)


@given(st.lists(seeds, min_size=1, max_size=3))
@settings(deadline=None)
def test_an_export_uploaded_again_gives_equal_seeds(some):
    """Cell by cell, whether or not such a task can be run today."""
    assert cells_of(tasks_as_csv(some)) == some
    assert cells_of(tasks_as_rows(some)) == some


def cells_of(source):
    return [parse_seed(row.axes) for row in read_source(source, "table").rows]


def test_an_export_has_only_the_columns_in_use():
    assert tasks_as_csv([Seed(user_instruction="a"), Seed(user_instruction="b", tags=("x", "y"))]) == (
        b'user,tags\r\na,\r\nb,"[""x"",""y""]"\r\n'
    )
    assert tasks_as_csv([]) == b"user\r\n"


cells = st.text(st.sampled_from('ab,"\r\n; é'), max_size=6)
records = st.lists(st.lists(cells, min_size=1, max_size=4), max_size=5)


@given(records)
def test_records_are_read_as_they_were_written(some):
    assert list(csv_text.records_of(csv_text.write_records(some).decode(), ",")) == some


@given(records)
def test_the_standard_library_reads_what_we_write_and_we_what_it_writes(some):
    written = csv_text.write_records(some).decode()
    theirs = [record or [""] for record in csv.reader(io.StringIO(written, newline=""), strict=True)]
    assert theirs == some
    out = io.StringIO(newline="")
    csv.writer(out).writerows(some)
    assert list(csv_text.records_of(out.getvalue(), ",")) == some


@given(st.binary(max_size=60) | st.text(st.sampled_from('user,"\r\n{}[]1 '), max_size=60).map(str.encode))
def test_any_bytes_give_seeds_or_problems(data):
    try:
        parsed = parse_tasks(b"user,state\n" + data)
    except Refused as error:
        parsed = error.problems
    assert parsed


def test_a_quote_that_is_never_closed_costs_one_pass():
    data = b'user\n"' + b'a""' * 300_000
    assert "never closed" in problems(data)[0].message
