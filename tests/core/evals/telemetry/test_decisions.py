"""Which spans are one decision, and what was chosen in it."""

import random
from typing import Any

from pipelines.core.evals.telemetry.decisions import Decision, LookStatistics, decisions_of
from pipelines.core.evals.telemetry.leaves import as_object
from support.made_lines import line

TOLD = {"sku": "S-1", "stock": 4}


def skill(number: int, outcome: Any = None, told: Any = TOLD, **more: Any) -> bytes:
    return line(number, told, outcome, **({"trace": 1, "skill": "restock"} | more))


def tool(number: int, name: str, told: Any = None, reply: Any = None, **more: Any) -> bytes:
    told, reply = told or {"id": number}, reply or {"ok": True}
    return line(number, told, reply, name=f"execute_tool {name}", skill=name, **({"trace": 1} | more))


def found(*lines: bytes, looked: LookStatistics | None = None) -> dict[str, list[Any]]:
    return {
        name: [_as_told(decision) for decision in some]
        for name, some in decisions_of(lines, looked or LookStatistics()).items()
    }


def _as_told(decision: Decision) -> Any:
    outcome = decision.outcome
    told = as_object(zip(decision.input.paths, decision.input.values, strict=True))
    ended = as_object(zip(outcome.paths, outcome.values, strict=True)) if outcome is not None else None
    return told, ended


def test_a_tools_reply_inside_a_skill_is_no_decision():
    looked = LookStatistics()
    lines = [skill(1, {"action": "order"}), tool(2, "get_stock", parent=1), tool(3, "get_price", parent=1)]
    assert found(*lines, looked=looked) == {"restock": [(TOLD, {"action": "order"})]}
    assert (looked.spans, looked.tool_replies) == (3, 2)


def test_without_an_outcome_of_its_own_a_skill_chose_what_it_called():
    lines = [
        skill(1, at=(0, 90)),
        tool(2, "order", parent=1, at=(10, 20)),
        tool(3, "order", parent=1, at=(30, 40)),
        tool(4, "notify", parent=1, at=(50, 60)),
        skill(5, trace=2, told={"stock": 90}, at=(0, 80)),
    ]
    assert found(*lines) == {
        "restock": [(TOLD, {"tools": ["order", "notify"]}), ({"stock": 90}, {"tools": []})]
    }


def test_a_skill_that_says_its_outcomes_did_not_choose_its_calls_where_one_is_lost():
    looked = LookStatistics()
    lines = [skill(1, {"action": "order"}), skill(2, trace=2), tool(3, "get_stock", parent=2, trace=2)]
    assert found(*lines, looked=looked)["restock"] == [(TOLD, None), (TOLD, {"action": "order"})]
    assert looked.without_outcome == 1


def test_a_tool_of_an_unknown_parent_belongs_to_the_skill_that_was_open_meanwhile():
    lines = [
        skill(1, skill="outer", at=(0, 100)),
        skill(2, skill="inner", at=(10, 50)),
        tool(3, "in_both", parent=77, at=(20, 30)),
        tool(4, "in_outer", at=(60, 70)),
        tool(5, "behind", at=(200, 210)),
    ]
    told = {name: some[0][1] for name, some in found(*lines).items()}
    assert told == {"inner": {"tools": ["in_both"]}, "outer": {"tools": ["in_outer"]}}


def test_the_parent_decides_where_two_skills_were_open():
    lines = [
        skill(1, skill="one", at=(0, 100)),
        skill(2, skill="two", at=(5, 100)),
        tool(3, "a", parent=1, at=(20, 30)),
        tool(4, "b", parent=2, at=(40, 50)),
    ]
    told = {name: some[0][1] for name, some in found(*lines).items()}
    assert told == {"one": {"tools": ["a"]}, "two": {"tools": ["b"]}}


def test_trying_again_is_one_decision_the_last_that_did_not_fail():
    looked = LookStatistics()
    lines = [
        skill(1, status="error", at=(0, 10)),
        skill(2, {"action": "wait"}, at=(20, 30)),
        skill(3, {"action": "order"}, at=(40, 50)),
        skill(4, status="error", at=(60, 70)),
        skill(5, {"action": "other"}, told={"sku": "S-2"}, at=(80, 90)),
    ]
    assert found(*lines, looked=looked)["restock"] == [
        ({"sku": "S-2"}, {"action": "other"}),
        (TOLD, {"action": "order"}),
    ]
    assert looked.retries == 3


def test_a_tool_that_answers_with_a_decision_is_an_agent_used_as_a_tool():
    assert found(tool(1, "assess", TOLD, {"decision": "settle", "ref": 7})) == {
        "assess": [(TOLD, {"decision": "settle", "ref": 7})]
    }


def test_tools_alone_are_a_choice_of_what_to_call_after_the_first_reply():
    order, late = {"order_id": "O-1"}, {"days_late": 12}
    lines = [
        tool(1, "get_order", order, {"busy": True}, parent=9, status="error", at=(0, 5)),
        tool(2, "get_order", order, late, parent=9, at=(10, 20)),
        tool(3, "refund", order, parent=9, at=(30, 40)),
        tool(4, "send_mail", order, parent=9, at=(50, 60)),
        tool(5, "get_order", order, {"days_late": 1}, parent=8, at=(0, 10)),
    ]
    assert found(*lines) == {
        "after get_order": [
            (order | {"get_order": late}, {"tools": ["refund", "send_mail"]}),
            (order | {"get_order": {"days_late": 1}}, {"tools": []}),
        ]
    }


def test_replies_that_nothing_followed_are_no_decisions():
    looked = LookStatistics()
    assert found(tool(1, "get_order"), tool(2, "get_order", trace=2), looked=looked) == {}
    assert (looked.tool_replies, looked.without_outcome) == (2, 0)


def test_the_order_of_the_lines_changes_nothing():
    chance = random.Random(1)
    lines = [
        each
        for trace in range(1, 40)
        for each in (
            skill(3 * trace, {"n": trace}, trace=trace, at=(trace, trace + 9)),
            tool(3 * trace + 1, "look", trace=trace, at=(trace + 1, trace + 2)),
            tool(3 * trace + 2, "look", trace=trace + 100, at=(trace, trace + 2)),
        )
    ]
    shuffled = chance.sample(lines, len(lines))
    assert decisions_of(shuffled, LookStatistics()) == decisions_of(lines, LookStatistics())
