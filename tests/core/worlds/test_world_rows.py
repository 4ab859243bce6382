"""Rows of a world: drafted from what calls do, kept only with proof, steered by themes."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from worlds_kit import NOW, TRADES, ground, shop, shop_state, tool, toolset, trade, world_of

from pipelines.core.tasks.seed import parse_seed
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.failure_rules import AfterNCalls, AfterStateChange, ForcedReply
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import Verdict
from pipelines.core.worlds.ground import called, ground_of
from pipelines.core.worlds.rows.coverage import coverage
from pipelines.core.worlds.rows.draft_rows import bucket_notes, draft_rows
from pipelines.core.worlds.rows.prove_row import nearly_same, prove_row
from pipelines.core.worlds.shapes import (
    ROW_AXES,
    Bucket,
    DraftRow,
    ProvedRow,
    ReferenceCall,
    RejectedRow,
    Toolset,
)

ORACLES = ("expected_state", "expected_calls", "collateral")
BUCKETS = (
    Bucket(name="everyday", theme="everyday requests", rows=15),
    Bucket(name="refusals", theme="not allowed", rows=8),
    Bucket(name="trouble", theme="backend trouble", rows=4),
    Bucket(name="steps", theme="several steps", rows=4),
)


@cache
def made(name: str) -> tuple[list[ProvedRow], int]:
    """All rows of the usual buckets, and how many were drafted for them."""
    kept: list[ProvedRow] = []
    drafted = 0
    for bucket in BUCKETS:
        wanted = len(kept) + bucket.rows
        for draft in drafts(trade(name), world_of(name), bucket, ground=ground(name)):
            drafted += 1
            texts = [row.draft.user_instruction for row in kept]
            row = proved(name, draft, texts)
            kept += [row] if isinstance(row, ProvedRow) else []
            if len(kept) == wanted:
                break
    return kept, drafted


def drafts(of: Toolset, state: Any, bucket: Bucket, axes: Any = ROW_AXES, **more: Any) -> Any:
    return draft_rows(of, state, bucket, rng_seed=1, now=NOW, axes=axes, **more)


def proved(name: str, draft: DraftRow, texts: list[str] | None = None) -> ProvedRow | RejectedRow:
    of, state = trade(name), world_of(name)
    return prove_row(of, state, draft, now=NOW, earlier_texts=texts or [], ground=ground(name))


@pytest.mark.parametrize("name", TRADES)
def test_rows_are_kept_an_agent_that_does_nothing_passes_none_and_the_reference_passes_all(name: str) -> None:
    kept, drafted = made(name)
    assert len(kept) == sum(bucket.rows for bucket in BUCKETS)
    assert len(kept) >= 0.8 * drafted
    for row in kept:
        run = ground(name).opened(now=NOW, rules=row.draft.failure_rules)
        answers = [called(run, call.tool, call.arguments) for call in row.draft.reference_calls]
        verdict = judged(name, row.draft, [answer.row for answer in answers], "It is settled.")
        assert not [one for one in verdict.findings if one.check in ORACLES and one.failure_mode]
        for says in ("", "Done.", "I am sorry, I cannot help with that."):
            assert judged(name, row.draft, [], says).verdict == "FAIL"


def judged(name: str, draft: DraftRow, trace: list[Any], says: str) -> Verdict:
    found = judge(
        RunEvidence(
            user_instruction=draft.user_instruction,
            behavior_instructions=draft.behavior,
            expected_outcome=draft.expected_outcome,
            expected_state=draft.expected_state,
            expected_calls=draft.expected_calls,
            tools=trade(name).tools,
            world=ground(name).world,
            trace=tuple(trace),
            responses=(says,),
            now=NOW,
        )
    )
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize("name", TRADES)
def test_rows_cover_what_coverage_counts(name: str) -> None:
    counted = coverage([row.draft for row in made(name)[0]], trade(name))
    assert counted.rows == 31
    assert all(counted.by_expected_outcome.values())
    assert all(counted.by_calls.values())
    assert counted.by_trigger["after_n_calls"] >= 4
    assert counted.by_outcome["recovered"] == sum(counted.by_trigger.values())
    skipped = {"apply_for_loan", "quote_rate"} if name == "credit_union" else set()
    assert set(counted.missing_tools) == skipped


def test_drafts_are_the_same_for_the_same_seed_and_survive_storage() -> None:
    of, state = trade("clinic"), world_of("clinic")
    first = list(drafts(of, state, BUCKETS[0], ground=ground("clinic")))
    second = list(drafts(of, state, BUCKETS[0]))
    assert first == second
    assert len(first) > 2 * BUCKETS[0].rows
    assert all(DraftRow.from_stored(one.as_json()) == one for one in first)
    dumps([one.as_json() for one in first])


def test_a_row_is_a_seed_that_an_upload_takes() -> None:
    for row in made("clinic")[0]:
        one = row.draft
        seed = {
            "user_instruction": one.user_instruction,
            "failure_rules": [rule.as_json() for rule in one.failure_rules],
            "expected_outcome": one.expected_outcome,
            "expected_state": one.expected_state,
            "expected_calls": one.expected_calls,
            "behavior_instructions": one.behavior,
        }
        parse_seed(seed, tools=trade("clinic").tools, ledger_schema=trade("clinic").ledger_schema)


# -- proof


def cancelling(**changes: Any) -> DraftRow:
    draft = DraftRow(
        user_instruction="Please cancel order O-1.",
        expected_outcome="completion",
        expected_state={"order.O-1.status": "cancelled"},
        reference_calls=(ReferenceCall(tool="cancel_order", arguments={"order_id": "O-1"}),),
        tool="cancel_order",
        about=("order/O-1",),
    )
    return replace(draft, **changes)


def calls(*ids: str, tool: str = "cancel_order") -> tuple[ReferenceCall, ...]:
    return tuple(ReferenceCall(tool=tool, arguments={"order_id": id}) for id in ids)


BUSY = AfterNCalls(tool="cancel_order", error=ForcedReply(code=503, message="Busy."), n=1, duration=1)
REFUSAL: dict[str, Any] = {
    "expected_outcome": "refusal",
    "expected_state": {"unchanged": True},
    "expected_calls": {"must": [{"tool": "*", "only_successful": False}]},
}
KEPT = {
    "done": cancelling(),
    "refused by a rule": cancelling(
        user_instruction="Cancel O-4.", reference_calls=calls("O-4"), about=(), **REFUSAL
    ),
    "failed and tried again": cancelling(failure_rules=(BUSY,), reference_calls=calls("O-1", "O-1")),
}
REJECTED = {
    "near_duplicate": cancelling(user_instruction="Could you cancel order O-9, please?"),
    "answer_given_away": cancelling(user_instruction="Please see that order O-1 is cancelled."),
    "invalid_arguments": cancelling(
        reference_calls=(ReferenceCall(tool="cancel_order", arguments={"id": 1}),)
    ),
    "id_from_nowhere": cancelling(reference_calls=calls("O-4")),
    "call_failed": cancelling(user_instruction="Please cancel order O-4.", reference_calls=calls("O-4")),
    "oracle_not_met": cancelling(expected_state={"order.O-1.status": "shipped"}),
    "met_by_nothing": cancelling(
        expected_state={"order.O-2.status": "shipped"}, reference_calls=calls("O-1", tool="get_order")
    ),
    "not_refused": cancelling(**REFUSAL),
    "guessed": cancelling(reference_calls=(ReferenceCall(tool="frobnicate", arguments={}),)),
    "invalid_oracle": cancelling(expected_state={"order": 3}),
}


def shop_row(draft: DraftRow) -> ProvedRow | RejectedRow:
    of = shop()
    odd = toolset([tool("frobnicate", "Frobnicates.")]).tools
    of = replace(of, tools=(*of.tools, *odd))
    return prove_row(of, shop_state(), draft, now=NOW, earlier_texts=["Cancel order O-9."])


@pytest.mark.parametrize("case", KEPT)
def test_a_row_is_kept_when_its_calls_meet_its_oracle(case: str) -> None:
    row = shop_row(KEPT[case])
    assert isinstance(row, ProvedRow), row
    assert row.proof


@pytest.mark.parametrize("code", REJECTED)
def test_a_row_is_rejected_with_the_reason(code: str) -> None:
    row = shop_row(REJECTED[code])
    assert isinstance(row, RejectedRow), row
    assert row.reason_code == code
    assert row.reason


def test_a_failure_rule_that_never_fires_proves_nothing() -> None:
    late = replace(BUSY, n=7)
    row = shop_row(cancelling(failure_rules=(late,)))
    assert isinstance(row, RejectedRow)
    assert row.reason_code == "call_failed"


@pytest.mark.parametrize("text", ["Use cancel_order on O-1.", "Cancel order O-1, not O-2."])
def test_tool_names_and_other_ids_give_the_answer_away(text: str) -> None:
    row = shop_row(cancelling(user_instruction=text))
    assert isinstance(row, RejectedRow)
    assert row.reason_code == "answer_given_away"


def test_texts_that_differ_only_in_politeness_are_nearly_the_same() -> None:
    assert nearly_same("Please cancel order O-1.", "Hi, could you cancel order O-1?")
    assert not nearly_same("Please cancel order O-1.", "Please cancel order O-2.")


# -- themes


def themed(
    theme: str, axes: Any = ROW_AXES, name: str = "tool_hire"
) -> tuple[list[DraftRow], tuple[str, ...]]:
    bucket = Bucket(name="b", theme=theme, rows=5)
    of, state = trade(name), world_of(name)
    rows = list(drafts(of, state, bucket, axes, ground=ground(name)))
    return rows, bucket_notes(of, state, bucket, now=NOW, axes=axes, ground=ground(name))


def test_a_theme_steers_by_the_words_of_tools_things_and_outcomes() -> None:
    assert {row.tool for row in themed("cancellations")[0]} == {"yard_rental_cancel"}
    assert {row.tool for row in themed("retiring machines")[0]} >= {"yard_machine_retire"}
    assert {row.outcome for row in themed("not allowed")[0]} <= {"forbidden", "refused", "not_found"}
    assert {row.outcome for row in themed("backend trouble")[0]} == {"recovered"}
    assert {row.outcome for row in themed("unknown ids")[0]} == {"not_found"}
    both = themed("blocked customers that are not allowed")[0]
    assert {(row.tool, row.outcome) for row in both} >= {("yard_customer_block", "forbidden")}
    assert all(len(row.reference_calls) > 1 for row in themed("several steps")[0])


def test_rows_of_a_refusal_theme_begin_with_what_a_sentence_forbids() -> None:
    first = themed("not allowed")[0][:4]
    assert any(row.sentences for row in first)
    assert all(row.outcome != "not_found" for row in first)


def test_what_a_call_sets_off_makes_the_next_one_fail() -> None:
    plan = [
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        {"set": {"order.status": "'cancelled'"}},
        {"flag": "'stock_recount'"},
        {"return": "order"},
    ]
    of = shop(None)
    tools = [one.as_json() | ({"simulation": plan} if one.name == "cancel_order" else {}) for one in of.tools]
    of = replace(of, tools=parse_tools_schema(tools, ledger_schema=of.ledger_schema))
    rows = drafts(of, shop_state(), Bucket(name="b", theme="backend trouble", rows=3))
    row = next(one for one in rows if isinstance(one.failure_rules[0], AfterStateChange))
    assert isinstance(prove_row(of, shop_state(), row, now=NOW, earlier_texts=[]), ProvedRow)
    assert len(row.reference_calls) == 3


def test_a_theme_that_matches_nothing_gets_no_rows_and_is_told_so() -> None:
    rows, notes = themed("moonlight sonatas")
    assert rows == []
    assert any("“moonlight” and “sonatas” speak of no tool" in note for note in notes)


def test_axes_that_are_off_are_left_out_and_told() -> None:
    rows, notes = themed("anything", ("user_instruction", "initial_state"))
    assert rows
    assert {row.expected_outcome for row in rows} == {"completion"}
    assert not any(row.failure_rules for row in rows)
    assert any("expected_outcome is off" in note for note in notes)


def test_no_rows_are_made_about_a_tool_that_would_be_a_guess_and_that_is_said() -> None:
    rows, notes = themed("everything", name="credit_union")
    assert "apply_for_loan" not in {call.tool for row in rows for call in row.reference_calls}
    assert any("apply_for_loan" in note and "guessed" in note for note in notes)


def test_times_that_only_the_backend_knows_are_left_open_by_the_oracle() -> None:
    plan = [
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        {"set": {"order.status": "'cancelled'", "order.cancelled_at": "now"}},
        {"return": "order"},
    ]
    of = replace(shop(None), ledger_schema=None)
    tools = [one.as_json() | ({"simulation": plan} if one.name == "cancel_order" else {}) for one in of.tools]
    of = replace(of, tools=parse_tools_schema(tools, ledger_schema=None))
    rows = drafts(of, shop_state(), Bucket(name="b", theme="cancellations", rows=3))
    expected: Any = next(row.expected_state for row in rows if row.outcome == "changed")
    (moment,) = [value for key, value in expected.items() if key.endswith("cancelled_at")]
    assert moment == {"$exists": True}


def test_an_empty_world_gets_no_rows_and_a_note() -> None:
    of = shop()
    bucket = Bucket(name="b", theme="orders", rows=3)
    empty: Any = {"customer": {}, "order": {}}
    assert list(drafts(of, empty, bucket)) == []
    assert any(
        "No row can be made" in note for note in bucket_notes(of, empty, bucket, now=NOW, axes=ROW_AXES)
    )


def test_a_world_is_not_changed_by_what_is_tried_on_it() -> None:
    state = shop_state()
    before = dumps(state)
    here = ground_of(shop(), state)
    list(drafts(shop(), state, Bucket(name="b", theme="", rows=3), ground=here))
    assert dumps(state) == before
