"""Requests are worded from the shape of the call: what is asked for, with every value that it takes."""

import re
from typing import Any

import pytest
from worlds_kit import MORE_TRADES, NOW, OTHER_TRADES, TRADES, ground, tool, toolset, trade, world_of

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.rows.calls import Candidate
from pipelines.core.worlds.rows.draft_rows import bucket_notes, draft_rows
from pipelines.core.worlds.rows.phrases import label, said
from pipelines.core.worlds.rows.tool_in_world import tool_in_world
from pipelines.core.worlds.rows.wording import Writer
from pipelines.core.worlds.shapes import ROW_AXES, Bucket, DraftRow

SCHEMA: JsonObject = {
    "entities": [
        {
            "type": "boat",
            "id_field": "boat_id",
            "fields": [
                {"name": name, "type": kind}
                for name, kind in (
                    ("skipper_id", "string"),
                    ("length_m", "number"),
                    ("berth", "string"),
                    ("location", "string"),
                    ("starts_at", "string"),
                    ("moored_at", "string"),
                    ("valid_until", "string"),
                    ("is_insured", "boolean"),
                    ("status", "string"),
                )
            ],
        },
        {"type": "skipper", "id_field": "skipper_id", "fields": [{"name": "phone", "type": "string"}]},
    ]
}
WORLD: JsonObject = {
    "boat": {
        "B-1": {
            "boat_id": "B-1",
            "skipper_id": "S-1",
            "length_m": 9.0,
            "berth": "East 4",
            "location": "Sound",
            "starts_at": "2026-06-01T10:00:00Z",
            "moored_at": "2026-02-01T10:00:00Z",
            "valid_until": "2027-01-01",
            "is_insured": True,
            "status": "moored",
        }
    },
    "skipper": {"S-1": {"skipper_id": "S-1", "phone": "555-0101"}},
}
ID: JsonObject = {"boat_id": "B-1"}
#: Name, description, arguments; and the request, its details behind it.
WORDINGS: dict[str, tuple[str, str, JsonObject]] = {
    "pay boat B-1": ("pay_boat", "Pays for a boat.", ID),
    "cancel boat B-1. Reason: our plans have changed.": (
        "cancel_boat",
        "Cancels a boat.",
        {**ID, "reason": "our plans have changed"},
    ),
    "change the berth of boat B-1 to West 2": ("update_berth", "Sets the berth.", {**ID, "berth": "West 2"}),
    "change the length of boat B-1 to 9.5 m": ("set_length", "Sets it.", {**ID, "length_m": 9.5}),
    "change the length of boat B-1 to 9 m and the berth to West 2": (
        "edit_boat",
        "Edits a boat.",
        {**ID, "length_m": 9.0, "new_berth": "West 2"},
    ),
    "put another sail on boat B-1. The sail area is 71.": (
        "swap_sail",
        "Put another sail on a boat. The old one is kept.",
        {**ID, "sail_area": 71},
    ),
    "put skipper S-1 on boat B-1": (
        "change_skipper",
        "Put another skipper on a boat.",
        {**ID, "skipper_id": "S-1"},
    ),
    "move boat B-1 to 2026-07-02 at 09:30 UTC": (
        "reschedule_boat",
        "Move a boat to another date.",
        {**ID, "starts_at": "2026-07-02T09:30:00Z"},
    ),
    "swap the pass of boat B-1 for skipper S-1": (
        "swap_pass",
        "Swap the pass for another skipper.",
        {**ID, "skipper_id": "S-1"},
    ),
    "cancel boat B-1 and change its status to 'cancelled'": (
        "cancel_boat",
        "Cancel a boat and change its status to 'cancelled'. Its berth stays.",
        ID,
    ),
    "mark boat B-1 as sunk": ("mark_sunk", "Mark a moored boat as sunk, for good.", ID),
    "book a survey for boat B-1. The start is 2026-07-02 at 09:30 UTC.": (
        "book_survey",
        "Books a survey.",
        {**ID, "starts_at": "2026-07-02T09:30:00Z"},
    ),
    "reschedule boat B-1. The new start is 2026-07-02 at 09:30 UTC.": (
        "reschedule_boat",
        "New time.",
        {**ID, "starts_at": "2026-07-02T09:30:00Z"},
    ),
    "notify skipper S-1. Message: Please reply by e-mail.": (
        "notify_skipper",
        "Sends a message.",
        {"skipper_id": "S-1", "message": "Please reply by e-mail."},
    ),
    "What is the fee of boat B-1? The number of nights is 3.": (
        "calculate_boat_fee",
        "The fee of a boat.",
        {**ID, "nights": 3},
    ),
}
NUMBERS = {"length_m": "number", "sail_area": "integer", "nights": "integer"}


def worded(name: str, says: str, arguments: JsonObject, shown: JsonObject | None = None, **more: Any) -> str:
    of = toolset([tool(name, says, **{one: NUMBERS.get(one, "string") for one in arguments})], SCHEMA)
    here = ground_of(of, WORLD)
    about = ("boat", "B-1") if "boat_id" in arguments else None
    call = Candidate(name, arguments, about)
    found = Writer(tool_in_world(here, name), call, Draw(1), "here", shown or {}, **more).request
    mark = "" if found.is_question or not found.details else "."
    return " ".join((found.text + mark, *found.details))


@pytest.mark.parametrize("text", WORDINGS)
def test_a_request_is_worded_from_the_shape_of_the_call(text: str) -> None:
    assert worded(*WORDINGS[text]) == text


QUESTIONS = {
    "location": "Where is boat B-1?",
    "length_m": "What is the length of boat B-1?",
    "starts_at": "When does boat B-1 start?",
    "moored_at": "When was boat B-1 moored?",
    "valid_until": "How long is boat B-1 valid?",
    "is_insured": "Is boat B-1 insured?",
    "status": "What is the status of boat B-1?",
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_lookup_is_asked_as_a_question_about_what_is_wanted(name: str) -> None:
    boat: Any = WORLD["boat"]
    wanted = (
        {"where"} if name == "location" else {*QUESTIONS[name].lower().strip("?").split()} - {"is", "boat"}
    )
    assert worded("get_boat", "Gets a boat.", ID, {name: boat["B-1"][name]}, wanted=wanted) == QUESTIONS[name]


LABELS = {
    "weight_kg": "weight",
    "annualFeeEur": "annual fee",
    "rate_per_km": "rate per km",
    "due_on": "due date",
    "starts_at": "start",
    "pickup_at": "pickup time",
    "eta": "ETA",
    "phone": "phone number",
    "validUntil": "end of validity",
    "isHazardous": "hazardous",
}


@pytest.mark.parametrize("name", LABELS)
def test_a_field_is_called_as_people_call_it(name: str) -> None:
    from pipelines.core.english.words import tokens

    assert label(tokens(name)) == LABELS[name]


# -- every value stands in the text


def rows_of(name: str, theme: str = "everything", rows: int = 40) -> list[DraftRow]:
    bucket = Bucket(name="b", theme=theme, rows=rows)
    of, state = trade(name), world_of(name)
    found = draft_rows(of, state, bucket, rng_seed=1, now=NOW, axes=ROW_AXES, ground=ground(name))
    return [row for row, _ in zip(found, range(rows), strict=False)]


def leaves(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", [*TRADES, *MORE_TRADES, *OTHER_TRADES])
def test_a_request_says_every_value_that_its_calls_take_as_the_tool_needs_it(name: str) -> None:
    here = ground(name)
    checked = 0
    for row in rows_of(name):
        calls = row.reference_calls
        finders = [call for call in calls if here.facts[call.tool].name.reads()]
        looked_up = (
            {row.about[0].partition("/")[2]} if len(calls) > 1 and finders and len(row.about) == 1 else set()
        )
        for call in calls:
            enums = {one.name for one in tool_in_world(here, call.tool).fact.arguments if one.values}
            for argument, given in call.arguments.items():
                for leaf in leaves(given):
                    told = str(leaf).replace("_", " ") if argument in enums else said(leaf)
                    assert told.rstrip(".") in row.user_instruction or leaf in looked_up, (row, argument)
                    checked += 1
    assert checked > 30


@pytest.mark.parametrize("name", [*TRADES, *MORE_TRADES, *OTHER_TRADES])
def test_a_request_reads_like_one(name: str) -> None:
    for row in rows_of(name):
        text = row.user_instruction
        assert not re.search(
            r"[a-z]_[a-z]|\bNone\b|\{|\}|  |\.\.|\?\.|\ba [aeio]|with these details", text
        ), text
        assert text[0].isupper()
        assert text[-1] in ".?"


# -- themes

THEMES = {
    ("marketplace", "customers asking for refunds"): {"refund_order", "request_refund"},
    ("marketplace", "cancelled by mistake"): {
        "get_order",
        "cancel_order",
        "refund_order",
        "request_refund",
    },
    ("marketplace", "asking about an order"): {"get_order", "list_orders"},
    ("marketplace", "sellers"): {"create_listing", "get_user", "suspend_user"},
    ("marketplace", "price changes"): {"update_listing_price"},
    ("road_freight", "where is my load"): {"get_load"},
    ("road_freight", "late trucks"): {"update_eta"},
    ("road_freight", "blocked carriers that are not allowed"): {"block_carrier"},
    ("veterinary", "owners who want to move an appointment"): {"reschedule_appointment"},
    ("veterinary", "phone numbers"): {"find_owner", "update_owner_contact"},
    ("parking_permits", "fines"): {"listFines", "payFine", "disputeFine"},
    ("parking_permits", "residents who object to a fine"): {"listFines", "payFine", "disputeFine"},
    ("parking_permits", "residents who frobnicate"): set(),
    ("parking_permits", "renewals"): {"renewPermit"},
    ("tool_hire", "moonlight sonatas"): set(),
}


@pytest.mark.parametrize(("name", "theme"), THEMES)
def test_each_row_of_a_theme_calls_a_tool_that_the_theme_allows(name: str, theme: str) -> None:
    rows = rows_of(name, theme, rows=12)
    assert {row.tool for row in rows} == THEMES[name, theme]
    bucket = Bucket(name="b", theme=theme, rows=3)
    notes = bucket_notes(trade(name), world_of(name), bucket, now=NOW, axes=ROW_AXES, ground=ground(name))
    if THEMES[name, theme]:
        assert not any(note.startswith("No rows for") for note in notes)
    else:
        assert any(note.startswith(f"No rows for the theme “{theme}”") for note in notes)


def test_what_a_theme_says_of_an_argument_or_a_state_holds_for_each_row() -> None:
    users: Any = world_of("marketplace")["user"]
    for row in rows_of("marketplace", "sellers", rows=12):
        for call in row.reference_calls:
            id = str(call.arguments.get("seller_id") or call.arguments.get("user_id"))
            assert id not in users or users[id]["role"] == "seller"
    for row in rows_of("veterinary", "phone numbers", rows=12):
        assert all("phone" in call.arguments for call in row.reference_calls)


def test_a_word_that_is_not_known_is_reported_and_the_others_choose() -> None:
    theme = "residents who object to a fine"
    bucket = Bucket(name="b", theme=theme, rows=3)
    of, state = trade("parking_permits"), world_of("parking_permits")
    notes = bucket_notes(of, state, bucket, now=NOW, axes=ROW_AXES, ground=ground("parking_permits"))
    assert notes[:2] == (
        "The theme is taken to be about listFines, payFine, disputeFine.",
        f"Not understood in the theme “{theme}”: “object”.",
    )


def test_a_question_of_a_theme_is_about_what_the_theme_speaks_of() -> None:
    texts = [row.user_instruction for row in rows_of("road_freight", "where is my load", rows=6)]
    assert texts
    assert all("here is load LOA-" in text for text in texts)
