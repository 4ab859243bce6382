"""Worlds with odd names: keywords, camelCase, names with spaces, a type and a field of one name."""

import pytest
from tests.core.simulation.rules.language.worlds import (
    canonical,
    expressions,
    meant,
    numbers,
    reader_of,
    stop_of,
    tool,
)

from pipelines.core.simulation.rules.language.read import Reader
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.text.json_text import JsonObject


def again(sentence: str, reader: Reader) -> bool:
    """Whether each canonical sentence is read as the rule that it shows."""
    rules = reader.read(sentence).rules
    return bool(rules) and all(
        meant(reader.read(to_sentence(rule, reader.vocabulary)).rules) == [(rule.tools, rule.form)]
        for rule in rules
    )


GYM: JsonObject = {
    "class": {
        "c-1": {"title": "Yoga", "status of": "open", "seats": 3, "in": "hall", "isFull": False},
        "c-2": {"title": "Spin", "status of": "closed", "seats": 0, "in": "park", "isFull": True},
    },
    "in": {"i-1": {"class_id": "c-1", "state": "new"}, "i-2": {"class_id": "c-2", "state": "old"}},
}
GYM_READER = reader_of(
    GYM,
    tool("bookClass", "class_id", "seats?"),
    tool("cancel-in", "in_id"),
    numbers(tool("addClass", "seats"), "seats"),
)


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        ("bookClass fails when the class's seats is 0.", "record('class').seats != 0"),
        ("bookClass fails when the class is full.", "record('class').isFull != true"),
        ("Full classes cannot be booked.", "record('class').isFull != true"),
        ("bookClass fails when the class's in is park.", "record('class')['in'] != 'park'"),
        ("bookClass fails unless `record('class').seats > 1`.", "record('class').seats > 1"),
        ("bookClass fails when the class's status of is closed.", "record('class')['status of'] != 'closed'"),
        ("cancel-in fails when the in's state is old.", "record('in').state != 'old'"),
        ("cancel-in fails when the class's title is 'Yoga'.", "record('class').title != 'Yoga'"),
    ],
)
def test_names_that_are_words_of_python_or_of_english(sentence: str, expression: str) -> None:
    assert expressions(sentence, GYM_READER) == [expression]
    assert again(sentence, GYM_READER)


def test_an_argument_that_is_also_a_field_is_told_apart() -> None:
    assert canonical("addClass fails when the given seats is more than 30.", GYM_READER) == [
        "addClass fails when the given seats is more than 30"
    ]
    assert len(GYM_READER.read("bookClass fails when seats is 0.").readings) == 2


CAMEL: JsonObject = {
    "giftCard": {
        "g-1": {"ownerId": "u-1", "initialValue": 50, "cardStatus": "active", "expiresAt": "2026-08-01"},
        "g-2": {"ownerId": "u-2", "initialValue": 20, "cardStatus": "blocked", "expiresAt": "2026-01-01"},
    },
    "user": {"u-1": {"displayName": "Ada", "isVip": True}, "u-2": {"displayName": "Bo", "isVip": False}},
}
CAMEL_READER = reader_of(
    CAMEL,
    numbers(tool("redeemGiftCard", "cardId", "redeemAmount"), "redeemAmount"),
    tool("listGiftCards", "ownerId?"),
    tool("transferGiftCard", "giftCardId", "toUserId"),
)


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        (
            "redeemGiftCard fails when the gift card's initial value is below 10.",
            "not giftCard.initialValue < 10",
        ),
        (
            "redeemGiftCard fails when the giftCard's initialValue is below 10.",
            "not giftCard.initialValue < 10",
        ),
        ("Blocked gift cards cannot be redeemed.", "giftCard.cardStatus != 'blocked'"),
        ("Gift cards that are blocked may not be transferred.", "giftCard.cardStatus != 'blocked'"),
        ("redeemAmount must be positive.", "args.redeemAmount > 0"),
        ("The redeem amount must be positive.", "args.redeemAmount > 0"),
        ("listGiftCards returns only active gift cards.", "each.cardStatus == 'active'"),
        (
            "transferGiftCard fails when the gift card's expiresAt is in the past.",
            "not is_before(giftCard.expiresAt, now)",
        ),
    ],
)
def test_camel_case_is_read_as_plain_words(sentence: str, expression: str) -> None:
    assert expressions(sentence, CAMEL_READER) == [expression]
    assert again(sentence, CAMEL_READER)


SAME: JsonObject = {
    "status": {"s-1": {"status": "on", "level": 3}, "s-2": {"status": "off", "level": 9}},
    "order": {
        "o-1": {"order": 1, "status_id": "s-1", "state": "order"},
        "o-2": {"order": 2, "status_id": "s-2"},
    },
}
SAME_READER = reader_of(SAME, tool("set_status", "status_id"), tool("get_order", "order_id"))


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        ("set_status fails when the status's status is on.", "status.status != 'on'"),
        ("set_status fails when the status of the status is off.", "status.status != 'off'"),
        ("get_order fails when the order's order is 2.", "order.order != 2"),
        ("get_order fails when the status's level is above 5.", "not status.level > 5"),
        ("set_status fails unless level is at least 3.", "status.level >= 3"),
    ],
)
def test_a_type_and_a_field_of_one_name(sentence: str, expression: str) -> None:
    assert expressions(sentence, SAME_READER) == [expression]
    assert again(sentence, SAME_READER)


STATES: JsonObject = {
    "job": {
        "j-1": {
            "status": "in transit",
            "is_paid": True,
            "has_photo": False,
            "picked_up_at": None,
            "size": "s",
        },
        "j-2": {
            "status": "done",
            "is_paid": False,
            "has_photo": True,
            "picked_up_at": "2026-06-01",
            "size": "m",
        },
    },
    "courier": {"k-1": {"active": True}, "k-2": {"active": False}},
}
STATES_READER = reader_of(
    STATES,
    tool("close_job", "job_id"),
    tool("assign_job", "job_id", "courier_id"),
    tool("close_tab", "tab_id"),
)


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        ("close_job fails when the job is in transit.", "job.status != 'in transit'"),
        ("Jobs in transit cannot be closed.", None),
        ("close_job fails unless the job is paid.", "job.is_paid == true"),
        ("Only paid jobs can be closed.", "job.is_paid == true"),
        ("close_job fails when the job is picked up.", "job.picked_up_at == null"),
        (
            "close_job fails when the job was picked up more than 2 days ago.",
            "not days_between(job.picked_up_at, now) > 2",
        ),
        ("assign_job fails when the courier is not active.", "courier.active == true"),
        ("assign_job fails when the courier's active is false.", "courier.active != false"),
        ("close_job and assign_job only work on paid jobs.", "job.is_paid == true"),
        ("Closing a job fails unless it is paid.", "job.is_paid == true"),
    ],
)
def test_states_by_value_by_switch_and_by_date(sentence: str, expression: str | None) -> None:
    if expression is None:
        stop_of(sentence, STATES_READER)
    else:
        assert expressions(sentence, STATES_READER) == [expression]
        assert again(sentence, STATES_READER)


def test_a_verb_of_two_tools_needs_the_type_or_the_name() -> None:
    stop = stop_of("Closing fails unless the job is paid.", STATES_READER)
    assert stop.words


def test_a_state_of_one_type_is_no_state_of_another() -> None:
    stop = stop_of("assign_job fails when the courier is paid.", STATES_READER)
    assert (stop.words, stop.message) == ("paid", "no courier of this world can be `paid`")


LINKS: JsonObject = {
    "loan": {"l-1": {"member_id": "m-1", "book_id": "b-1", "due_on": "2026-07-10", "renewals": 1}},
    "member": {"m-1": {"level": "gold", "fines": 0}, "m-2": {"level": "basic", "fines": 12}},
    "book": {"b-1": {"title": "Atlas", "reserved": False, "copies": 2}},
}
LINKS_READER = reader_of(
    LINKS,
    tool("renew_loan", "loan_id"),
    tool("request_book", "member_id", "book_id"),
    tool("list_loans", "member_id?"),
    plans={"request_book": [{"add": {"in": "loan", "as": "loan", "attrs": "args"}}]},
)


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        (
            "renew_loan fails when the member's fines is above 10.",
            ["renew_loan fails when the member's fines is more than 10"],
        ),
        (
            "renew_loan fails when the book is reserved.",
            ["renew_loan fails when the book's reserved is true"],
        ),
        (
            "renew_loan fails when the member has fines of more than 10.",
            ["renew_loan fails when the member's fines is more than 10"],
        ),
        ("request_book reduces the book's copies by 1.", ["request_book decreases the book's copies by 1"]),
        ("request_book sets the loan's renewals to 0.", ["request_book sets the loan's renewals to 0"]),
        (
            "A member can have at most 2 loans.",
            [
                "request_book fails unless `len([other for other in entities('loan') if "
                "same_id(other.member_id, args.member_id)])` is less than 2"
            ],
        ),
        ("renew_loan adds 2 weeks to the loan's due_on.", ["renew_loan adds 14 days to the loan's due_on"]),
        (
            "Only gold members can request a book.",
            ["request_book fails with 403 forbidden unless the member's level is 'gold'"],
        ),
        ("A loan can be renewed at most twice.", ["renew_loan can be called at most twice per loan"]),
        (
            "Renewals fail when the loan's due_on is before today.",
            ["renew_loan fails when the loan's due_on is before today"],
        ),
    ],
)
def test_linked_records_and_records_that_a_call_makes(sentence: str, shown: list[str]) -> None:
    assert canonical(sentence, LINKS_READER) == shown
    assert again(sentence, LINKS_READER)
