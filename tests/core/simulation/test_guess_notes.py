"""Whatever a plan takes for granted that nobody wrote down stands in its notes, and in those of replies."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.guessed_refusals import INFERRED_CONDITION, INFERRED_REFERENCE, INFERRED_SEARCH
from pipelines.core.simulation.guesses import assumption_warnings, refusal_warnings
from pipelines.core.simulation.plan_listing import shown_plans
from pipelines.core.simulation.simulator import Moment
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema

NOW = Moment(seed="notes", call_number=1, now="2026-01-15T10:30:00Z")
WORLD: JsonObject = {
    "owner": {
        "ow-1": {"name": "Ines", "email": "ines@example.org", "pets": ["pt-1"]},
        "ow-2": {"name": "Gordon", "email": "gordon@example.org", "pets": ["pt-2"]},
    },
    "pet": {"pt-1": {"name": "Mochi", "owner_id": "ow-1"}, "pt-2": {"name": "Bruno", "owner_id": "ow-2"}},
    "cage": {
        "K1": {"patient_id": None, "status": "free"},
        "K2": {"patient_id": "pt-2", "status": "occupied"},
    },
    "visit": {
        "vs-1": {"pet_id": "pt-1", "reason": "limping", "room": "2", "status": "booked", "vet_id": None},
        "vs-2": {"pet_id": "pt-2", "reason": "teeth", "room": "1", "status": "done", "vet_id": "vt-1"},
    },
    "vet": {"vt-1": {"name": "Dr Okoro"}},
    "bill": {
        "bl-1": {
            "owner_id": "ow-1",
            "total": 80.0,
            "status": "sent",
            "sent_on": "2026-01-02",
            "due_on": "2026-02-01",
        },
        "bl-2": {
            "owner_id": "ow-2",
            "total": 12.0,
            "status": "paid",
            "sent_on": "2026-01-03",
            "due_on": "2026-02-02",
        },
    },
    "batch": {"bt-1": {"medicine": "Amoxicillin", "units": 40, "shelf": "A3"}},
    "post": {"ps-1": {"user_id": "us-1", "text": "Hello", "status": "shown"}},
    "user": {"us-1": {"name": "Ana"}, "us-2": {"name": "Ben"}},
}


def tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    split = [one.partition(":") for one in arguments]
    properties = {one: {"type": kind or "string"} for one, _, kind in split}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"name": name, "description": description, "parameters": schema}


def simulated(declared: dict[str, Any]) -> Any:
    return build_simulator(parse_tools_schema([declared]), world=World.from_initial_state(WORLD))


# What it takes for granted, the tool, and a part of the note that says so.
ASSUMED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing is kept of a message": (
        tool("notify_owner", "Notifies an owner.", "owner_id", "message"),
        "nothing is kept of it",
    ),
    "an id refers": (
        tool("rehome", "Move a pet to a new owner.", "pet_id", "new_owner_id"),
        "one that is not there is refused",
    ),
    "by its fields": (
        tool("onboard", "Take on a new case.", "pet_id", "reason", "room"),
        "only such records have all of",
    ),
    "a word is a state": (tool("booked_visits", "Visits that are booked."), "visits.status == 'booked'"),
    "a word is what is not over": (tool("outstanding_bills", "Bills not settled yet."), "bills.status"),
    "a word is a blank": (tool("unassigned_visits", "Visits nobody has taken."), "visits.vet_id == null"),
    "which date": (tool("bills_before", "Bills from before a day.", "day"), "`day` is taken for"),
    "a state that nobody has": (
        tool("cancel_visit", "Cancels a visit.", "visit_id"),
        "no record is cancelled yet",
    ),
    "which number": (
        tool("use_up", "Takes some units off a batch.", "batch_id", "quantity:integer"),
        "is the number that changes",
    ),
    "what is an id": (tool("discharge_cage", "Frees a cage.", "label"), "`label` is taken for the id"),
    "any id": (tool("get_details_by_id", "Gets the details.", "id"), "whatever has it is answered"),
}


@pytest.mark.parametrize(("declared", "told"), ASSUMED.values(), ids=ASSUMED)
def test_what_is_taken_for_granted_stands_in_plan_and_warnings(declared: dict[str, Any], told: str) -> None:
    simulator = simulated(declared)
    name = declared["name"]
    assert [note for note in simulator.plan_of(name).notes if told in note]
    assert [note for note in shown_plans(simulator)["items"][0]["notes"] if told in note]
    warnings = assumption_warnings(simulator, [name])
    assert simulator.plan_of(name).is_guess or [
        one for one in warnings if one.startswith(name) and told in one
    ]


# Fields that no record has, for what the caller gives: told of the plan and each reply, not of the run.
REMARKED: dict[str, tuple[dict[str, Any], str]] = {
    "a field that nobody has": (
        tool("cancel_visit", "Cancels a visit.", "visit_id", "note"),
        "no record has `visit.cancel_note` yet",
    ),
    "a new record has more": (
        tool("add_pet", "Adds a pet.", "name", "owner_id", "colour"),
        "no pet has `colour` yet",
    ),
}


@pytest.mark.parametrize(("declared", "told"), REMARKED.values(), ids=REMARKED)
def test_where_an_argument_is_kept_stands_in_the_plan(declared: dict[str, Any], told: str) -> None:
    simulator = simulated(declared)
    assert [note for note in simulator.plan_of(declared["name"]).notes if told in note]
    assert [one for one in assumption_warnings(simulator, [declared["name"]]) if told in one] == []


# A call that a guess refuses, and what is told with it.
REFUSED: dict[str, tuple[dict[str, Any], JsonObject, int, str]] = {
    "a reference of a change": (
        tool("assign_visit", "Assigns a visit to a vet.", "visit_id", "vet_id"),
        {"visit_id": "vs-1", "vet_id": "vt-9"},
        404,
        INFERRED_REFERENCE,
    ),
    "a reference of a new record": (
        tool("add_pet", "Adds a pet.", "name", "owner_id"),
        {"name": "Rex", "owner_id": "ow-9"},
        404,
        INFERRED_REFERENCE,
    ),
    "whose things are listed": (
        tool("list_bills", "Lists the bills of an owner.", "owner_id"),
        {"owner_id": "ow-9"},
        404,
        INFERRED_REFERENCE,
    ),
    "another's record": (
        tool("get_pet", "Gets a pet.", "owner_id", "pet_id"),
        {"owner_id": "ow-2", "pet_id": "pt-1"},
        404,
        INFERRED_CONDITION,
    ),
    "by a field": (
        tool("find_owner_by_email", "Finds an owner.", "email"),
        {"email": "nobody@example.org"},
        404,
        INFERRED_SEARCH,
    ),
    "not enough": (
        tool("use_up", "Takes some units off a batch.", "batch_id", "quantity:integer"),
        {"batch_id": "bt-1", "quantity": 50},
        409,
        INFERRED_CONDITION,
    ),
}


@pytest.mark.parametrize(("declared", "arguments", "status", "told"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_by_a_guess_says_so_in_plan_reply_and_warnings(
    declared: dict[str, Any], arguments: JsonObject, status: int, told: str
) -> None:
    simulator = simulated(declared)
    name = declared["name"]
    reply = simulator.answer(name, arguments, Ledger(World.from_initial_state(WORLD)), NOW)
    assert reply.status == status
    assert told in reply.notes
    assert [note for note in shown_plans(simulator)["items"][0]["notes"] if told in note]
    refusal = (status, reply.response["error"]["code"])
    assert refusal_warnings(simulator, [(name, refusal)]) == [f"{name}: {told}"]


def test_the_record_that_a_tool_is_about_and_that_is_not_there_is_no_guess() -> None:
    simulator = simulated(tool("get_pet", "Gets a pet.", "pet_id"))
    reply = simulator.answer("get_pet", {"pet_id": "pt-9"}, Ledger(World.from_initial_state(WORLD)), NOW)
    assert (reply.status, reply.notes) == (404, ())


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("like_post", "Likes a post."),
        ("report_post", "Reports a post."),
        ("bookmark_post", "Bookmarks a post."),
    ],
)
def test_what_strangers_do_is_not_refused_for_anothers_record(name: str, description: str) -> None:
    simulator = simulated(tool(name, description, "post_id", "user_id"))
    ledger = Ledger(World.from_initial_state(WORLD))
    assert simulator.answer(name, {"post_id": "ps-1", "user_id": "us-2"}, ledger, NOW).status == 200


def test_what_owners_do_is_still_refused_to_others() -> None:
    simulator = simulated(tool("hide_post", "Hides a post.", "post_id", "user_id"))
    ledger = Ledger(World.from_initial_state(WORLD))
    reply = simulator.answer("hide_post", {"post_id": "ps-1", "user_id": "us-2"}, ledger, NOW)
    assert (reply.status, INFERRED_CONDITION in reply.notes) == (404, True)
