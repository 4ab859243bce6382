"""A rule shown by calls: the plans with a rule are written by hand here, as `apply_rules` would."""

from typing import Any

import pytest
from trial_shop import PLANS, STATE, VOCABULARY, WORLD, require, rule, simulator, vocabulary_of

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.rules.examples import MOST_CALLS, examples
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import Json


def guarded(tool: str, need: str, error: str = "refused") -> dict[str, list[Json]]:
    """The plan of a tool with a guard after what it finds first."""
    first, *rest = PLANS[tool]
    return {tool: [first, {"require": need, "else": {"status": 409, "error": error}}, *rest]}


def shown(one: Rule, plans: dict[str, list[Json]], world: World = WORLD) -> Any:
    vocabulary = VOCABULARY if world is WORLD else vocabulary_of(world)
    return examples(one, vocabulary, under=simulator(plans, world), without=simulator(world=world))


def ids(listed: Any) -> list[str]:
    return [one["record"]["id"] for one in listed]


def test_calls_that_pass_and_calls_that_are_refused_are_shown_with_what_the_agent_sees() -> None:
    need = "order.status == 'pending'"
    found = shown(require("cancel_order", need), guarded("cancel_order", need))
    assert (found["calls"], found["differ"], found["refused_count"]) == (4, 2, 2)
    assert ids(found["passes"]) == ["o-1", "o-4"]
    assert sorted(ids(found["refused"])) == ["o-2", "o-3"]
    first = found["refused"][0]
    call = {"order_id": "o-2", "user_id": "u-2"}  # the order's own user: other rules let it through
    assert (first["tool"], first["arguments"], first["status"]) == ("cancel_order", call, 409)
    assert first["record"]["attributes"]["status"] == "shipped"
    assert first["body"]["error"]["code"] == "refused"
    assert found["passes"][0]["body"]["status"] == "cancelled"


def test_a_rule_on_arguments_is_tried_with_values_around_its_constants() -> None:
    need = "args.amount == null or args.amount <= 50"
    found = shown(require("refund_order", need), guarded("refund_order", need))
    amounts = {one["arguments"].get("amount") for part in ("passes", "refused") for one in found[part]}
    assert 51 in amounts
    assert 50 in amounts
    assert 0 < found["refused_count"] < found["calls"] <= MOST_CALLS


def test_a_rule_on_a_linked_record_is_tried_with_records_whose_link_differs() -> None:
    orders: Any = {
        f"o-{n}": {"status": "open", "user_id": "u-2" if n == 900 else "u-1"} for n in range(1_000)
    }
    world = World.from_initial_state({**STATE, "order": orders})
    need = "entity('user', order.user_id).verified"
    found = shown(require("refund_order", "user.verified"), guarded("refund_order", need), world)
    assert ids(found["refused"]) == ["o-900"]
    assert ids(found["passes"])[0] == "o-0"


def test_what_an_unknown_id_is_answered_with_is_tried_with_an_unknown_id() -> None:
    first, *rest = PLANS["get_order"]
    under: list[Json] = [{"find": {**first["find"], "else": {"status": 410, "error": "gone"}}}, *rest]  # type: ignore[call-overload, index, dict-item]
    found = shown(
        rule("not_found", "get_order", target="order", status=410, error="gone"), {"get_order": under}
    )
    [one] = found["refused"]
    assert (one["status"], one["body"]["error"]["code"]) == (410, "gone")
    assert one["record"]["attributes"] is None
    assert found["differ"] == 1
    assert len(found["passes"]) == 3


def test_a_rule_on_dates_is_tried_at_moments_around_them() -> None:
    need = "days_between(order.created_at, today) <= 30"
    found = shown(require("refund_order", need), guarded("refund_order", need))
    assert found["passes"]
    assert found["refused"]
    assert len({one["now"] for one in (*found["passes"], *found["refused"])}) > 1


def test_a_reply_that_is_changed_is_shown_as_it_is_then() -> None:
    under: dict[str, list[Json]] = {"list_orders": [PLANS["list_orders"][0], {"return": "found[:1]"}]}
    found = shown(rule("take", "list_orders", count=1), under)
    assert (found["differ"], found["refused_count"]) == (1, 0)
    [one] = found["refused"]
    assert (one["status"], len(one["body"])) == (200, 1)
    assert "record" not in one


class Counted:
    """A simulator that remembers calls, as a run does: the second refund of an order is refused."""

    def __init__(self, most: int | None) -> None:
        self.inner, self.most = simulator(), most
        self.tools, self.world = self.inner.tools, self.inner.world

    def answer(self, tool: str, arguments: Any, ledger: Ledger, moment: Moment) -> SimulatedReply:
        if self.most is not None and moment.call_number > self.most:
            return SimulatedReply(429, {"error": {"code": "too_often"}})
        return self.inner.answer(tool, arguments, ledger, moment)


@pytest.mark.parametrize(
    "one",
    [
        rule("limit_calls", "refund_order", count=1, per="order"),
        rule("running_total", "refund_order", expression="args.amount", limit=100),
    ],
    ids=["limit_calls", "running_total"],
)
def test_a_rule_that_counts_calls_is_tried_after_others(one: Rule) -> None:
    found: Any = examples(one, VOCABULARY, under=Counted(1), without=Counted(None))
    assert all("before" not in each for each in found["passes"])
    before = [each["before"] for each in found["refused"]]
    assert before
    assert all(calls[0]["tool"] == "refund_order" for calls in before)


def test_a_rule_on_a_call_before_is_tried_without_and_with_it() -> None:
    class Ordered(Counted):
        def answer(self, tool: str, arguments: Any, ledger: Ledger, moment: Moment) -> SimulatedReply:
            if tool == "refund_order" and moment.call_number == 1:
                return SimulatedReply(409, {"error": {"code": "look_first"}})
            return self.inner.answer(tool, arguments, ledger, moment)

    one = rule("after", "refund_order", target="get_order", per="order")
    found: Any = examples(one, VOCABULARY, under=Ordered(None), without=Counted(None))
    assert "before" not in found["refused"][0]
    [before] = found["passes"][0]["before"]
    assert before == {"tool": "get_order", "arguments": {"order_id": found["passes"][0]["record"]["id"]}}


def test_a_call_that_cannot_be_simulated_is_shown_as_the_agent_sees_it() -> None:
    class Broken(Counted):
        def answer(self, tool: str, arguments: Any, ledger: Ledger, moment: Moment) -> SimulatedReply:
            raise SimulationFailed("plan_type", "no number")

    found: Any = examples(
        require("refund_order", "order.paid"), VOCABULARY, under=Broken(None), without=Counted(None)
    )
    assert found["refused"][0]["body"] == {"error": {"code": "plan_type", "message": "no number"}}
    both: Any = examples(
        require("refund_order", "order.paid"), VOCABULARY, under=Broken(None), without=Broken(None)
    )
    assert (both["passes"], both["refused"], both["differ"]) == ([], [], 0)


def test_a_long_body_is_shortened() -> None:
    orders: Any = {f"o-{n}": {"status": "open", "note": "x" * 100} for n in range(50)}
    world = World.from_initial_state({**STATE, "order": orders})
    under: dict[str, list[Json]] = {"list_orders": [PLANS["list_orders"][0], {"return": "reversed(found)"}]}
    [one] = shown(rule("sort", "list_orders", target="-status"), under, world)["refused"]
    assert one["body"].endswith("…")


def test_calls_are_bounded_obey_the_schema_and_are_the_same_each_time() -> None:
    many: Any = {f"o-{n}": {"status": "open", "total": n, "created_at": "2026-01-01"} for n in range(500)}
    world = World.from_initial_state({**STATE, "order": many})
    need = "args.amount < order.total and days_between(order.created_at, today) < 30 and args.state == 'lost'"
    one = rule("require", "refund_order", "mark_order", "cancel_order", "gone", expression=need)

    class Checked(Counted):
        def answer(self, tool: str, arguments: Any, ledger: Ledger, moment: Moment) -> SimulatedReply:
            assert self.tools[tool].accepts(arguments), arguments
            return self.inner.answer(tool, arguments, ledger, moment)

    vocabulary = vocabulary_of(world)
    first, second = (examples(one, vocabulary, Checked(None), Checked(None)) for _ in range(2))
    assert first == second
    assert 3 < first["calls"] <= MOST_CALLS  # type: ignore[operator]


def test_a_rule_without_a_tool_that_is_known_has_no_examples() -> None:
    found: Any = examples(require("gone", "true"), VOCABULARY, simulator(), simulator())
    assert found == {"passes": [], "refused": [], "calls": 0, "differ": 0, "refused_count": 0}


def test_no_further_call_is_tried_once_the_time_is_up() -> None:
    times = iter([True, True, False])
    found: Any = examples(
        require("refund_order", "order.paid"),
        VOCABULARY,
        simulator(),
        simulator(),
        may_read=lambda: next(times),
    )
    assert found["calls"] == 2
