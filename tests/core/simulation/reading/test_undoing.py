"""What undoes a state never sets it; and a figure that no record keeps is invented, and named as invented."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json
from pipelines.core.tools.tools_schema import parse_tools_schema

WORLD: dict[str, Any] = {
    "load": {
        "LOA-1": {"status": "open", "lane": "A-B", "weight_kg": 900, "is_locked": False},
        "LOA-2": {"status": "on_hold", "lane": "B-C", "weight_kg": 1900, "is_locked": True},
        "LOA-3": {"status": "booked", "lane": "A-B", "weight_kg": 700, "is_locked": False},
    },
    "card": {
        "C-1": {"status": "active", "holder": "Ana Ruiz"},
        "C-2": {"status": "frozen", "holder": "Bo Lind"},
        "C-3": {"status": "closed", "holder": "Cy Noor"},
    },
    "piece": {
        "P-1": {"title": "Dawn", "on_display": True, "is_published": True},
        "P-2": {"title": "Dusk", "on_display": False, "is_published": False},
    },
}


def simulator(name: str, description: str, **arguments: str) -> PlannedSimulator:
    properties = {argument: {"type": kind} for argument, kind in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    tool = {"name": name, "description": description, "parameters": schema}
    return build_simulator(parse_tools_schema([tool]), world=World.from_initial_state(WORLD))


def called(planned: PlannedSimulator, **given: Json) -> SimulatedReply:
    [name] = planned.tools
    ledger = Ledger(World.from_initial_state(WORLD))
    return planned.answer(name, given, ledger, Moment(seed="undo", call_number=1, now="2026-01-15T10:30:00Z"))


def changes(name: str, description: str, argument: str, id: str) -> list[Any]:
    reply = called(simulator(name, description, **{argument: "string"}), **{argument: id})
    assert reply.status == 200, reply.response
    return [update.as_json()["set"] for update in reply.updates]


@pytest.mark.parametrize(
    ("name", "description", "id", "becomes"),
    [
        ("hold_load", "Put a load on hold.", "LOA-1", {"status": "on_hold"}),
        ("unlock_load", "Unlock a load.", "LOA-2", {"is_locked": False}),
        ("lock_load", "Lock a load.", "LOA-1", {"is_locked": True}),
        ("reopen_load", "Reopen a load.", "LOA-3", {"status": "open"}),
        ("reopen_load", "Reopens a load that is booked.", "LOA-3", {"status": "open"}),
        ("release_hold", "Take a load off hold: it goes back to open.", "LOA-2", {"status": "open"}),
        ("unfreeze_card", "Unfreeze a card.", "C-2", {"status": "active"}),
        ("freeze_card", "Freeze a card.", "C-1", {"status": "frozen"}),
        ("lift_freeze", "Lift the freeze of a card, which becomes active.", "C-2", {"status": "active"}),
        ("restore_card", "Restores a closed card.", "C-3", {"status": "active"}),
        ("take_off_display", "Take a piece off display.", "P-1", {"on_display": False}),
        ("unpublish_piece", "Unpublish a piece.", "P-1", {"is_published": False}),
    ],
)
def test_what_undoes_leads_back(name: str, description: str, id: str, becomes: Json) -> None:
    argument = {"L": "load_id", "C": "card_id", "P": "piece_id"}[id[0]]
    assert changes(name, description, argument, id) == [becomes]


@pytest.mark.parametrize(
    ("name", "description", "argument", "id"),
    [
        ("release_hold", "Take a load off hold.", "load_id", "LOA-1"),
        ("lift_hold", "Lifts the hold of a load.", "load_id", "LOA-2"),
        ("release_hold", "Release a load that is on hold.", "load_id", "LOA-2"),
    ],
)
def test_where_nothing_says_what_it_leads_back_to_nothing_changes(
    name: str, description: str, argument: str, id: str
) -> None:
    planned = simulator(name, description, **{argument: "string"})
    assert called(planned, **{argument: id}).updates == ()
    assert planned.plans[name].is_guess
    assert any("is not clear" in note for note in planned.plans[name].notes)


def test_a_figure_that_no_record_keeps_is_invented_and_says_so() -> None:
    schema = {"type": "object", "properties": {"lane": {"type": "string"}, "weight_kg": {"type": "number"}}}
    tool = {
        "name": "quote_rate",
        "description": "Price of a shipment on a lane",
        "parameters": schema | {"required": ["lane", "weight_kg"]},
        "output_schema": {"type": "object", "properties": {"rate": {"type": "number"}}, "required": ["rate"]},
    }
    planned = build_simulator(parse_tools_schema([tool]), world=World.from_initial_state(WORLD))
    reply = called(planned, lane="A-B", weight_kg=1200)
    assert reply.status == 200
    assert isinstance(reply.response, dict)
    assert isinstance(reply.response["rate"], (int, float))
    assert planned.plans["quote_rate"].is_guess
    assert any("`rate` is not in the world: its value is invented" in note for note in reply.notes)


def test_what_a_plan_rests_on_is_told() -> None:
    planned = simulator("freeze_card", "Freeze a card.", card_id="string")
    told = planned.plans["freeze_card"].grounds
    assert any("its ids: `card_id` picks a record of `card`" in one for one in told)
    assert any("`freeze` is read by the family transition" in one for one in told)


def test_a_type_may_be_called_as_a_word_of_the_language_is() -> None:
    properties = {"class_id": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["class_id"]}
    tool = {"name": "cancel_class", "description": "Cancel a class.", "parameters": schema}
    world = World.from_initial_state(
        {"class": {"c-1": {"status": "planned"}, "c-2": {"status": "cancelled"}}}
    )
    planned = build_simulator(parse_tools_schema([tool]), world=world)
    moment = Moment(seed="class", call_number=1, now="2026-01-15T10:30:00Z")
    done = planned.answer("cancel_class", {"class_id": "c-1"}, Ledger(world), moment)
    assert [update.as_json()["set"] for update in done.updates] == [{"status": "cancelled"}]
    missing = planned.answer("cancel_class", {"class_id": "c-9"}, Ledger(world), moment)
    again = planned.answer("cancel_class", {"class_id": "c-2"}, Ledger(world), moment)
    assert (missing.status, again.status) == (404, 409)
    assert "class_record" not in str((missing.response, again.response, done.response))
    assert "class record" not in str((missing.response, again.response, done.response))


def test_a_part_that_is_named_is_not_the_whole_record() -> None:
    world = World.from_initial_state({"sample": {"s-1": {"status": "stored", "tags": ["a"]}}})
    schema = {
        "type": "object",
        "properties": {"sample_id": {"type": "string"}, "tag": {"type": "string"}},
        "required": ["sample_id", "tag"],
    }
    tools = parse_tools_schema(
        [{"name": "tag_remove", "description": "Take a tag off a sample.", "parameters": schema}]
    )
    plan = build_simulator(tools, world=world).plan_of("tag_remove")
    assert plan.is_guess
    assert plan.plan is not None
    assert not any("remove" in step for step in plan.plan.body)  # type: ignore[operator]
