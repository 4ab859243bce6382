"""Plain tools of any trade do what they plainly must, whatever their ids and types are called."""

import re
from typing import Any

import pytest

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.tools_schema import parse_tools_schema

NOW = Moment(seed="plain", call_number=1, now="2026-01-15T10:30:00Z")
HERD: JsonObject = {
    "bovines": {
        "DE-0342": {"name": "Alma", "breed": "Holstein", "plot_id": "PL-A", "status": "active", "kg": 655},
        "DE-0343": {"name": "Bella", "breed": "Jersey", "plot_id": "PL-A", "status": "active", "kg": 610},
        "DE-0351": {"name": "Cora", "breed": "Jersey", "plot_id": "PL-B", "status": "sold", "kg": 430},
    },
    "plots": {
        "PL-A": {"label": "Mill", "hectares": 4.5, "capacity": 6},
        "PL-B": {"label": "Slope", "hectares": 2.1, "capacity": 3},
    },
    "yields": {
        "Y-1": {"bovine_id": "DE-0342", "date": "2026-05-10", "litres": 14.5},
        "Y-2": {"bovine_id": "DE-0342", "date": "2026-05-11", "litres": 12},
        "Y-3": {"bovine_id": "DE-0343", "date": "2026-05-10", "litres": 11.5},
    },
}
TEXT, NUMBER = {"type": "string"}, {"type": "number"}
EXAMPLE = {"type": "string", "description": "Ear tag of the animal, e.g. DE-0999"}


def declared(name: str, description: str, **arguments: JsonObject) -> dict[str, Any]:
    schema = {"type": "object", "properties": arguments, "required": [*arguments]}
    return {"name": name, "description": description, "parameters": schema}


def herd_tools(tag: JsonObject) -> list[dict[str, Any]]:
    return [
        declared("lookup_cow", "Herd book entry, with name and breed.", ear_tag=tag),
        declared("milkings_of_cow", "Milkings recorded for a cow.", ear_tag=tag),
        declared("sell_cow", "Sell an animal of the herd.", ear_tag=tag, buyer=TEXT),
        declared("update_weight", "Enter the weight of an animal.", ear_tag=tag, kg=NUMBER),
        declared("move_cow", "Move an animal to another pasture.", ear_tag=tag, pasture_id=TEXT),
        declared("record_milking", "Record a milking of a cow.", ear_tag=tag, date=TEXT, litres=NUMBER),
        declared("pasture", "One pasture.", pasture_id=TEXT),
    ]


def answer(tools: list[dict[str, Any]], world: JsonObject, name: str, given: JsonObject) -> SimulatedReply:
    seeded = World.from_initial_state(world)
    simulator = build_simulator(parse_tools_schema(tools), world=seeded)
    return simulator.answer(name, given, Ledger(seeded), NOW)


def changes(reply: SimulatedReply) -> list[tuple[Json, Json]]:
    made = [update.as_json() for update in reply.updates]
    return [(one.get("entity_type"), one.get("set") or one.get("attrs")) for one in made]


#: tool, what is given beside the id, what is set or added
CHANGES: list[tuple[str, JsonObject, tuple[str, JsonObject]]] = [
    ("sell_cow", {"buyer": "Rist"}, ("bovines", {"status": "sold"})),
    ("update_weight", {"kg": 640}, ("bovines", {"kg": 640})),
    ("move_cow", {"pasture_id": "PL-B"}, ("bovines", {"plot_id": "PL-B"})),
    (
        "record_milking",
        {"date": "2026-05-12", "litres": 9},
        ("yields", {"bovine_id": "DE-0343", "date": "2026-05-12", "litres": 9}),
    ),
]


@pytest.mark.parametrize("tag", [EXAMPLE, TEXT], ids=["an example", "none"])
@pytest.mark.parametrize(("name", "given", "expected"), CHANGES, ids=[one[0] for one in CHANGES])
def test_an_id_that_is_not_called_so(
    name: str, given: JsonObject, expected: tuple[str, JsonObject], tag: JsonObject
) -> None:
    reply = answer(herd_tools(tag), HERD, name, {"ear_tag": "DE-0343", **given})
    kind, made = changes(reply)[0]
    assert kind == expected[0]
    assert isinstance(made, dict)
    assert made | expected[1] == made
    assert answer(herd_tools(tag), HERD, name, {"ear_tag": "DE-7777", **given}).status == 404


@pytest.mark.parametrize("tag", [EXAMPLE, TEXT], ids=["an example", "none"])
def test_what_belongs_to_a_record_by_an_id_that_is_not_called_so(tag: JsonObject) -> None:
    reply = answer(herd_tools(tag), HERD, "milkings_of_cow", {"ear_tag": "DE-0342"})
    assert re.findall(r"Y-\d", str(reply.response)) == ["Y-1", "Y-2"]


def test_the_plan_says_that_it_takes_an_argument_for_an_id() -> None:
    tools = parse_tools_schema(herd_tools(EXAMPLE))
    plans = build_simulator(tools, world=World.from_initial_state(HERD)).plans
    assert any("`ear_tag` is taken for the id of a cow" in note for note in plans["sell_cow"].notes)


def test_a_place_that_two_tools_ask_for_is_no_id() -> None:
    tools = [declared(f"get_{what}", f"The {what}.", city=TEXT) for what in ("weather", "forecast")]
    assert answer([*tools, *herd_tools(TEXT)], HERD, "get_weather", {"city": "Ulm"}).status == 200
