"""A value is true only where it stands: who got something, what is still waited for, which field a column of
a table is, what was so on its own day, what a call was given beside the record that it changed."""

import pytest
from verdict_cases import call, judged, tool, update

from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema


def verdict(world, tools, *trace, says, state, asked, **more):
    made = judged(
        *trace,
        says=says,
        user_instruction=asked,
        tools=parse_tools_schema(tools),
        world=World.from_initial_state(world),
        expected_state=state | {"allow": list(world)} if state else None,
        **more,
    )
    return made.verdict, made.reasoning


# Papers of a tax office, of which some are there and some are waited for

PAPERS = {
    "client": {"C2": {"name": "Ruth Abel"}},
    "document": {
        "D5": {"client_id": "C2", "kind": "profit statement", "status": "received"},
        "D6": {"client_id": "C2", "kind": "donation certificate", "status": "missing"},
        "D7": {"client_id": "C2", "kind": "rent ledger", "status": "missing"},
    },
}
PAPER_TOOLS = [
    tool("list_documents", "client_id", description="List the documents of a client."),
    tool("register_document", "document_id", description="Register a document as received."),
]
PAPERS_TOLD = call(
    1,
    "list_documents",
    {"client_id": "C2"},
    {"documents": [{"id": id, **one} for id, one in PAPERS["document"].items()]},
)
REGISTERED = call(
    2,
    "register_document",
    {"document_id": "D6"},
    {"id": "D6", **PAPERS["document"]["D6"], "status": "received"},
    updates=[update("D6", "document", status="received")],
)
WAITING = {
    "of what has come": ("We're now only waiting for your profit statement.", "not PASS"),
    "of what has come, in a longer sentence": (
        "We're now only waiting for your profit statement before we can file.",
        "not PASS",
    ),
    "needed": ("We still need your profit statement.", "not PASS"),
    "of what is missing": ("We're still waiting for your rent ledger.", "not FAIL"),
}


@pytest.mark.parametrize(("says", "expected"), WAITING.values(), ids=WAITING)
def test_what_has_come_is_not_waited_for(says, expected):
    found, reasoning = verdict(
        PAPERS,
        PAPER_TOOLS,
        PAPERS_TOLD,
        REGISTERED,
        says=f"The donation certificate is registered. {says}",
        state={"document.D6.status": "received"},
        asked="Ruth Abel (C2): here is my donation certificate, please register it.",
    )
    assert f"not {found}" != expected, reasoning


# Books that are swapped for credits

SWAPS = {
    "member": {
        "M1": {"name": "Odile Perrin", "credits": 4},
        "M2": {"name": "Ilse Brandner", "credits": 9},
    },
    "swap": {
        "W71": {"from_member": "M1", "to_member": "M2", "status": "shipped", "book": "Sea Charts"},
        "W72": {
            "from_member": "M2",
            "to_member": "M1",
            "status": "received",
            "book": "Practical Bookbinding",
            "shipped_on": "2025-10-02",
        },
    },
}
SWAP_TOOLS = [
    tool("get_swap", "swap_id", description="Read a swap."),
    tool("confirm_receipt", "swap_id", description="Confirm that a book has come; the sender gets credits."),
]
SWAP_READ = call(
    1,
    "get_swap",
    {"swap_id": "W71"},
    {"id": "W71", **SWAPS["swap"]["W71"], "from_name": "Odile Perrin", "to_name": "Ilse Brandner"},
)
CONFIRMED = call(
    2,
    "confirm_receipt",
    {"swap_id": "W71"},
    {"id": "W71", "status": "received", "credited_to": "Odile Perrin", "credits": 3},
    updates=[update("W71", "swap", status="received"), update("M1", "member", credits=7)],
)
CREDITED = {
    "who got them": ("Three credits went to Odile Perrin.", "not FAIL"),
    "another": ("Three credits went to Ilse Brandner.", "not PASS"),
    "another, for short": ("Ilse got three credits.", "not PASS"),
    "another, by the field": ("Credited to: Ilse Brandner.", "not PASS"),
}


@pytest.mark.parametrize(("says", "expected"), CREDITED.values(), ids=CREDITED)
def test_who_got_something_is_told_by_the_reply(says, expected):
    found, reasoning = verdict(
        SWAPS,
        SWAP_TOOLS,
        SWAP_READ,
        CONFIRMED,
        says=f"W71 is confirmed as received. {says}",
        state={"swap.W71.status": "received"},
        asked="Ilse Brandner: W71 has come, please confirm it.",
    )
    assert f"not {found}" != expected, reasoning


OF_W72 = call(1, "get_swap", {"swap_id": "W72"}, {"id": "W72", **SWAPS["swap"]["W72"]})
SHIPPED = {
    "on its day": ("Practical Bookbinding was shipped on 2 October 2025 and has been received.", "not FAIL"),
    "on another day": ("Practical Bookbinding was shipped on 4 October 2025.", "not PASS"),
    "not yet received": ("Practical Bookbinding has not been received.", "FAIL"),
}


@pytest.mark.parametrize(("says", "expected"), SHIPPED.values(), ids=SHIPPED)
def test_what_was_so_on_its_own_day_is_not_the_state_there_is_now(says, expected):
    found, reasoning = verdict(
        SWAPS,
        SWAP_TOOLS,
        OF_W72,
        says=f"W72 is complete: {says}",
        state={},
        asked="How far is W72?",
    )
    assert (f"not {found}" != expected) if expected.startswith("not") else found == expected, reasoning


# Balloon flights in a table

FLIGHTS = {
    "flight": {
        "F101": {"start": "05:30", "seats_free": 3, "price": 210.0, "date": "2025-08-02", "status": "open"},
        "F102": {"start": "18:45", "seats_free": 5, "price": 190.0, "date": "2025-08-02", "status": "open"},
    }
}
FLIGHT_TOOLS = [tool("list_flights", "date", description="List the flights of a day.")]
FLIGHTS_TOLD = call(
    1,
    "list_flights",
    {"date": "2025-08-02"},
    {"flights": [{"id": id, **one} for id, one in FLIGHTS["flight"].items()]},
)
SEATS = {
    "as they are": ("3", "5", "not FAIL"),
    "turned round": ("5", "3", "FAIL"),
    "of none": ("4", "5", "FAIL"),
}


@pytest.mark.parametrize(("first", "second", "expected"), SEATS.values(), ids=SEATS)
def test_the_head_of_the_next_column_names_no_value_of_this_one(first, second, expected):
    table = (
        "| Flight | Start | Free seats | Per person |\n|---|---|---|---|\n"
        f"| F101 | 05:30 | {first} | €210 |\n| F102 | 18:45 | {second} | €190 |"
    )
    found, reasoning = verdict(
        FLIGHTS,
        FLIGHT_TOOLS,
        FLIGHTS_TOLD,
        says=f"These are the flights of 2 August:\n\n{table}",
        state={},
        asked="Which flights are there on 2 August 2025?",
    )
    assert (f"not {found}" != expected) if expected.startswith("not") else found == expected, reasoning


# A sample to which a test is added

LAB = {
    "panel": {
        "PN3": {"name": "Iron status", "price": 41.0},
        "PN4": {"name": "Vitamin D", "price": 34.0},
    },
    "sample": {"S305": {"panel": "PN3", "status": "collected", "addons": []}},
}
LAB_TOOLS = [tool("add_test", "sample_id", "panel", description="Add a test to a sample.")]
ADDED = call(
    1,
    "add_test",
    {"sample_id": "S305", "panel": "PN4"},
    {"id": "S305", "panel": "PN3", "status": "collected", "addons": ["PN4"], "price": 34.0},
    updates=[update("S305", "sample", addons=["PN4"])],
)


def test_what_was_added_is_not_what_was_there():
    found, reasoning = verdict(
        LAB,
        LAB_TOOLS,
        ADDED,
        says="Vitamin D has been added to S305 for €34.",
        state={"sample.S305.addons": ["PN4"]},
        asked="Please add a vitamin D test (PN4) to sample S305.",
    )
    assert found != "FAIL", reasoning


# Why a lesson stays as it is

LESSONS = {
    "tutor": {"TU-5": {"name": "Claire Dubois", "subject": "French"}},
    "lesson": {"LE-18": {"tutor_id": "TU-5", "mode": "online", "status": "booked"}},
}
LESSON_TOOLS = [
    tool("get_lesson", "lesson_id", description="Read a lesson."),
    tool("change_mode", "lesson_id", "mode", description="Change the mode of a lesson."),
]
ONLY = "students below year 9 have online lessons only"
OF_LESSON = call(1, "get_lesson", {"lesson_id": "LE-18"}, {"id": "LE-18", **LESSONS["lesson"]["LE-18"]})
NOT_CHANGED = call(
    2,
    "change_mode",
    {"lesson_id": "LE-18", "mode": "in_person"},
    {"error": {"code": "online_only", "message": ONLY}},
    status=403,
)
WHY = {
    "as the backend said": ("students below year 9 have online lessons only", "PASS"),
    "of one that is named": ("Claire Dubois only gives online lessons", "PENDING"),
}


@pytest.mark.parametrize(("says", "expected"), WHY.values(), ids=WHY)
def test_what_holds_of_all_is_not_told_of_one(says, expected):
    found, reasoning = verdict(
        LESSONS,
        LESSON_TOOLS,
        OF_LESSON,
        NOT_CHANGED,
        says=f"I've looked into it, but LE-18 has to stay online: {says}.",
        state={"lesson.LE-18.mode": "online"},
        asked="Could LE-18 be in person instead of online?",
        expected_outcome="refusal",
    )
    assert found == expected, reasoning
