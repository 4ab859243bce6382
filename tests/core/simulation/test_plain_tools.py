"""Plain tools of any trade do what they plainly must, whatever their ids and types are called."""

import re
from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema

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


# A world of its own for every plain tool: what each must answer and change is known by how it is made.

DESK: JsonObject = {
    "people": {
        "p-1": {"name": "Ada", "email": "ada@x.example", "team_id": "t-1", "status": "active", "pass": "day"},
        "p-2": {"name": "Bo", "email": "bo@x.example", "team_id": "t-2", "status": "away", "pass": "year"},
        "p-3": {"name": "Cy", "email": "cy@x.example", "team_id": "t-1", "status": "active", "pass": "day"},
    },
    "teams": {
        "t-1": {"title": "North", "boss_id": "p-1", "credit_limit": 50, "max_seats": 4},
        "t-2": {"title": "South", "boss_id": "p-2", "credit_limit": 80, "max_seats": 2},
    },
    "print_orders": {
        "o-1": {"person_id": "p-1", "fee": 3.5, "paid_fee": 1.0, "status": "printing", "due": "2026-01-20"},
        "o-2": {"person_id": "p-1", "fee": 9.0, "paid_fee": 9.0, "status": "placed", "due": "2026-02-10"},
        "o-3": {"person_id": "p-2", "fee": 4.0, "paid_fee": 0.0, "status": "returned", "due": "2026-02-01"},
    },
    "shelves": {
        "s-1": {"room": "A", "word_count": 10, "starts": "22:00", "parent_id": None, "check": {"by": "Ada"}},
        "s-2": {"room": "B", "word_count": 30, "starts": "06:00", "parent_id": "s-1", "check": {"by": "Bo"}},
    },
}
AROUND = [
    declared(f"get_{noun}", f"Returns {noun.replace('_', ' ')} by id.", **{f"{noun}_id": TEXT})
    for noun in ("person", "team", "print_order", "shelf")
]
#: name, description, what is given (all of it required), what the reply holds
ANSWERS: list[tuple[str, str, JsonObject, list[str]]] = [
    ("list_shelves", "Lists all shelves.", {}, ["s-1", "s-2"]),
    ("list_print_orders", "Lists all print orders.", {}, ["o-1", "o-2", "o-3"]),
    ("get_person_print_orders", "Returns all print orders of a person.", {"person_id": "p-2"}, ["o-3"]),
    ("placed_print_orders", "All print orders that are placed.", {}, ["o-2"]),
    ("get_person_team_title", "Returns the title of the team of a person.", {"person_id": "p-2"}, ["South"]),
    ("get_team_of_person", "Returns the team of a person.", {"id": "p-2"}, ["South"]),
    ("average_print_order_fee", "Average fee of all print orders.", {}, ["5.5"]),
    ("total_fee", "Total fee of all print orders of a person.", {"person_id": "p-1"}, ["12.5"]),
    ("count_people", "How many people there are.", {}, ["3"]),
]
#: the same, and the type with what is set or added
WRITTEN: list[tuple[str, str, JsonObject, tuple[str, JsonObject]]] = [
    (
        *("update_team_credit_limit", "Updates the credit limit of a team."),
        *({"team_id": "t-1", "credit_limit": 70}, ("teams", {"credit_limit": 70})),
    ),
    (
        *("update_person_pass", "Updates the pass of a person."),
        *({"person_id": "p-1", "pass": "week"}, ("people", {"pass": "week"})),
    ),
    (
        *("update_print_order_paid_fee", "Updates the paid fee of a print order."),
        *({"print_order_id": "o-1", "paid_fee": 2.0}, ("print_orders", {"paid_fee": 2.0})),
    ),
    (
        *("increase_print_order_fee", "Increases the fee of a print order by an amount."),
        *({"print_order_id": "o-1", "amount": 1.0}, ("print_orders", {"fee": 4.5})),
    ),
    (
        *("return_print_order", "Mark a print order as returned."),  # which need not be printing
        *({"print_order_id": "o-2"}, ("print_orders", {"status": "returned"})),
    ),
    (
        *("move_shelf", "Moves a shelf under another one."),
        *({"shelf_id": "s-1", "new_parent_id": "s-2"}, ("shelves", {"parent_id": "s-2"})),
    ),
    (
        *("record_shelf_check", "Records the check of a shelf."),
        *({"shelf_id": "s-2", "by": "Cy"}, ("shelves", {"check": {"by": "Cy"}})),
    ),
    (
        *("create_slot", "Creates a new shelf."),
        *({"room": "C", "word_count": 1, "start_time": "22:00", "end_time": "06:00"},),
        ("shelves", {"room": "C"}),
    ),
]


def desk(name: str, description: str, given: JsonObject) -> SimulatedReply:
    schemas = {key: NUMBER if isinstance(one, (int, float)) else TEXT for key, one in given.items()}
    return answer([declared(name, description, **schemas), *AROUND], DESK, name, given)


@pytest.mark.parametrize(("name", "description", "given", "held"), ANSWERS, ids=[one[0] for one in ANSWERS])
def test_plain_reads(name: str, description: str, given: JsonObject, held: list[str]) -> None:
    reply = desk(name, description, given)
    assert reply.updates == ()
    text = re.sub(r"'\w+_id': '[\w-]+'", "", str(reply.response))  # ids of what they refer to
    ids = re.findall(r"\b[pos]-\d\b", text)
    assert all(one in text for one in held)
    assert len(ids) == len([one for one in held if "-" in one]) or not ids


@pytest.mark.parametrize(
    ("name", "description", "given", "expected"), WRITTEN, ids=[one[0] for one in WRITTEN]
)
def test_plain_changes(
    name: str, description: str, given: JsonObject, expected: tuple[str, JsonObject]
) -> None:
    reply = desk(name, description, given)
    assert reply.status == 200
    kind, made = changes(reply)[0]
    assert kind == expected[0]
    assert isinstance(made, dict)
    assert made | expected[1] == made


@pytest.mark.parametrize(
    ("name", "description", "given", "status"),
    [
        ("get_person_team_title", "Returns the title of the team of a person.", {"person_id": "p-7"}, 404),
        (
            *("register_team", "Registers a new team under its id."),
            *({"team_id": "t-9", "title": "E", "boss_id": "p-9", "credit_limit": 1, "max_seats": 2}, 404),
        ),
    ],
)
def test_plain_refusals(name: str, description: str, given: JsonObject, status: int) -> None:
    reply = desk(name, description, given)
    assert reply.status == status
    assert reply.updates == ()


def test_a_list_says_nothing_of_ids_that_it_does_not_take_for_one() -> None:
    tools = [declared("list_orders", "Lists the print orders of a person.", person_id=TEXT), *AROUND]
    plans = build_simulator(parse_tools_schema(tools), world=World.from_initial_state(DESK)).plans
    assert not any("though not called so" in note for note in plans["list_orders"].notes)


#: Nouns of the tools that are no labels of the world, and names without a verb.
HIRE: JsonObject = {
    "pieces": {
        "P-1": {"name": "Te Deum", "writer_id": "W-1", "shelf_id": "C-A", "parts": 24, "status": "in"},
        "P-2": {"name": "Gloria", "writer_id": "W-1", "shelf_id": "C-B", "parts": 12, "status": "out"},
        "P-3": {"name": "Nocturne", "writer_id": "W-2", "shelf_id": "C-B", "parts": 3, "status": "in"},
    },
    "writers": {"W-1": {"surname": "Adler", "era": "late"}, "W-2": {"surname": "Brandt", "era": "early"}},
    "shelves": {"C-A": {"aisle": 1, "slots": 9}, "C-B": {"aisle": 2, "slots": 5}},
    "contracts": {
        "K-1": {"piece_id": "P-2", "client_id": "E-1", "from_date": "2026-01-01", "status": "active"},
        "K-2": {"piece_id": "P-1", "client_id": "E-2", "from_date": "2025-01-01", "status": "returned"},
    },
    "clients": {"E-1": {"title": "Cantus", "town": "Graz"}, "E-2": {"title": "Viva", "town": "Linz"}},
    "evenings": {
        "V-1": {"day": "2026-03-01", "piece_ids": ["P-1", "P-3"]},
        "V-2": {"day": "2026-04-01", "piece_ids": ["P-2"]},
    },
}
HIRE_TOOLS = [
    declared("score_record", "Name, status and number of parts of a score.", score_id=TEXT)
    | {"output_schema": {"type": "object", "properties": {"name": TEXT, "parts": NUMBER}}},
    declared("composer_profile", "Surname and era of a composer.", composer_id=TEXT),
    declared("composer_works", "All works by a composer.", composer_id=TEXT),
    declared(
        "hire_request",
        "Files a request of an ensemble to hire a score.",
        score_id=TEXT,
        ensemble_id=TEXT,
        from_date=TEXT,
    ),
    declared("hire_record", "A hire with its date and status.", hire_id=TEXT),
    declared("hire_return", "Records that a hired score has come back.", hire_id=TEXT),
    declared("ensemble_profile", "Who an ensemble is.", ensemble_id=TEXT),
    declared("programme_contents", "The scores that are played in a programme.", programme_id=TEXT),
    declared("programme_addition", "Adds a score to a programme.", programme_id=TEXT, score_id=TEXT),
    declared("cabinet_contents", "The scores kept in another cabinet.", cabinet_id=TEXT),
    declared("cabinet_record", "Aisle and slots of a cabinet.", cabinet_id=TEXT),
]


@pytest.mark.parametrize(
    ("name", "given", "held"),
    [
        ("hire_record", {"hire_id": "K-1"}, {"client_id": "E-1", "status": "active"}),
        ("ensemble_profile", {"ensemble_id": "E-1"}, {"title": "Cantus"}),
        ("cabinet_record", {"cabinet_id": "C-A"}, {"aisle": 1}),
    ],
)
def test_a_record_is_found_by_a_noun_that_no_label_has(
    name: str, given: JsonObject, held: JsonObject
) -> None:
    reply = answer(HIRE_TOOLS, HIRE, name, given)
    assert isinstance(reply.response, dict)
    assert reply.response | held == reply.response


#: Nothing tells which of the types a licence is.
OPEN_WORLD: JsonObject = {
    "stones": {"S-1": {"weight": 4}, "S-2": {"weight": 7}},
    "grants": {"G-1": {"label": "north"}, "G-2": {"label": "south"}},
    "slips": {"B-1": {"label": "red"}, "B-2": {"label": "blue"}},
}
OPEN_TOOLS = [
    declared("stone_record", "The weight of a stone.", stone_id=TEXT),
    declared("licence_record", "One licence.", licence_id=TEXT),
    declared("licence_addition", "Adds a stone to a licence.", licence_id=TEXT, stone_id=TEXT),
    declared("licence_surrender", "Records that a licence was handed in.", licence_id=TEXT),
]


@pytest.mark.parametrize("name", ["licence_record", "licence_addition", "licence_surrender"])
@pytest.mark.parametrize(("id", "label"), [("G-2", "south"), ("B-1", "red")])
def test_an_id_of_no_known_type_is_read_wherever_it_is_and_changes_nothing(
    name: str, id: str, label: str
) -> None:
    given: JsonObject = {"licence_id": id} | ({"stone_id": "S-1"} if name == "licence_addition" else {})
    reply = answer(OPEN_TOOLS, OPEN_WORLD, name, given)
    assert reply.status == 200
    assert reply.updates == ()
    assert label in str(reply.response)
    plans = build_simulator(parse_tools_schema(OPEN_TOOLS), world=World.from_initial_state(OPEN_WORLD)).plans
    assert plans[name].confidence <= 0.5
    assert answer(OPEN_TOOLS, OPEN_WORLD, name, given | {"licence_id": "X-9"}).status == 404


#: A marina: piers have room for boats, a hire is of a boat, clients keep credit.

#: tool, description, what is given, status, what is set or added


WHOLE, NUM, TRUE = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}

#: tool, description, what is given, properties of the reply, the reply


#: A depot: kits have so many pieces left, gauges keep what was read last.


#: A brewery: the shifts of its workers are kept apart, with when they came and went.
