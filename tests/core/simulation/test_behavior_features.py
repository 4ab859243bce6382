"""Behaviour sentences put together from features, each with what comes of calls under it in a gym."""

from typing import Any

import gym
import pytest

from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply

WORLD = World.from_initial_state(gym.STATE)
Case = tuple[str, dict[str, Any], int | str]  # tool, arguments, and the status or error code of the reply

BOOK, OWN = "book_class", {"booking_id": "b1", "member_id": "m1"}
FREE, TAKEN, BROKEN = ({"locker_id": one, "member_id": "m1"} for one in ("l1", "l2", "l3"))
ADA, BO = ({"member_id": one, "class_id": "c1"} for one in ("m1", "m2"))
YOGA, SPIN = ({"member_id": "m1", "class_id": one} for one in ("c1", "c2"))
OPEN, PAID = {"invoice_id": "i1"}, {"invoice_id": "i2"}
NOT_FROZEN: tuple[Case, ...] = ((BOOK, ADA, 200), (BOOK, BO, 403))
ONLY_PAID: tuple[Case, ...] = (("refund_invoice", PAID, 200), ("refund_invoice", OPEN, 409))
ROOM: tuple[Case, ...] = ((BOOK, YOGA, 200), (BOOK, SPIN, "class_full"))
REASON: tuple[Case, ...] = (
    ("cancel_booking", OWN, "reason_required"),
    ("cancel_booking", {**OWN, "reason": "ill"}, 200),
)
MINE: tuple[Case, ...] = (
    ("cancel_booking", OWN, 200),
    ("cancel_booking", {"booking_id": "b1", "member_id": "m2"}, 403),
)

SENTENCES: dict[str, tuple[Case, ...]] = {
    # modality and polarity
    "Frozen members can't book classes.": NOT_FROZEN,
    "Frozen members may not book.": NOT_FROZEN,
    "Frozen members are not allowed to book a class.": NOT_FROZEN,
    "No frozen member may book a class.": NOT_FROZEN,
    "Invoices shall not be refunded unless they have been paid.": ONLY_PAID,
    "Invoices may no longer be refunded once they are open.": ONLY_PAID,
    "Invoices must never be refunded while they are open.": ONLY_PAID,
    "Unpaid invoices may never be refunded.": ONLY_PAID,
    "Once an invoice is open, refund_invoice fails.": ONLY_PAID,
    "You can't refund an invoice that hasn't been paid.": ONLY_PAID,
    "An invoice that hasn't been paid can't be refunded: 409 not_paid.": (
        ("refund_invoice", PAID, 200),
        ("refund_invoice", OPEN, "not_paid"),
    ),
    "Invoices can be refunded only while they are paid; in any other state the answer is 409 not_now.": (
        ("refund_invoice", PAID, 200),
        ("refund_invoice", OPEN, "not_now"),
    ),
    "Nobody can refund open invoices.": ONLY_PAID,
    "It is not possible to refund open invoices.": ONLY_PAID,
    "You cannot refund an invoice while it is open.": ONLY_PAID,
    "refund_invoice cannot be called for open invoices.": ONLY_PAID,
    "Invoices in status open can't be refunded.": ONLY_PAID,
    # states, joined and in the data's own capitals
    "Lockers that are taken or out of order cannot be assigned.": (
        ("assign_locker", FREE, 200),
        ("assign_locker", TAKEN, 409),
        ("assign_locker", BROKEN, 409),
    ),
    "A class that is full can't be booked (409 class_full).": ROOM,
    "Booking a full class fails with 409 class_full.": ROOM,
    "You can't book a class that has already started.": ((BOOK, YOGA, 200), (BOOK, SPIN, 409)),
    # who, what is asked for, how often, how many
    "Members can cancel only their own bookings.": MINE,
    "A booking can be cancelled only by the member who made it.": MINE,
    "cancel_booking must be called with a reason.": REASON,
    "A reason is mandatory when cancelling a booking.": REASON,
    "cancel_booking without a reason fails with 422 reason_required.": REASON,
    "Members under 18 may not book.": NOT_FROZEN,
    "The number of guests can't exceed 2 (422 too_many_guests).": (
        (BOOK, {**ADA, "guests": 2}, 200),
        (BOOK, {**ADA, "guests": 3}, "too_many_guests"),
    ),
    "A member may not hold more than 1 active booking at the same time (409 too_many).": (
        (BOOK, ADA, "too_many"),
        (BOOK, BO, 200),
    ),
    "At most 1 locker per member.": (
        ("assign_locker", FREE, 409),
        ("assign_locker", {"locker_id": "l1", "member_id": "m2"}, 200),
    ),
    # why, and then what comes of it: the reason need not be understood where the refusal is said whole
    "Frozen members stay outside: book_class answers 403 frozen.": (
        (BOOK, ADA, 200),
        (BOOK, BO, "frozen"),
    ),
    "Lockers that are taken belong to somebody: assign_locker rejects them with 409 in_use.": (
        ("assign_locker", FREE, 200),
        ("assign_locker", TAKEN, "in_use"),
        ("assign_locker", BROKEN, 200),
    ),
    # the tail of a type's name
    "Blocked cards cannot be replaced.": (
        ("replace_debit_card", {"debit_card_id": "d1"}, 200),
        ("replace_debit_card", {"debit_card_id": "d2"}, 409),
    ),
}  # fmt: skip


def under(text: str, **changes: Any) -> PlannedSimulator:
    return build_simulator(changes.get("tools", gym.TOOLS), world=changes.get("world", WORLD), behavior=text)


def call(simulator: PlannedSimulator, tool: str, arguments: JsonObject) -> SimulatedReply:
    return simulator.answer(tool, arguments, Ledger(WORLD), Moment("s", 1, gym.NOW))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_of_features_does_what_it_says(sentence: str) -> None:
    simulator = under(sentence)
    assert (simulator.not_understood, simulator.without_effect) == ((), ())
    for tool, arguments, expected in SENTENCES[sentence]:
        reply = call(simulator, tool, arguments)
        error: Any = reply.response.get("error", {}) if isinstance(reply.response, dict) else {}
        found = reply.status if isinstance(expected, int) else error.get("code")
        assert found == expected, (tool, arguments, reply)


@pytest.mark.parametrize("subject", ["guests", "The number of guests"])
@pytest.mark.parametrize(
    "limit",
    [
        "can be at most 2",
        "must be no more than 2",
        "may be up to 2",
        "needs to be at most 2",
        "is at most 2",
        "must be 2 or less",
        "can be 2 or fewer",
        "must stay below 3",
        "is limited to 2",
        "is capped at 2",
        "must lie between 0 and 2",
        "must be in the range 0 to 2",
        "cannot go over 2",
        "never exceeds 2",
    ],
)
def test_a_limit_is_one_of_modality_and_comparison(subject: str, limit: str) -> None:
    simulator = under(f"{subject} {limit}.")
    assert (simulator.not_understood, simulator.without_effect) == ((), ())
    assert call(simulator, BOOK, {**ADA, "guests": 2}).status == 200
    assert call(simulator, BOOK, {**ADA, "guests": 3}).status == 422


def test_each_invoice_is_refunded_at_most_once() -> None:
    simulator = under("Each invoice can be refunded at most once.")
    ledger = Ledger(WORLD)
    statuses = []
    for number in (1, 2):
        reply = simulator.answer("refund_invoice", PAID, ledger, Moment("s", number, gym.NOW))
        ledger.apply(reply.updates)
        statuses.append(reply.status)
    assert statuses == [200, 409]


def test_a_status_is_set_to_the_word_though_an_argument_has_its_name() -> None:
    tools = gym.parse_tools_schema([gym.tool("settle_invoice", "invoice_id", "paid?")])
    reply = under("settle_invoice sets the invoice's status to paid.", tools=tools).answer(
        "settle_invoice", OPEN, Ledger(WORLD), Moment("s", 1, gym.NOW)
    )
    ledger = Ledger(WORLD)
    ledger.apply(reply.updates)
    assert (ledger.get("invoice", "i1") or {})["status"] == "paid"


@pytest.mark.parametrize("state", ["paid", "written_off"])
def test_a_status_is_set_by_a_tool_whose_effect_only_the_text_tells(state: str) -> None:
    tools = gym.parse_tools_schema([gym.tool("handle_invoice", "invoice_id")])
    reply = under(f"handle_invoice sets the invoice's status to {state}.", tools=tools).answer(
        "handle_invoice", OPEN, Ledger(WORLD), Moment("s", 1, gym.NOW)
    )
    ledger = Ledger(WORLD)
    ledger.apply(reply.updates)
    assert (ledger.get("invoice", "i1") or {})["status"] == state


def test_a_field_with_a_dash_is_no_subtraction() -> None:
    tools = gym.parse_tools_schema([gym.tool("create_debit_card", "member_id", "e-mail")])
    simulator = under("e-mail must be unique.", tools=tools)
    assert simulator.not_understood == ()
    for email, status in (("ada@example.com", 422), ("new@example.com", 200)):
        assert call(simulator, "create_debit_card", {"member_id": "m1", "e-mail": email}).status == status


@pytest.mark.parametrize("caller", ["member_id", "memberId", "as_member", "buyer_id", "acting_member_id"])
def test_whoever_calls_is_found_however_the_argument_is_spelled(caller: str) -> None:
    tools = gym.parse_tools_schema([gym.tool("cancel_booking", "booking_id", caller)])
    simulator = under("Members can only cancel their own bookings.", tools=tools)
    assert call(simulator, "cancel_booking", {"booking_id": "b1", caller: "m1"}).status == 200
    assert call(simulator, "cancel_booking", {"booking_id": "b1", caller: "m2"}).status == 403


@pytest.mark.parametrize(
    "sentence",
    [
        "Frozen members may come only with friends: book_class answers 403 frozen.",
        "Frozen members stay outside unless they pay: book_class answers 403 frozen.",
        "Members stay outside: book_class answers 403 frozen.",
        "Frozen members come in: book_class answers 200.",
    ],
)
def test_a_reason_that_says_more_than_why_is_reported(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood == (sentence,)
    assert call(simulator, BOOK, BO).status == 200


# -- tried on the seeded world


def test_a_rule_that_would_refuse_everybody_is_reported_and_not_applied() -> None:
    sentence = "Only the owner of a locker may release it."
    simulator = under(sentence)
    why = "nothing that release_locker is given, and no session in the world, says who calls"
    assert simulator.not_understood == (f"{sentence} ({why})",)
    assert call(simulator, "release_locker", {"locker_id": "l2"}).status == 200


def test_a_rule_about_a_field_that_nothing_has_is_reported_and_not_applied() -> None:
    sentence = "refund_invoice fails when shipped_at is missing."
    simulator = under(sentence)
    assert simulator.not_understood == (f"{sentence} (no invoice of the world has shipped_at)",)
    assert call(simulator, "refund_invoice", PAID).status == 200


def test_a_rule_that_makes_no_difference_in_the_seeded_world_is_told() -> None:
    sentence = "Archived invoices cannot be refunded."
    simulator = under(sentence)
    assert simulator.not_understood == ()
    assert simulator.without_effect == (f"{sentence} (every invoice of the world passes)",)


def test_a_rule_that_lets_nothing_through_is_reported_and_not_applied() -> None:
    sentence = "refund_invoice only works for archived invoices."
    simulator = under(sentence)
    assert simulator.not_understood == (f"{sentence} (no invoice of the world passes)",)
    assert simulator.without_effect == ()


def test_of_one_entity_alone_nothing_is_said() -> None:
    world = World.from_initial_state({"invoice": {"i1": {"status": "open"}}})
    assert under("Paid invoices cannot be refunded.", world=world).without_effect == ()


def test_an_order_for_a_tool_that_lists_nothing_is_reported() -> None:
    sentence = "refund_invoice returns at most 5 invoices."
    assert under(sentence).not_understood[0].startswith(sentence)
