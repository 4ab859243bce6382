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
    ("shelf_register", "The register of shelves.", {}, ["s-1", "s-2"]),
    ("get_team_max_seats", "Returns the max seats of a team.", {"team_id": "t-2"}, ["2"]),
    ("get_person_team_title", "Returns the title of the team of a person.", {"person_id": "p-2"}, ["South"]),
    ("get_team_of_person", "Returns the team of a person.", {"id": "p-2"}, ["South"]),
    ("average_print_order_fee", "Average fee of all print orders.", {}, ["5.5"]),
    ("total_fee", "Total fee of all print orders of a person.", {"person_id": "p-1"}, ["12.5"]),
    ("count_people", "How many people there are.", {}, ["3"]),
    ("shelf_with_most", "The shelf with the highest word count.", {}, ["s-2"]),
    ("latest_order", "The latest print order of a person by due.", {"person_id": "p-1"}, ["o-2"]),
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
        *("set_person_status", "Sets the status of the person with the given email."),
        *({"email": "bo@x.example", "status": "active"}, ("people", {"status": "active"})),
    ),
    (
        *("register_team", "Registers a new team under its id."),
        *({"team_id": "t-9", "title": "East", "boss_id": "p-1", "credit_limit": 1, "max_seats": 2},),
        ("teams", {"title": "East", "boss_id": "p-1"}),
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
        ("delete_person_by_email", "Deletes the person with the given email.", {"email": "none"}, 404),
        ("get_person_team_title", "Returns the title of the team of a person.", {"person_id": "p-7"}, 404),
        (
            *("register_team", "Registers a new team under its id."),
            *({"team_id": "t-1", "title": "E", "boss_id": "p-1", "credit_limit": 1, "max_seats": 2}, 409),
        ),
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
    ("name", "given", "ids"),
    [
        ("composer_works", {"composer_id": "W-1"}, ["P-1", "P-2"]),
        ("programme_contents", {"programme_id": "V-1"}, ["P-1", "P-3"]),
        ("cabinet_contents", {"cabinet_id": "C-B"}, ["P-2", "P-3"]),
    ],
)
def test_what_an_id_has_is_listed_not_what_it_picks(name: str, given: JsonObject, ids: list[str]) -> None:
    reply = answer(HIRE_TOOLS, HIRE, name, given)
    assert isinstance(reply.response, list)
    assert [one["id"] for one in reply.response if isinstance(one, dict)] == ids


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


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("hire_return", {"hire_id": "K-1"}, ("contracts", {"status": "returned"})),
        (
            *("programme_addition", {"programme_id": "V-2", "score_id": "P-3"}),
            ("evenings", {"piece_ids": ["P-2", "P-3"]}),
        ),
    ],
)
def test_a_change_by_such_a_noun_says_what_it_takes_it_for(
    name: str, given: JsonObject, expected: tuple[Json, Json]
) -> None:
    assert changes(answer(HIRE_TOOLS, HIRE, name, given)) == [expected]
    simulator = build_simulator(parse_tools_schema(HIRE_TOOLS), world=World.from_initial_state(HIRE))
    plan, taken = simulator.plans[name], next(iter(given))
    assert any(f"`{taken}` is taken for an id of `{expected[0]}`" in note for note in plan.notes)
    assert plan.confidence < 0.8


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
MARINA: JsonObject = {
    "piers": {
        "N": {"label": "north", "depth_m": 4, "capacity": 2},
        "S": {"label": "south", "depth_m": 3, "capacity": 5},
    },
    "boats": {
        "B-1": {"title": "Ada", "pier_id": "N", "status": "free", "remark": None},
        "B-2": {"title": "Bo", "pier_id": "N", "status": "at_sea", "remark": "old"},
        "B-3": {"title": "Cleo", "pier_id": "S", "status": "in_dock"},
        "B-4": {"title": "Dora", "pier_id": "S", "status": "free"},
        "B-5": {"title": "Eva", "pier_id": None, "status": "reserved"},
    },
    "clients": {
        "C-1": {"name": "Nuri", "phone": "1", "credit_balance": 50, "licensed": True, "status": "active"},
        "C-2": {"name": "Olga", "phone": "2", "credit_balance": 5, "licensed": False, "status": "active"},
        "C-3": {"name": "Pia", "phone": "3", "credit_balance": 70, "licensed": True, "status": "suspended"},
        "C-4": {"name": "Quin", "phone": "4", "credit_balance": 0, "licensed": True, "status": "closed"},
    },
    "tanks": {
        "T-1": {"fuel": "diesel", "litres": 800, "price": 2.5, "cost": 2},
        "T-2": {"fuel": "diesel", "litres": 100, "price": 2.5, "cost": 2},
    },
    "fees": {
        "801": {"id": 801, "client_id": "C-1", "amount": 30, "status": "paid"},
        "802": {"id": 802, "client_id": "C-1", "amount": 12, "status": "open"},
        "803": {"id": 803, "client_id": "C-2", "amount": 8, "status": "open"},
    },
    "reviews": {
        "R-1": {"boat_id": "B-1", "stars": 5, "text": "fast"},
        "R-2": {"boat_id": "B-2", "stars": 2, "text": "wet"},
    },
    "warnings": {
        "W-1": {"pier_id": "N", "kind": "storm", "status": "ongoing"},
        "W-2": {"pier_id": "S", "kind": "ice", "status": "over"},
    },
    "hires": {
        "H-1": {"boat_id": "B-2", "client_id": "C-1", "status": "running"},
        "H-2": {"boat_id": "B-1", "client_id": "C-2", "status": "ended"},
        "H-3": {"boat_id": "B-5", "client_id": "C-2", "status": "requested"},
        "H-4": {"boat_id": "B-4", "client_id": "C-2", "status": "cancelled"},
    },
}
MARINA_TOOLS = [
    declared("get_boat", "One boat.", boat_id=TEXT),
    declared("get_pier", "One pier.", pier_id=TEXT),
    declared("get_client", "One client.", client_id=TEXT),
    declared("get_hire", "One hire.", hire_id=TEXT),
    declared("get_tank", "One tank.", tank_id=TEXT),
    declared("list_fees", "Fees of a client.", client_id=TEXT),
    declared("list_reviews", "Reviews of a boat.", boat_id=TEXT),
    declared("list_warnings", "Warnings at a pier.", pier_id=TEXT),
]

#: tool, description, what is given, status, what is set or added
MARINA_CALLS: list[tuple[str, str, JsonObject, int, list[tuple[str, JsonObject]]]] = [
    # What a thing is said to be, before its noun or behind it, it has to be.
    ("start_hire", "Start a hire of a free boat.", {"boat_id": "B-3", "client_id": "C-1"}, 409, []),
    (
        *("start_hire", "Start a hire of a boat to a client who is licensed."),
        *({"boat_id": "B-1", "client_id": "C-2"}, 409, []),
    ),
    ("end_hire", "End the hire of a client that is running.", {"hire_id": "H-2"}, 409, []),
    ("move_boat", "Move a boat that is in dock to a pier.", {"boat_id": "B-1", "pier_id": "S"}, 409, []),
    # What the description says becomes of another thing, becomes of it; a condition says nothing of the sort.
    (
        *("start_hire", "Start a hire of a boat, which is at sea from then on."),
        *({"boat_id": "B-1", "client_id": "C-1"}, 200),
        [
            ("hires", {"boat_id": "B-1", "client_id": "C-1", "status": "running"}),
            ("boats", {"status": "at_sea"}),
        ],
    ),
    (
        *("end_hire", "End a running hire. The boat becomes free again.", {"hire_id": "H-1"}, 200),
        [("hires", {"status": "ended"}), ("boats", {"status": "free"})],
    ),
    (
        *("end_hire", "Records that a hired boat has come back. It goes to dock.", {"hire_id": "H-1"}, 200),
        [("hires", {"status": "ended"}), ("boats", {"status": "in_dock"})],
    ),
    (
        *("end_hire", "End a hire, unless the boat is at sea then.", {"hire_id": "H-3"}, 200),
        [("hires", {"status": "ended"})],
    ),
    (
        *(
            "register_boat",
            "Register a new boat. It starts out in dock.",
            {"title": "Flo", "pier_id": "S"},
            200,
        ),
        [("boats", {"title": "Flo", "pier_id": "S", "status": "in_dock"})],
    ),
    # What a verb is done to is so afterwards; what a name says, a new record begins as.
    (
        *("reserve_boat", "Reserve a boat for a client.", {"boat_id": "B-1", "client_id": "C-1"}, 200),
        [("boats", {"status": "reserved"})],
    ),
    (
        *("request_hire", "Ask for a hire.", {"boat_id": "B-1", "client_id": "C-1"}, 200),
        [("hires", {"boat_id": "B-1", "client_id": "C-1", "status": "requested"})],
    ),
    # No pier takes more boats than it has room for.
    ("move_boat", "Move a boat to another pier.", {"boat_id": "B-4", "pier_id": "N"}, 409, []),
    ("register_boat", "Register a new boat.", {"title": "Flo", "pier_id": "N"}, 409, []),
    (
        *("move_boat", "Move a boat to another pier.", {"boat_id": "B-1", "pier_id": "S"}, 200),
        [("boats", {"pier_id": "S"})],
    ),
    # Money is kept under any name that ends as a balance does.
    (
        *("transfer_credit", "Move credit from one client to another."),
        *({"from_client_id": "C-1", "to_client_id": "C-2", "amount": 20}, 200),
        [("clients", {"credit_balance": 30}), ("clients", {"credit_balance": 25})],
    ),
    (
        *("transfer_credit", "Move credit from one client to another."),
        *({"from_client_id": "C-2", "to_client_id": "C-1", "amount": 20}, 409, []),
    ),
    # Two ends and a number are a transfer, whatever it is of and however it is called.
    (
        *("fuel_transfer", "Fuel from one tank to the other."),
        *({"from_tank_id": "T-1", "to_tank_id": "T-2", "litres": 300}, 200),
        [("tanks", {"litres": 500}), ("tanks", {"litres": 400})],
    ),
    # Nothing new begins with whoever is suspended, and no money goes where an account is closed; but anything
    # may be told of anybody.
    ("start_hire", "Start a hire.", {"boat_id": "B-1", "client_id": "C-3"}, 409, []),
    ("top_up_credit", "Add credit of a client.", {"client_id": "C-4", "amount": 9}, 409, []),
    (
        *("top_up_credit", "Add credit of a client.", {"client_id": "C-3", "amount": 9}, 200),
        [("clients", {"credit_balance": 79})],
    ),
    (
        *("record_fee", "Record a fee of a client.", {"client_id": "C-3", "amount": 9}, 200),
        [("fees", {"client_id": "C-3", "amount": 9})],
    ),
    # A verb that nobody listed: what has to be given says what is done.
    (
        *("leave_review", "Leave a review of a boat.", {"boat_id": "B-1", "stars": 4, "text": "dry"}, 200),
        [("reviews", {"boat_id": "B-1", "stars": 4, "text": "dry"})],
    ),
    (
        *("jot_remark", "Jots remark on a boat.", {"boat_id": "B-1", "remark": "leaks"}, 200),
        [("boats", {"remark": "leaks"})],
    ),
    # Nothing goes on with what was cancelled; but it may be kept or given back.
    ("end_hire", "End a hire.", {"hire_id": "H-4"}, 409, []),
    ("archive_hire", "Archive a hire.", {"hire_id": "H-4"}, 200, [("hires", {"status": "archived"})]),
    # What nothing says is made, of which nothing is there, is not made.
    ("run_harbour_job", "Start one of the jobs.", {"job": "night"}, 200, []),
    ("harbour_task", "Carry out a harbour task.", {"task_code": "N-4", "note": "x"}, 200, []),
]


def marina(name: str, description: str, given: JsonObject) -> SimulatedReply:
    arguments = {one: NUMBER if isinstance(value, int) else TEXT for one, value in given.items()}
    return answer([*MARINA_TOOLS, declared(name, description, **arguments)], MARINA, name, given)


@pytest.mark.parametrize(
    ("name", "description", "given", "status", "expected"),
    MARINA_CALLS,
    ids=[f"{one[0]}: {one[1]}" for one in MARINA_CALLS],
)
def test_what_a_change_needs_and_brings_with_it(
    name: str, description: str, given: JsonObject, status: int, expected: list[tuple[str, JsonObject]]
) -> None:
    reply = marina(name, description, given)
    made = changes(reply)
    assert reply.status == status, reply.response
    assert [kind for kind, _ in made] == [kind for kind, _ in expected]
    for (_, found), (_, wanted) in zip(made, expected, strict=True):
        assert isinstance(found, dict)
        assert found | wanted == found


WHOLE, NUM, TRUE = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}

#: tool, description, what is given, properties of the reply, the reply
MARINA_ANSWERS: list[tuple[str, str, JsonObject, dict[str, JsonObject], JsonObject]] = [
    (
        *("pier_places", "How many boats a pier has, and how many places are free.", {"pier_id": "S"}),
        *({"free_places": WHOLE, "boats": WHOLE}, {"free_places": 3, "boats": 2}),
    ),
    (
        *("client_amount_due", "Sum of the open fees of a client.", {"client_id": "C-1"}),
        *({"amount_due": NUM}, {"amount_due": 12}),
    ),
    (
        *("fee_income", "Total fees already paid by a client.", {"client_id": "C-1"}),
        *({"total": NUM}, {"total": 30}),
    ),
    (
        *("fee_report", "Fees of a client.", {"client_id": "C-1"}),
        {
            "paid": NUM | {"description": "Sum of the amounts of paid fees"},
            "owing": WHOLE | {"description": "Number of open fees"},
        },
        {"paid": 30, "owing": 1},
    ),
    (
        *("stock_gain", "What a tank would bring: (price - cost) x litres.", {"tank_id": "T-1"}),
        *({"gain": NUM}, {"gain": 400}),
    ),
    (
        *(
            "boat_check",
            "Whether a boat may be painted, i.e. neither at sea nor reserved.",
            {"boat_id": "B-3"},
        ),
        *({"ready": TRUE}, {"ready": True}),
    ),
    (
        *(
            "boat_check",
            "Whether a boat may be painted, i.e. neither at sea nor reserved.",
            {"boat_id": "B-5"},
        ),
        *({"ready": TRUE}, {"ready": False}),
    ),
    (
        *("boat_warning", "Is there an ongoing warning at the pier of the boat?", {"boat_id": "B-1"}),
        *({"warned": TRUE}, {"warned": True}),
    ),
    (
        *("boat_warning", "Is there an ongoing warning at the pier of the boat?", {"boat_id": "B-4"}),
        *({"warned": TRUE}, {"warned": False}),
    ),
]


@pytest.mark.parametrize(
    ("name", "description", "given", "asked", "told"),
    MARINA_ANSWERS,
    ids=[f"{one[0]} {[*one[2].values()]}" for one in MARINA_ANSWERS],
)
def test_what_is_worked_out(
    name: str, description: str, given: JsonObject, asked: dict[str, JsonObject], told: JsonObject
) -> None:
    tool = declared(name, description, **dict.fromkeys(given, TEXT))
    tools = [*MARINA_TOOLS, tool | {"output_schema": {"type": "object", "properties": asked}}]
    assert answer(tools, MARINA, name, given).response == told


#: A depot: kits have so many pieces left, gauges keep what was read last.
DEPOT: JsonObject = {
    "kits": {
        "K-1": {"label": "rope", "pieces_total": 3, "pieces_available": 1},
        "K-2": {"label": "tent", "pieces_total": 1, "pieces_available": 0},
        "K-3": {"label": "stove", "pieces_total": 2, "pieces_available": 2},
    },
    "lendings": {
        "L-1": {"kit_id": "K-1", "person": "Ari", "status": "out"},
        "L-2": {"kit_id": "K-1", "person": "Bea", "status": "out"},
        "L-3": {"kit_id": "K-2", "person": "Ari", "status": "out"},
        "L-4": {"kit_id": "K-3", "person": "Cem", "status": "returned"},
    },
    "gauges": {"G-1": {"place": "gate", "last_level": 40}, "G-2": {"place": "weir", "last_level": 75}},
    "levels": {
        "1": {"gauge_id": "G-1", "day": "2026-01-02", "level": 35},
        "2": {"gauge_id": "G-1", "day": "2026-01-09", "level": 40},
        "3": {"gauge_id": "G-2", "day": "2026-01-09", "level": 75},
    },
}
DEPOT_TOOLS = [
    declared("lend_kit", "Lend a piece of a kit.", kit_id=TEXT, person=TEXT),
    declared("return_lending", "Take a lending back.", lending_id=TEXT),
    declared("enter_level", "Enter a level.", gauge_id=TEXT, day=TEXT, level=NUMBER),
    declared("get_kit", "One kit.", kit_id=TEXT),
    declared("get_gauge", "One gauge.", gauge_id=TEXT),
    declared("levels_of_gauge", "Levels of a gauge.", gauge_id=TEXT),
]


@pytest.mark.parametrize(
    ("name", "given", "status", "expected"),
    [
        ("lend_kit", {"kit_id": "K-1", "person": "Dag"}, 200, ("kits", {"pieces_available": 0})),
        ("lend_kit", {"kit_id": "K-2", "person": "Dag"}, 409, None),
        ("return_lending", {"lending_id": "L-3"}, 200, ("kits", {"pieces_available": 1})),
        # Letters that are others name another record.
        ("get_kit", {"kit_id": "G-1"}, 404, None),
        ("get_kit", {"kit_id": "1"}, 200, None),
    ],
)
def test_what_always_goes_together_does_so_after_a_change(
    name: str, given: JsonObject, status: int, expected: tuple[str, JsonObject] | None
) -> None:
    reply = answer(DEPOT_TOOLS, DEPOT, name, given)
    assert reply.status == status, reply.response
    assert expected in changes(reply) if expected is not None else not reply.updates


#: A brewery: the shifts of its workers are kept apart, with when they came and went.
BREWERY: JsonObject = {
    "workers": {
        "W-1": {"name": "Rut", "status": "employed"},
        "W-2": {"name": "Sol", "status": "employed"},
        "W-3": {"name": "Tom", "status": "retired"},
    },
    "shifts": {
        "1": {"id": 1, "worker_id": "W-1", "day": "2026-01-14", "clock_in": "06:00", "clock_out": "14:00"},
        "2": {"id": 2, "worker_id": "W-1", "day": "2026-01-15", "clock_in": "06:05", "clock_out": None},
    },
}
BREWERY_TOOLS = [
    declared("clock_in_worker", "Clock a worker in.", worker_id=TEXT, day=TEXT, time=TEXT),
    declared("clock_out_worker", "Clock a worker out.", worker_id=TEXT, time=TEXT),
    declared("shifts_of_worker", "Shifts of a worker.", worker_id=TEXT),
]


@pytest.mark.parametrize(
    ("name", "given", "status", "expected"),
    [
        (
            *("clock_in_worker", {"worker_id": "W-2", "day": "2026-01-15", "time": "10:00"}, 200),
            {"id": 3, "worker_id": "W-2", "day": "2026-01-15", "clock_in": "10:00", "clock_out": None},
        ),
        ("clock_in_worker", {"worker_id": "W-1", "day": "2026-01-15", "time": "10:00"}, 409, None),
        ("clock_in_worker", {"worker_id": "W-3", "day": "2026-01-15", "time": "10:00"}, 409, None),
        ("clock_out_worker", {"worker_id": "W-1", "time": "14:10"}, 200, {"clock_out": "14:10"}),
        ("clock_out_worker", {"worker_id": "W-2", "time": "14:10"}, 404, None),
    ],
)
def test_what_begins_and_ends_is_a_record_of_its_own(
    name: str, given: JsonObject, status: int, expected: JsonObject | None
) -> None:
    reply = answer(BREWERY_TOOLS, BREWERY, name, given)
    assert reply.status == status, reply.response
    assert changes(reply) == ([("shifts", expected)] if expected is not None else [])


def test_braces_in_a_description_are_text_of_the_refusal() -> None:
    tools = [declared("cancel_order", "Cancel an {open} order.", order_id=TEXT)]
    world: JsonObject = {
        "order": {"o1": {"id": "o1", "status": "open"}, "o2": {"id": "o2", "status": "shipped"}}
    }
    assert answer(tools, world, "cancel_order", {"order_id": "o1"}).status == 200
    refused = answer(tools, world, "cancel_order", {"order_id": "o2"})
    assert (refused.status, "{open}" in str(refused.response)) == (409, True)
