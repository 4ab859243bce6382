"""What a model is told, and whatever it answers: bounded, whole, and never more than a draft."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds_kit import NOW, TRADES, ground, shop, shop_state, trade, world_of

from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.text.json_text import dumps
from pipelines.core.worlds.by_model.change_question import change_problems, changed
from pipelines.core.worlds.by_model.estimate import rows_estimate, world_estimate
from pipelines.core.worlds.by_model.prompt_data import shown_records, told_types, tools_for_prompt
from pipelines.core.worlds.by_model.read_draft import proved_draft
from pipelines.core.worlds.by_model.row_question import rows_schema
from pipelines.core.worlds.by_model.world_question import (
    MOST_PART_TOKENS,
    WorldBrief,
    expected_tokens,
    part_problems,
    parts_of,
)
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.rows.draft_rows import draft_rows
from pipelines.core.worlds.shapes import ROW_AXES, Bucket, ProvedRow, RejectedRow
from pipelines.core.worlds.types.toolset_outline import outline_of
from pipelines.core.worlds.types.world_outline import types_in

SHOP = ground_of(shop(), shop_state())
PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["O-1", "O-4", "C-1", "", "pending"])
ANY = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)
NAMES = st.sampled_from(["order_id", "customer_id", "x"])
CALL = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["get_order", "cancel_order", "list_orders", "nothing"]),
        "arguments": st.dictionaries(NAMES, ANY, max_size=3),
    }
)
RULE = st.fixed_dictionaries(
    {"trigger": st.sampled_from(["after_n_calls", "random", "after_state_change", "x"])},
    optional={
        "tool": st.sampled_from(["*", "cancel_order", "x"]),
        "n": st.integers(-1, 3),
        "duration": st.integers(0, 2),
        "condition": st.just("late"),
        "probability": st.floats(0, 1),
        "error": st.fixed_dictionaries({"code": st.sampled_from([200, 503, 999])}),
    },
)
PATHS = st.sampled_from(
    ["order.O-1.status", "/order/O-1/status", "order", "order.<new>", "unchanged", "x..y"]
)
ROW = st.fixed_dictionaries(
    {
        "user_instruction": st.sampled_from(
            ["Please cancel order O-1.", "Hello", "About O-4 and C-1: stop it"]
        ),
        "expected_outcome": st.sampled_from(["completion", "refusal"]),
        "reference_calls": st.lists(CALL, max_size=3),
    },
    optional={
        "failure_rules": st.lists(RULE, max_size=2),
        "expected_state": st.none() | st.dictionaries(PATHS, ANY, max_size=2),
    },
)


def brief(name: str, records: int) -> WorldBrief:
    of = trade(name)
    return WorldBrief(
        tools=tools_for_prompt(of.tools),
        types=told_types(outline_of(of)),
        behaviour=of.behavior,
        wishes=None,
        today=NOW,
        records=records,
        variation=1,
    )


@given(row=ROW)
@settings(max_examples=150, deadline=None)
def test_whatever_a_model_drafts_is_proved_or_rejected_with_a_reason(row: Any) -> None:
    if CompiledSchema(rows_schema(ROW_AXES)).problems({"rows": [row]}):
        return
    found = proved_draft(row, SHOP, bucket="b", now=NOW, earlier_texts=[])
    assert isinstance(found, ProvedRow | RejectedRow)
    if isinstance(found, RejectedRow):
        assert found.reason
        return
    assert found.draft.reference_calls
    assert all(call.is_injected or call.status is not None for call in found.calls)
    assert found.draft.expected_state is not None


@pytest.mark.parametrize("name", TRADES)
def test_a_draft_written_as_the_embedded_author_would_is_proved_with_the_same_oracle(name: str) -> None:
    of, state, here = trade(name), world_of(name), ground(name)
    bucket = Bucket(name="all", theme="", rows=20)
    alike = compared = 0
    for draft, _ in zip(
        draft_rows(of, state, bucket, rng_seed=1, now=NOW, axes=ROW_AXES, ground=here),
        range(40),
        strict=False,
    ):
        row = {
            "user_instruction": draft.user_instruction,
            "expected_outcome": draft.expected_outcome,
            "failure_rules": [rule.as_json() for rule in draft.failure_rules],
            "reference_calls": [call.as_json() for call in draft.reference_calls],
        }
        found = proved_draft(row, here, bucket="all", now=NOW, earlier_texts=[])
        if isinstance(found, ProvedRow):
            compared += 1
            alike += found.draft.expected_state == draft.expected_state
            assert found.draft.expected_outcome == draft.expected_outcome
    assert compared >= 32
    assert alike == compared


@given(most=st.integers(0, 20_000), first=st.integers(0, 50))
@settings(max_examples=50, deadline=None)
def test_what_is_shown_of_a_world_is_bounded_and_counts_the_rest(most: int, first: int) -> None:
    state = world_of("clinic")
    shown = shown_records(state, first=first, most=most)
    records: Any = shown.world["records"]
    left: Any = shown.world["not_shown"]
    assert sum(len(dumps(one)) for own in records.values() for one in own.values()) <= most
    for kind, own in types_in(state).items():
        assert len(records[kind]) + left.get(kind, 0) == len(own)
        assert all(own[id] == one for id, one in records[kind].items())


@pytest.mark.parametrize("name", TRADES)
@pytest.mark.parametrize("records", [1, 12, 400])
def test_parts_hold_every_type_once_and_are_no_larger_than_an_answer(name: str, records: int) -> None:
    told = brief(name, records)
    parts = parts_of(told)
    assert [kind for part in parts for kind in part] == list(told.types)
    assert all(len(part) == 1 or expected_tokens(told, part) <= MOST_PART_TOKENS for part in parts)


@pytest.mark.parametrize("name", TRADES)
def test_an_estimate_grows_with_what_is_asked_for(name: str) -> None:
    small, large = brief(name, 6), brief(name, 20)
    assert world_estimate(small).tokens_out < world_estimate(large).tokens_out
    assert rows_estimate(small, [5]).tokens_out < rows_estimate(small, [5, 50]).tokens_out
    assert rows_estimate(small, []).questions == 0


@pytest.mark.parametrize("name", TRADES)
def test_a_made_world_is_an_answer_that_passes(name: str) -> None:
    told = brief(name, 12)
    check = {"brief": told, "types": [*told.types], "plan": None, "ledger_schema": trade(name).ledger_schema}
    assert part_problems({"world": world_of(name)}, **check) == []
    types = list(told.types)
    world = {kind: own for kind, own in world_of(name).items() if kind != types[0]}
    assert [one.message for one in part_problems({"world": world}, **check)] == [f"has no `{types[0]}`"]


CHANGE = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "update", "remove", "set_flag"]),
        "entity_type": st.sampled_from(["order", "customer", "pwned", ""]),
        "id": st.sampled_from(["O-1", "O-2", "O-9", ""]),
    },
    optional={
        "attrs": st.dictionaries(st.sampled_from(["status", "total", "x"]), ANY, max_size=2),
        "set": st.dictionaries(st.sampled_from(["status", "total", "x"]), ANY, max_size=2),
        "unset": st.lists(st.sampled_from(["status", "x"]), max_size=2),
        "flag": st.just("f"),
    },
)


@given(changes=st.lists(CHANGE, max_size=4))
@settings(max_examples=200, deadline=None)
def test_changes_are_carried_out_whole_or_refused_and_all_else_stays(changes: Any) -> None:
    before = shop_state()
    against: Any = {"before": before, "shown": shown_records(before), "ledger_schema": shop().ledger_schema}
    data = {"changes": changes, "said": "", "cannot": None}
    if change_problems(data, **against):
        return
    after: Any = changed(data, **against).state
    named = {(one["entity_type"], one["id"]) for one in changes}
    for kind, own in types_in(before).items():
        for id, record in own.items():
            assert (kind, id) in named or after[kind][id] == record
    assert before == shop_state(), "the world before is not touched"
