"""The hints of a tool's annotations go before its name and description, and are shown as what they are."""

from typing import Any

import pytest
from invented_backends import tool

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.plan_listing import shown_plans
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tool_annotations import ToolAnnotations
from pipelines.core.tools.tools_schema import Tool

READS = ToolAnnotations(reads_only=True)
CHANGES = ToolAnnotations(reads_only=False)
DESTROYS = ToolAnnotations(is_destructive=True)
SHOP: JsonObject = {
    "customer": {"c1": {"name": "Ann", "email": "ann@example.com", "status": "active"}},
    "order": {
        "o1": {"customer_id": "c1", "total": 30, "status": "open"},
        "o2": {"customer_id": "c1", "total": 5, "status": "cancelled"},
    },
    "node": {
        "n1": {"name": "Ada", "kind": "person", "facts": ["She wrote a program."]},
        "n2": {"name": "Engine", "kind": "machine", "facts": []},
    },
}
NOW = Moment(seed="s", call_number=1, now="2026-01-15T10:30:00Z")


def hinted(one: Tool, hints: ToolAnnotations | None) -> Tool:
    return Tool(name=one.name, description=one.description, input_schema=one.input_schema, annotations=hints)


def built(one: Tool) -> PlannedSimulator:
    return build_simulator([one], world=World.from_initial_state(SHOP))


def answer(one: Tool, **arguments: Any) -> SimulatedReply:
    ledger = Ledger(World.from_initial_state(SHOP))
    return built(one).answer(one.name, arguments, ledger, NOW)


ORDER = {"order_id": "o1"}
NAMED_LIKE_A_CHANGE = [
    (tool("cancel_order", "Cancels an order.", order_id="text"), ORDER),
    (tool("delete_order", "", order_id="text"), ORDER),
    (
        tool("create_order", "Create an order.", customer_id="text", total="number"),
        {"customer_id": "c1", "total": 3},
    ),
    (
        tool("update_customer", "Updates a customer.", customer_id="text", email="text"),
        {"customer_id": "c1", "email": "x"},
    ),
    (
        tool("send_message", "Sends a message.", customer_id="text", text="text"),
        {"customer_id": "c1", "text": "x"},
    ),
    (
        tool("transfer_money", "Transfers money.", from_id="text", to_id="text", amount="number"),
        {"from_id": "c1", "to_id": "c1", "amount": 1},
    ),
    (tool("open_nodes", "Open specific nodes by their names.", names="texts"), {"names": ["Ada"]}),
]


@pytest.mark.parametrize(("one", "arguments"), NAMED_LIKE_A_CHANGE, ids=lambda one: getattr(one, "name", ""))
def test_a_tool_that_only_reads_changes_nothing_whatever_it_is_called(
    one: Tool, arguments: JsonObject
) -> None:
    assert answer(hinted(one, READS), **arguments).updates == ()


def test_a_tool_that_only_reads_answers_with_what_it_is_asked_for() -> None:
    reply = answer(hinted(tool("cancel_order", "Cancels an order.", order_id="text"), READS), order_id="o1")
    assert reply.response == SHOP["order"]["o1"]  # type: ignore[index,call-overload]
    opened = hinted(tool("open_nodes", "Open specific nodes by their names.", names="texts"), READS)
    reply = answer(opened, names=["Engine"])
    assert [one["name"] for one in reply.response] == ["Engine"]  # type: ignore[index,union-attr,call-overload]
    assert not built(opened).plan_of("open_nodes").is_guess


NAMED_LIKE_A_READ = [
    tool("get_order", "Get an order.", order_id="text"),
    tool("order_status", "Returns the status of an order.", order_id="text"),
    tool("list_orders", "Lists orders."),
]


@pytest.mark.parametrize("hints", [CHANGES, DESTROYS])
@pytest.mark.parametrize("one", NAMED_LIKE_A_READ, ids=lambda one: one.name)
def test_a_tool_that_changes_something_nobody_names_is_no_sure_read(
    one: Tool, hints: ToolAnnotations
) -> None:
    """What it changes cannot be known: it is a guess that changes nothing and says so."""
    assert not built(one).plan_of(one.name).is_guess
    found = built(hinted(one, hints)).plan_of(one.name)
    assert found.is_guess
    assert any("is not clear" in note for note in found.notes)


def test_the_description_says_what_a_tool_changes_that_is_named_like_a_read() -> None:
    one = tool("get_order", "Cancels the order.", order_id="text")
    assert answer(one, order_id="o1").updates == ()
    reply = answer(hinted(one, CHANGES), order_id="o1")
    assert [update.set for update in reply.updates] == [{"status": "cancelled"}]  # type: ignore[union-attr]


def test_a_tool_that_may_destroy_updates_the_record_with_what_it_is_given() -> None:
    one = tool("customer_details", "Details of a customer.", customer_id="text", email="text")
    assert answer(one, customer_id="c1", email="new@example.com").updates == ()
    reply = answer(hinted(one, DESTROYS), customer_id="c1", email="new@example.com")
    assert [update.set for update in reply.updates] == [{"email": "new@example.com"}]  # type: ignore[union-attr]


def test_reading_goes_before_destroying_as_in_mcp() -> None:
    both = ToolAnnotations(reads_only=True, is_destructive=True)
    one = tool("delete_order", "Deletes an order.", order_id="text")
    assert answer(hinted(one, both), order_id="o1").updates == ()


@pytest.mark.parametrize(
    "hints", [CHANGES, DESTROYS, ToolAnnotations(is_idempotent=True), ToolAnnotations(title="x")]
)
def test_a_hint_that_agrees_with_the_name_leaves_the_plan_as_it_is(hints: ToolAnnotations) -> None:
    one = tool("cancel_order", "Cancels an order.", order_id="text")
    plain, told = built(one).plan_of(one.name), built(hinted(one, hints)).plan_of(one.name)
    assert plain.plan is not None
    assert told.plan is not None
    assert told.plan.as_json() == plain.plan.as_json()
    assert told.confidence >= plain.confidence


def test_things_that_are_picked_by_a_list_of_names_are_not_made() -> None:
    """Without a hint: one node whose name is a list of names is no node."""
    one = tool("open_nodes", "Open specific nodes by their names.", names="texts")
    reply = answer(one, names=["Ada"])
    assert reply.updates == ()
    assert built(one).plan_of("open_nodes").is_guess
    made = tool("create_node", "Create a node.", name="text", kind="text", facts="texts")
    assert len(answer(made, name="Bo", kind="person", facts=["x"]).updates) == 1


SAID = {
    "reads": (READS, ["it only reads (readOnlyHint)"]),
    "changes": (CHANGES, ["it changes something (readOnlyHint: false)"]),
    "destroys": (DESTROYS, ["it may change or delete what is there (destructiveHint)"]),
    "reads, the rest without meaning": (
        ToolAnnotations(reads_only=True, is_destructive=False, is_idempotent=True, is_open_world=False),
        ["it only reads (readOnlyHint)", "it reaches nothing outside (openWorldHint: false)"],
    ),
    "only adds": (
        ToolAnnotations(reads_only=False, is_destructive=False, is_idempotent=True, is_open_world=True),
        [
            "it changes something (readOnlyHint: false)",
            "it only adds (destructiveHint: false)",
            "the same call again changes nothing more (idempotentHint)",
            "it reaches things outside (openWorldHint)",
        ],
    ),
    "a title is no hint": (ToolAnnotations(title="Cancel"), []),
    "none": (None, []),
}


@pytest.mark.parametrize(("hints", "said"), SAID.values(), ids=SAID)
def test_each_plan_is_shown_with_what_its_definition_says(
    hints: ToolAnnotations | None, said: list[str]
) -> None:
    one = hinted(tool("cancel_order", "Cancels an order.", order_id="text"), hints)
    (item,) = shown_plans(built(one))["items"]  # type: ignore[misc,union-attr]
    assert item["hints"] == [f"the definition says {each}" for each in said]  # type: ignore[index,call-overload]
