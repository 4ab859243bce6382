"""A bucket's theme: known words choose tools, records and values; unknown ones are reported."""

from functools import cache
from typing import Any

import pytest
from worlds_kit import NOW, tool, toolset

from pipelines.core.text.json_text import JsonObject
from pipelines.core.worlds.ground import Ground, ground_of
from pipelines.core.worlds.rows.draft_rows import bucket_notes, draft_rows
from pipelines.core.worlds.shapes import ROW_AXES, Bucket, DraftRow, Toolset

METHODS: JsonObject = {"type": "string", "enum": ["card", "bank_transfer"]}


def fields(**named: Any) -> list[JsonObject]:
    return [{"name": name, **({"type": one} if isinstance(one, str) else one)} for name, one in named.items()]


def states(*values: str) -> JsonObject:
    return {"type": "string", "enum": [*values]}


SCHEMA: JsonObject = {
    "entities": [
        {
            "type": "client",
            "id_field": "client_id",
            "fields": fields(name="string", tier=states("standard", "gold"), is_insured="boolean"),
        },
        {
            "type": "bill",
            "id_field": "bill_id",
            "fields": fields(
                client_id="string",
                status=states("sent", "paid", "overdue"),
                total="number",
                due_date="string",
            ),
        },
    ]
}
TOOLS = [
    tool("get_bill", "Get a bill.", bill_id="string"),
    tool("pay_bill", "Mark a bill as paid.", bill_id="string", method=METHODS),
    tool("waive_bill", "Waive a bill. Its status becomes 'paid'.", bill_id="string"),
    tool("get_client", "Get a client.", client_id="string"),
    tool("list_bills", "List the bills of a client.", client_id="string"),
]


@cache
def desk() -> tuple[Toolset, JsonObject, Ground]:
    of = toolset(TOOLS, SCHEMA)
    clients = {
        f"C-{at}": {"client_id": f"C-{at}", "name": name, "tier": tier, "is_insured": at == 1}
        for at, (name, tier) in enumerate((("Ada", "gold"), ("Bo", "standard"), ("Cy", "standard")), 1)
    }
    bills = {
        f"B-{at}": {
            "bill_id": f"B-{at}",
            "client_id": f"C-{1 + at % 3}",
            "status": ("sent", "paid", "overdue")[at % 3],
            "total": 20.5 + at,
            "due_date": f"2026-05-{10 + at}",
        }
        for at in range(1, 10)
    }
    state: JsonObject = {"client": clients, "bill": bills}
    return of, state, ground_of(of, state)


def rows(theme: str) -> list[DraftRow]:
    of, state, here = desk()
    bucket = Bucket(name="b", theme=theme, rows=4)
    return list(draft_rows(of, state, bucket, rng_seed=1, now=NOW, axes=ROW_AXES, ground=here))


def notes(theme: str) -> tuple[str, ...]:
    of, state, here = desk()
    return bucket_notes(of, state, Bucket(name="b", theme=theme, rows=4), now=NOW, axes=ROW_AXES, ground=here)


#: A theme, and the tools of its rows.
TOOLS_OF = {
    "payments by card": {"pay_bill"},
    "waivers": {"waive_bill"},
    "waivers that we must refuse": {"waive_bill"},
    "questions about bills": {"get_bill", "list_bills"},
    "clients asking about a bill": {"get_bill", "list_bills"},
    "due dates": {"get_bill"},
    "clients who want a waiver, pronto": {"waive_bill"},
    "moonlight": set(),
    "clients who frobnicate": set(),
}


@pytest.mark.parametrize("theme", TOOLS_OF)
def test_the_known_words_of_a_theme_choose_the_tools(theme: str) -> None:
    assert {row.tool for row in rows(theme)} == TOOLS_OF[theme]


#: A theme, and what is so of the bill and the client of each row.
HELD = {
    "overdue bills": lambda bill, client: bill["status"] == "overdue",
    "late bills": lambda bill, client: bill["status"] == "overdue",
    "unpaid bills": lambda bill, client: bill["status"] != "paid",
    "bills of gold clients": lambda bill, client: client["tier"] == "gold",
    "waivers for insured clients": lambda bill, client: client["is_insured"],
}


@pytest.mark.parametrize("theme", HELD)
def test_rows_are_about_records_that_are_as_the_theme_says(theme: str) -> None:
    _, state, _ = desk()
    found: Any = state
    checked = 0
    for row in rows(theme):
        for call in row.reference_calls:
            bill = found["bill"].get(call.arguments.get("bill_id"), {})
            client = found["client"][call.arguments.get("client_id") or bill["client_id"]]
            assert HELD[theme](bill, client), row
            checked += 1
    assert checked > 0


def test_a_value_that_a_theme_names_is_given() -> None:
    found = rows("bank transfers")
    assert found
    assert {call.arguments["method"] for row in found for call in row.reference_calls} == {"bank_transfer"}


def test_a_question_is_about_the_field_that_the_theme_names() -> None:
    texts = [row.user_instruction for row in rows("due dates")]
    assert texts
    assert all(" due" in text for text in texts)


def test_where_a_thing_is_that_has_no_place_is_how_it_stands() -> None:
    texts = [row.user_instruction for row in rows("where is my bill") if len(row.reference_calls) == 1]
    assert texts
    assert all("status of bill" in text for text in texts)


def test_a_word_that_is_not_known_is_said_and_the_others_choose() -> None:
    theme = "waivers, pronto"
    assert notes(theme)[:2] == (
        "The theme is taken to be about waive_bill.",
        f"Not understood in the theme “{theme}”: “pronto”.",
    )


def test_no_rows_are_made_where_no_word_is_known_and_that_is_said() -> None:
    assert notes("moonlight")[0] == (
        "No rows for the theme “moonlight”: “moonlight” speaks of no tool, argument or record."
    )


def test_a_theme_that_says_only_how_rows_end_is_about_any_tool() -> None:
    assert {row.outcome for row in rows("the system is down")} == {"recovered"}
    assert notes("the system is down")[0] == "Not understood in the theme “the system is down”: “system”."
