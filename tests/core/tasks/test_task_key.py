"""What a task is known by: stable where it is the same task, another where it is not."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.task_files.read_tasks import parse_tasks, tasks_as_csv, tasks_as_rows
from pipelines.core.tasks.seed import AXES, Seed
from pipelines.core.tasks.seed_text import encode_seed, parse_seed_text
from pipelines.core.tasks.task_key import (
    LABEL_AXES,
    ORACLE_AXES,
    content_hash,
    fold_content,
    key_of,
    keys_of,
    oracle_hash,
    world_hash_of,
)
from pipelines.core.text.problems import Refused

ROW: dict[str, Any] = {
    "user": "Refund order 4521.",
    "behavior": "Orders are refunded within 30 days.",
    "state": {"order": {"4521": {"status": "shipped", "total": 79.5}, "9": {"status": "open"}}, "flags": {}},
    "now": "2026-05-01T12:00:00Z",
    "failure_rules": [{"trigger": "random", "tool": "*", "probability": 0.05, "latency_ms": 2000}],
    "task_input": {"b": 1, "a": [1, 2]},
    "expected_state": {"order.4521.status": "refunded"},
    "expected_outcome": "completion",
    "tags": ["refund"],
}


def key(row: dict[str, Any]) -> str:
    (seed,) = parse_tasks([row])
    return key_of(content(seed))


def content(seed: Seed) -> str:
    body = seed.as_json()
    return content_hash(body, world_hash_of(body))


@given(st.randoms())
def test_the_order_of_columns_and_keys_and_the_spacing_of_json_change_nothing(chance: random.Random):
    names = list(ROW)
    chance.shuffle(names)
    shuffled = {
        name: json.dumps(turned(ROW[name], chance), indent=chance.choice([None, 2]))
        if isinstance(ROW[name], dict | list)
        else ROW[name]
        for name in names
    }
    assert key(shuffled) == key(ROW)


def turned(value: Any, chance: random.Random) -> Any:
    """The same with the keys of every object in another order; arrays keep theirs."""
    if isinstance(value, list):
        return [turned(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: turned(value[name], chance) for name in chance.sample(list(value), len(value))}


@pytest.mark.parametrize(
    "change",
    [
        {"expected_state": {"order.4521.status": "cancelled"}},
        {"expected_state": None, "expected_calls": ["refund_order"]},
        {"expected_outcome": "refusal"},
        {"expected_answer": {"amount": 79.5}},
        {"tracked_constraints": ["Be kind."]},
        {"tags": "other, labels"},
        {"id": "refund-late"},
        {"turn_mode": "single_shot"},  # the default, written out
        {"now": "2026-05-01T14:00:00+02:00"},  # the same moment
    ],
)
def test_oracles_labels_and_defaults_are_not_part_of_it(change):
    assert key(ROW | change) == key(ROW)


@pytest.mark.parametrize(
    "change",
    [
        {"user": "Refund order 4522."},
        {"behavior": None},
        {"state": {"order": {"4521": {"status": "shipped", "total": 80}}}},
        {"now": None},
        {"failure_rules": []},
        {"task_input": {"b": 1, "a": [2, 1]}},
        {"strict_simulation": "true"},
        {"turn_mode": "model_as_user", "simulator_mode": "scripted", "scripted_user_turns": ["Yes."]},
    ],
)
def test_what_is_asked_and_the_world_it_meets_are(change):
    assert key(ROW | change) != key(ROW)


def test_every_axis_is_asked_or_judges_or_labels():
    """A new axis has to be thought of: here is where its author learns that."""
    asked = set(AXES) - {*ORACLE_AXES, *LABEL_AXES}
    assert asked == {
        *("user_instruction", "behavior_instructions", "initial_state", "now", "failure_rules"),
        *("turn_mode", "max_turns", "memory_mode", "simulator_mode", "user_simulator_persona"),
        *("scripted_user_turns", "termination_keyword", "scenario_ref", "workspace_seed", "setup_command"),
        *("task_input", "strict_simulation", "rules"),
    }


def test_line_ends_of_the_system_that_saved_the_file_change_nothing():
    assert key({"user": "One.\r\nTwo."}) == key({"user": "One.\nTwo."})


def test_the_key_is_this_one_for_good():
    """Runs of years ago are compared by it: a change here forgets them."""
    assert key({"user": "Hello."}) == "t4544f7ef72c7"
    assert key(ROW) == "t9660adff5688"


def test_oracles_are_told_apart():
    one, same, other = parse_tasks(
        [ROW, ROW | {"tags": "x", "user": "y"}, ROW | {"expected_outcome": "refusal"}]
    )
    assert oracle_hash(one.as_json()) == oracle_hash(same.as_json()) != oracle_hash(other.as_json())


def test_a_seed_on_its_way_from_a_helper_process_brings_its_hashes():
    (seed,) = parse_tasks([ROW])
    read = parse_seed_text(encode_seed(seed))
    assert (read.content_hash, read.oracle_hash) == (content(seed), oracle_hash(seed.as_json()))


# Keys within a dataset

A, B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("own_ids", "contents", "taken", "counted", "keys"),
    [
        ([None, None], [A, B], [], {}, [key_of(A), key_of(B)]),
        ([None, None, None], [A, A, A], [], {}, [key_of(A), f"{key_of(A)}-2", f"{key_of(A)}-3"]),
        ([None], [A], [key_of(A), f"{key_of(A)}-2"], {A: 2}, [f"{key_of(A)}-3"]),
        (["mine", None], [A, A], [], {}, ["mine", key_of(A)]),
        # An author who writes what looks like ours is not in the way of ours, wherever the row stands.
        ([None, key_of(A)], [A, B], [], {}, [f"{key_of(A)}-2", key_of(A)]),
    ],
)
def test_keys_within_a_dataset(own_ids, contents, taken, counted, keys):
    assert keys_of(own_ids, contents, taken, counted) == keys


@given(st.lists(st.tuples(st.sampled_from([None, "x"]), st.sampled_from([A, B])), max_size=20))
def test_no_key_is_given_twice(tasks):
    own_ids = [f"{own_id}{at}" if own_id else None for at, (own_id, _) in enumerate(tasks)]
    keys = keys_of(own_ids, [content for _, content in tasks], [], {})
    assert len(set(keys)) == len(keys)
    assert [key for key, own_id in zip(keys, own_ids, strict=True) if own_id] == list(filter(None, own_ids))


def test_rows_that_are_appended_make_the_content_of_one_upload():
    tasks = [("s1", "w"), ("s2", None), ("s3", "w")]
    assert fold_content(fold_content(None, tasks[:1]), tasks[1:]) == fold_content(None, tasks)
    assert fold_content(None, tasks) != fold_content(None, tasks[::-1])


# The column


def test_an_id_is_text_without_the_space_around_it_or_a_whole_number():
    (seed,) = parse_tasks(b"user,id\nHello., late order \n")
    assert seed.id == "late order"
    assert [seed.id for seed in parse_tasks([{"user": "a", "id": 7}, {"user": "b", "id": " "}])] == [
        "7",
        None,
    ]


def test_an_id_comes_back_from_an_export():
    seeds = parse_tasks([ROW | {"id": "mine"}, ROW])
    assert parse_tasks(tasks_as_csv(seeds)) == seeds
    assert parse_tasks(tasks_as_rows(seeds)) == seeds


@pytest.mark.parametrize(
    ("own_id", "says"),
    [
        ("x" * 101, "`id` has 101 characters; at most 100 are allowed"),
        ("two\nlines", "`id` must not have a line break or another unprintable character"),
        (True, "`id` must be a string, not a boolean"),
        (["a"], "`id` must be a string, not an array"),
    ],
)
def test_an_id_that_cannot_be_one_is_refused(own_id, says):
    with pytest.raises(Refused) as refused:
        parse_tasks([{"user": "a", "id": own_id}])
    assert [problem.message for problem in refused.value.problems] == [says]


def test_every_id_that_stands_twice_is_told_in_each_of_its_rows():
    """Also where a row has another problem."""
    with pytest.raises(Refused) as refused:
        parse_tasks(b"user,id\na,x\nb,y\nc, x\n,y\nd,z\ne,x\n")
    told = [(problem.path, problem.message) for problem in refused.value.problems]
    assert told == [
        ("row 2, column id", "rows 2, 4 and 7 have the same id `x`"),
        ("row 3, column id", "rows 3 and 5 have the same id `y`"),
        ("row 4, column id", "rows 2, 4 and 7 have the same id `x`"),
        ("row 5, column user", "`user` is missing"),
        ("row 5, column id", "rows 3 and 5 have the same id `y`"),
        ("row 7, column id", "rows 2, 4 and 7 have the same id `x`"),
    ]
