"""Sentences in free wording, of one pottery studio: enforced as they are meant, or reported as not read."""

import random
import string
from functools import cache
from typing import Any, NamedTuple

import pytest

from pipelines.core.ledger import Add, Ledger, Update, World
from pipelines.core.simulation.behavior.read import BY_PARTS
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.tools_schema import parse_tools_schema

NOW = "2026-05-01T12:00:00Z"
SOON, LATER, LONG_AGO, LATELY = (
    "2026-05-01T20:00:00Z",
    "2026-05-20T08:00:00Z",
    "2026-03-02T08:00:00Z",
    "2026-04-30T08:00:00Z",
)


def firing(potter: str, kiln: str, status: str, starts_at: str, **more: Any) -> dict[str, Any]:
    usual = {"temperature": 900, "pieces": 8, "fee": 40, "deposit": 10, "finished_at": None}
    ids = {"potter_id": potter, "kiln_id": kiln}
    return {**ids, "status": status, "starts_at": starts_at, **usual, **more}


STATE: dict[str, Any] = {
    "potter": {
        "p1": {"name": "Ilse", "email": "ilse@clay.org", "level": "advanced", "suspended": False, "age": 41},
        "p2": {"name": "Tom", "email": "tom@clay.org", "level": "beginner", "suspended": False, "age": 15},
        "p3": {"name": "Noor", "email": "noor@clay.org", "level": "advanced", "suspended": True, "age": 29},
    },
    "kiln": {
        "k1": {"name": "Bertha", "status": "idle", "max_temperature": 1300, "shelves_left": 5, "uses": 12},
        "k2": {"name": "Raku", "status": "broken", "max_temperature": 1000, "shelves_left": 0, "uses": 70},
        "k3": {"name": "Tiny", "status": "idle", "max_temperature": 1000, "shelves_left": 2, "uses": 3},
    },
    "firing": {
        "f1": firing("p1", "k1", "planned", SOON, fee=55),
        "f2": firing("p2", "k2", "cancelled", LONG_AGO, fee=20),
        "f3": firing("p2", "k1", "planned", LATER, fee=30),
        "f4": firing("p1", "k1", "finished", LONG_AGO, fee=90, finished_at="2026-03-03T08:00:00Z"),
        "f5": firing("p3", "k1", "finished", LATELY, fee=10, finished_at="2026-04-30T20:00:00Z"),
    },
    "glaze": {
        "g1": {"code": "TEN-1", "kiln_id": "k1", "colour": "tenmoku", "grams": 500, "retired": False},
        "g2": {"code": "CEL-2", "kiln_id": "k1", "colour": "celadon", "grams": 20, "retired": True},
    },
}  # fmt: skip


def tool(name: str, description: str, *arguments: str, **schemas: dict[str, Any]) -> dict[str, Any]:
    """A mark after an argument: `?` it may be left out, `#` it is a whole number."""
    names = {one: one.rstrip("?#") for one in arguments}
    properties: dict[str, Any] = {
        name: schemas.get(name, {"type": "integer" if "#" in one else "string"})
        for one, name in names.items()
    }
    required = [name for one, name in names.items() if "?" not in one]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = parse_tools_schema(
    [
        tool("book_firing", "Book a firing in a kiln", "potter_id", "kiln_id", "starts_at", "temperature#",
             "pieces#?", "atmosphere?"),
        tool("cancel_firing", "Cancel a firing", "firing_id", "reason?"),
        tool("move_firing", "Move a firing to another time", "firing_id", "starts_at"),
        tool("finish_firing", "Finish a firing", "firing_id"),
        tool("unload_firing", "Unload a firing", "firing_id", "potter_id"),
        tool("refund_firing", "Refund a firing", "firing_id", "amount#"),
        tool("rate_firing", "Rate a firing", "firing_id", "score#", "comment?"),
        tool("get_firing", "Get a firing", "firing_id"),
        tool("list_firings", "List firings", "kiln_id?", "status?"),
        tool("scrap_kiln", "Scrap a kiln", "kiln_id"),
        tool("register_potter", "Register a potter", "name", "email", "level?"),
        tool("add_glaze", "Add a glaze", "code", "kiln_id", "colour", "grams#?"),
        tool("use_glaze", "Use some of a glaze", "glaze_id", "grams#"),
    ]
)  # fmt: skip


class Call(NamedTuple):
    tool: str
    arguments: dict[str, Any]


def book(**other: Any) -> Call:
    usual = {"potter_id": "p1", "kiln_id": "k3", "starts_at": LATER, "temperature": 900}
    return Call("book_firing", {**usual, **other})


def on(name: str, firing_id: str, **other: Any) -> Call:
    return Call(f"{name}_firing", {"firing_id": firing_id, **other})


def glaze(**other: Any) -> Call:
    return Call("add_glaze", {"code": "NEW-3", "kiln_id": "k1", "colour": "ash", **other})


def use(glaze_id: str, grams: int) -> Call:
    return Call("use_glaze", {"glaze_id": glaze_id, "grams": grams})


def scrap(kiln_id: str) -> Call:
    return Call("scrap_kiln", {"kiln_id": kiln_id})


def register(**other: Any) -> Call:
    return Call("register_potter", {"name": "Ana", "email": "ana@clay.org", **other})


FIRINGS = Call("list_firings", {})


def built(text: str, state: dict[str, Any]) -> PlannedSimulator:
    return build_simulator(TOOLS, world=World.from_initial_state(state), behavior=text)


@cache
def under(text: str) -> PlannedSimulator:
    return built(text, STATE)


def reply(simulator: PlannedSimulator, call: Call, state: dict[str, Any] = STATE) -> SimulatedReply:
    ledger = Ledger(World.from_initial_state(state))
    return simulator.answer(call.tool, call.arguments, ledger, Moment("s", 1, NOW))


class Refusal(NamedTuple):
    sentence: str
    refused: Call
    passed: Call
    status: int = 0  # any refusal where the sentence names none
    code: str = ""


REFUSALS: dict[str, Refusal] = {
    # states
    "no way back from a state": Refusal(
        "Once a firing has been cancelled, there is no way to move it.",
        on("move", "f2", starts_at=LATER), on("move", "f1", starts_at=LATER),
    ),
    "state with an answer": Refusal(
        "Trying to cancel a firing that is already finished is met with 409 ALREADY_FINISHED.",
        on("cancel", "f4"), on("cancel", "f1"), 409, "ALREADY_FINISHED",
    ),
    "state of another record": Refusal(
        "Broken kilns take no bookings (409 KILN_BROKEN).",
        book(kiln_id="k2"), book(), 409, "KILN_BROKEN",
    ),
    "two states": Refusal(
        "It is not possible to cancel firings that are finished or cancelled.",
        on("cancel", "f2"), on("cancel", "f1"),
    ),
    "needed state": Refusal(
        "A firing has to be planned for it to be moved; otherwise the call fails with 422.",
        on("move", "f4", starts_at=LATER), on("move", "f3", starts_at=LATER), 422,
    ),
    "only one state": Refusal(
        "Only finished firings can be rated.", on("rate", "f1", score=4), on("rate", "f4", score=4),
    ),
    "a flag of a person": Refusal(
        "Potters who have been suspended are turned away with 403 SUSPENDED when they book a firing.",
        book(potter_id="p3"), book(), 403, "SUSPENDED",
    ),
    "a flag of a thing": Refusal(
        "Retired glazes are not to be used; use_glaze answers 409 RETIRED.", use("g2", 5), use("g1", 5),
        409, "RETIRED",
    ),
    "an age": Refusal(
        "Nobody younger than 16 may book a firing.", book(potter_id="p2"), book(),
    ),
    "nothing left": Refusal(
        "A kiln with no shelves left cannot be booked.", book(kiln_id="k2"), book(),
    ),
    # limits of arguments
    "from and up to": Refusal(
        "Temperatures of a booking run from 600 up to 1280.", book(temperature=1281), book(temperature=1280),
    ),
    "from and up to, below": Refusal(
        "Temperatures of a booking run from 600 up to 1280.", book(temperature=599), book(temperature=600),
    ),
    "at most": Refusal(
        "Six pieces at most go into a booked firing.", book(pieces=7), book(pieces=6),
    ),
    "minimum and maximum": Refusal(
        "The score of rate_firing: minimum 1, maximum 5.",
        on("rate", "f4", score=6), on("rate", "f4", score=5),
    ),
    "minimum and maximum, below": Refusal(
        "The score of rate_firing: minimum 1, maximum 5.",
        on("rate", "f4", score=0), on("rate", "f4", score=1),
    ),
    "between, with an answer": Refusal(
        "When rating a firing the score must lie between 1 and 10, else 400 BAD_SCORE.",
        on("rate", "f4", score=11), on("rate", "f4", score=10), 400, "BAD_SCORE",
    ),
    "no more than": Refusal(
        "use_glaze takes at most 200 grams.", use("g1", 201), use("g1", 200),
    ),
    # what has to be given
    "a reason": Refusal(
        "Cancelling a firing requires a reason.", on("cancel", "f1"), on("cancel", "f1", reason="ill"),
    ),
    "never without": Refusal(
        "A firing is never cancelled without a reason; 400 REASON_MISSING.",
        on("cancel", "f1"), on("cancel", "f1", reason="ill"), 400, "REASON_MISSING",
    ),
    "given on a condition": Refusal(
        "A comment is required when the score of a rating is below 3.",
        on("rate", "f4", score=2), on("rate", "f4", score=2, comment="cracked"),
    ),
    # one of a list
    "one of a list": Refusal(
        "The atmosphere must be `oxidation`, `reduction` or `neutral`; anything else is a 422 BAD_AIR.",
        book(atmosphere="salt"), book(atmosphere="reduction"), 422, "BAD_AIR",
    ),
    "one of a list, must be": Refusal(
        "When a firing is booked, atmosphere must be either oxidation or reduction.",
        book(atmosphere="neutral"), book(atmosphere="oxidation"),
    ),
    # an argument beside a field
    "not above a field": Refusal(
        "The temperature of a booking may not exceed the maximum temperature of the kiln (400 TOO_HOT).",
        book(temperature=1001), book(temperature=1000), 400, "TOO_HOT",
    ),
    "no more than is there": Refusal(
        "The grams taken with use_glaze must not be more than the grams of the glaze.",
        use("g1", 501), use("g1", 500),
    ),
    "no more than was paid": Refusal(
        "refund_firing fails with 422 OVER_FEE if the amount is higher than the fee.",
        on("refund", "f1", amount=56), on("refund", "f1", amount=55), 422, "OVER_FEE",
    ),
    # windows
    "until before": Refusal(
        "Firings can be cancelled up to 24 hours before they start.", on("cancel", "f1"), on("cancel", "f3"),
    ),
    "less than before": Refusal(
        "A firing cannot be cancelled less than two days before it starts; the answer is 409 TOO_LATE.",
        on("cancel", "f1"), on("cancel", "f3"), 409, "TOO_LATE",
    ),
    "within after": Refusal(
        "A firing may be rated within 14 days after it was finished.",
        on("rate", "f4", score=3), on("rate", "f5", score=3),
    ),
    "older than": Refusal(
        "Refunds are given only within 7 days of finished_at.",
        on("refund", "f4", amount=5), on("refund", "f5", amount=5),
    ),
    "a moment to come": Refusal(
        "Firings cannot be booked for a start in the past.", book(starts_at=LONG_AGO), book(),
    ),
    # whose it is
    "the one it is of": Refusal(
        "A firing is unloaded by the potter it was assigned to and by no one else.",
        on("unload", "f4", potter_id="p2"), on("unload", "f4", potter_id="p1"),
    ),
    "only the one who booked": Refusal(
        "Only the potter who booked a firing may unload it, everyone else gets 403 NOT_YOURS.",
        on("unload", "f4", potter_id="p2"), on("unload", "f4", potter_id="p1"), 403, "NOT_YOURS",
    ),
    "nobody else": Refusal(
        "Firings can be unloaded by the potter they were booked for, nobody else.",
        on("unload", "f4", potter_id="p2"), on("unload", "f4", potter_id="p1"),
    ),
    "not those of others": Refusal(
        "Potters may unload their own firings but not those of other people.",
        on("unload", "f4", potter_id="p2"), on("unload", "f4", potter_id="p1"),
    ),
    "other persons": Refusal(
        "Other potters have no right to unload a firing.",
        on("unload", "f4", potter_id="p2"), on("unload", "f4", potter_id="p1"),
    ),
    # values that are kept once, a word before what is given, bounds in other words
    "kept once": Refusal(
        "Across the house, a glaze code can be on file only once.", glaze(code="TEN-1"), glaze(),
    ),
    "twice": Refusal("No code can be on file twice.", glaze(code="TEN-1"), glaze()),
    "a documented reason": Refusal(
        "No firing is cancelled without a documented reason.",
        on("cancel", "f1"), on("cancel", "f1", reason="rain"),
    ),
    "to a different time": Refusal(
        "Every firing must be moved to a start that is at least a day in advance.",
        on("move", "f1", starts_at=SOON), on("move", "f1", starts_at=LATER),
    ),
    "the highest": Refusal(
        "The highest temperature anyone may book a firing for is 1100.",
        book(temperature=1101), book(temperature=1100),
    ),
    "one to five": Refusal(
        "A firing is rated with a score of one to five, and anything outside that range is invalid.",
        on("rate", "f4", score=6), on("rate", "f4", score=5),
    ),
    "a day in advance": Refusal(
        "Firings have to be booked at least a day in advance.", book(starts_at=SOON), book(),
    ),
    # exceptions
    "unless": Refusal(
        "A firing cannot be refunded unless it is cancelled.",
        on("refund", "f1", amount=5), on("refund", "f2", amount=5),
    ),
    "until": Refusal(
        "Until a firing is finished it cannot be unloaded.",
        on("unload", "f1", potter_id="p1"), on("unload", "f4", potter_id="p1"),
    ),
    "before": Refusal(
        "A firing may not be rated before it is finished.",
        on("rate", "f1", score=3), on("rate", "f4", score=3),
    ),
    "excepted": Refusal(
        "Kilns cannot be scrapped, broken ones excepted.", scrap("k1"), scrap("k2"),
    ),
    "except": Refusal(
        "No kiln can be scrapped except broken ones.", scrap("k3"), scrap("k2"),
    ),
    # how many refer to it
    "records that refer to one": Refusal(
        "A kiln with planned firings can't be scrapped.", scrap("k1"), scrap("k3"),
    ),
    "as many records": Refusal(
        "Potters with two or more firings may not book a firing.",
        book(potter_id="p2"), book(potter_id="p3"),
    ),
    "any such record": Refusal(
        "A kiln that has any planned firing cannot be scrapped (409 STILL_BOOKED).",
        scrap("k1"), scrap("k3"), 409, "STILL_BOOKED",
    ),
    # no two the same
    "unique": Refusal(
        "The email of a potter must be unique; a second one is answered with 409 EMAIL_TAKEN.",
        register(email="noor@clay.org"), register(), 409, "EMAIL_TAKEN",
    ),
    "no two": Refusal(
        "No two potters can share an email.", register(email="noor@clay.org"), register(),
    ),
    "unique within": Refusal(
        "The code of a glaze is unique within its kiln.",
        glaze(code="TEN-1"), glaze(code="TEN-1", kiln_id="k3"),
    ),
    # unknown ids
    "unknown": Refusal(
        "An unknown firing id gives 404 NO_SUCH_FIRING.", on("get", "f99"), on("get", "f1"),
        404, "NO_SUCH_FIRING",
    ),
    "does not exist": Refusal(
        "If the kiln does not exist, scrap_kiln responds with 404 KILN_UNKNOWN.", scrap("k99"), scrap("k3"),
        404, "KILN_UNKNOWN",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_calls_are_refused_as_the_sentence_says(name: str) -> None:
    case = REFUSALS[name]
    simulator = under(case.sentence)
    assert simulator.not_understood == ()
    refused = reply(simulator, case.refused)
    assert refused.status >= 400
    assert case.status in (0, refused.status)
    assert case.code in str(refused.response)
    assert refused.response != reply(under(""), case.refused).response
    assert reply(simulator, case.passed).status < 400


class Change(NamedTuple):
    sentence: str
    call: Call
    field: str  # of a record that the call makes or changes
    value: Any
    is_plain: bool = False  # the tool's own words say so, too


UNLOAD = on("unload", "f1", potter_id="p1")
CHANGES: dict[str, Change] = {
    # defaults
    "default": Change("pieces defaults to 4 when a firing is booked.", book(), "pieces", 4),
    "left out": Change(
        "Leave out the level of a potter and it is taken to be beginner.", register(), "level", "beginner"
    ),
    "not given": Change("If no grams are given for a new glaze, 250 is assumed.", glaze(), "grams", 250),
    "default, as it is given": Change(
        "pieces defaults to 4 when a firing is booked.", book(pieces=9), "pieces", 9
    ),
    "left out, whatever the verb": Change(
        "If pieces are left out of a booking, we plan six.", book(), "pieces", 6
    ),
    "unless asked for": Change(
        "New potters land in beginner unless another level is asked for.", register(), "level", "beginner"
    ),
    # what new records are like
    "new, a state": Change("A newly booked firing starts out as cancelled.", book(), "status", "cancelled"),
    "new, a number": Change("New firings come with a fee of 35.", book(), "fee", 35),
    "new, a level": Change("A freshly registered potter is a beginner.", register(), "level", "beginner"),
    # effects
    "state": Change("Unloading a firing sets its status to finished.", UNLOAD, "status", "finished"),
    "state of another": Change(
        "When a firing is unloaded its kiln becomes broken.", UNLOAD, "status", "broken"
    ),
    "number up": Change(
        "Finishing a firing raises the uses of its kiln by 1.", on("finish", "f1"), "uses", 13
    ),
    "number down": Change(
        "Each booking takes one off the shelves left of the kiln.", book(), "shelves_left", 1
    ),
    "by an argument": Change(
        "Using a glaze lowers its grams by the grams used.", use("g1", 30), "grams", 470, is_plain=True
    ),
    "by a refund": Change(
        "A refund reduces the fee of the firing by the amount.", on("refund", "f1", amount=5), "fee", 50
    ),
    "from one state into another": Change(
        "Unloading a firing turns it from planned into finished.", UNLOAD, "status", "finished"
    ),
    "by the number of what was given": Change(
        "Using a glaze reduces the grams of the glaze by the number of grams used.",
        use("g1", 30), "grams", 470, is_plain=True,
    ),
    "filled": Change(
        "When a firing gets unloaded, its finished_at is filled with the current time.",
        UNLOAD, "finished_at", NOW,
    ),
    "stamp": Change("Unloading a firing sets finished_at to the current time.", UNLOAD, "finished_at", NOW),
}  # fmt: skip


def written(answer: SimulatedReply) -> list[tuple[str, Any]]:
    made = [one.attrs for one in answer.updates if isinstance(one, Add)]
    changed = [one.set for one in answer.updates if isinstance(one, Update)]
    return [pair for attributes in (*made, *changed) for pair in attributes.items()]


@pytest.mark.parametrize("name", CHANGES)
def test_records_are_changed_as_the_sentence_says(name: str) -> None:
    case = CHANGES[name]
    simulator = under(case.sentence)
    assert simulator.not_understood == ()
    pair = (case.field, case.value)
    assert pair in written(reply(simulator, case.call))
    is_given = case.is_plain or pair in case.call.arguments.items()
    assert (pair in written(reply(under(""), case.call))) == is_given


#: A sentence, and the firings that are listed under it.
LISTS = {
    "Firings are listed with the highest fee first.": "f4 f1 f3 f2 f5",
    "list_firings sorts by fee, cheapest on top.": "f5 f2 f3 f1 f4",
    "A list of firings never holds more than 3 entries.": "f1 f2 f3",
    "list_firings hands back two firings at most.": "f1 f2",
    "Cancelled firings are left out of the list.": "f1 f3 f4 f5",
    "Finished firings do not appear when firings are listed.": "f1 f2 f3",
    "list_firings shows only planned firings.": "f1 f3",
    "A single call to list_firings yields no more than two rows.": "f1 f2",
    "The list of firings leaves cancelled firings out.": "f1 f3 f4 f5",
    "Firings are listed by fee so that the cheapest come first.": "f5 f2 f3 f1 f4",
}


def listed(answer: SimulatedReply) -> str:
    rows: Any = answer.response
    return " ".join(row["id"] for row in rows)


@pytest.mark.parametrize("sentence", LISTS)
def test_lists_come_as_the_sentence_says(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood == ()
    assert listed(reply(simulator, FIRINGS)) == LISTS[sentence]


COMPUTED = {
    "get_firing reports balance_due, which is the fee minus the deposit.": ("balance_due", 45),
    "The total_cost shown by get_firing is the fee plus the deposit.": ("total_cost", 65),
}


@pytest.mark.parametrize("sentence", COMPUTED)
def test_a_field_is_worked_out_as_the_sentence_says(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood == ()
    response: Any = reply(simulator, on("get", "f1")).response
    assert COMPUTED[sentence] in response.items()


#: Sentences of which nothing may be enforced: what they lay down cannot be told, or they bind the agent.
UNREAD = [
    # a word that stands for nothing here
    "Sleepy potters may not book a firing.",
    "A firing cannot be cancelled once the clay is dry.",
    "Broken kilns cannot be booked on rainy days.",
    "Firings of porcelain cannot be moved.",
    "Only potters with a licence may book a firing.",
    # a comparison with what nobody knows
    "Firings with more pieces than the potter can lift cannot be cancelled.",
    "Bookings for more shelves than the potter has left fail.",
    # a verb that no tool is known by
    "A broken kiln can be neither lent nor scrapped.",
    # two rules, of which one is not understood
    "Suspended potters cannot book firings, and their cats cannot enter the studio.",
    "Finished firings cannot be cancelled; those the owner likes can be moved only on Sundays.",
    "Finished firings cannot be cancelled, which also goes for firings with lids.",
    # other records than those the call names
    "A kiln can't be scrapped while another firing of the same potter is planned.",
    "A potter may not book two firings of the same kiln.",
    # advice to the agent
    "Do not cancel firings that are finished.",
    "Please do not move firings that have been cancelled.",
    "You should check that the kiln is idle before you book a firing.",
    "Make sure the potter is not suspended before you book.",
    "Always ask the potter before cancelling a firing.",
    "Never book a broken kiln without asking the potter first.",
    # what stands behind a comma may be a rule or an exception
    "Broken kilns take no bookings, and kilns that smell of smoke take none either.",
    "Broken kilns take no bookings, unlike those with a blue door.",
    "Suspended potters may not book firings, save for the mayor.",
    "Suspended potters may not book firings until the board has met.",
]
CALLS = (
    *(book(potter_id=potter, kiln_id=kiln) for potter in STATE["potter"] for kiln in STATE["kiln"]),
    *(on("cancel", id) for id in STATE["firing"]),
    *(on("move", id, starts_at=LATER) for id in STATE["firing"]),
    *(scrap(id) for id in STATE["kiln"]),
    FIRINGS,
    UNLOAD,
)


def answers(simulator: PlannedSimulator) -> list[tuple[Any, ...]]:
    found = (reply(simulator, call) for call in CALLS)
    return [(one.status, one.response, one.updates) for one in found]


@pytest.mark.parametrize("sentence", UNREAD)
def test_what_is_not_understood_is_reported_and_changes_nothing(sentence: str) -> None:
    simulator = under(sentence)
    assert sentence in (*simulator.not_understood, *simulator.without_effect)
    assert answers(simulator) == answers(under(""))


#: A rule that is read, and a sentence behind it that looks as if it only explained it.
SECOND = [
    (
        "Finished firings cannot be cancelled.",
        "This means that a moved firing needs a stamp from the office.",
    ),
    (
        "Finished firings cannot be cancelled.",
        "That is because only potters over 60 may cancel on a holiday.",
    ),
    ("Broken kilns take no bookings.", "This is why kilns with loose bricks take none either."),
    (
        "Suspended potters cannot book firings.",
        "The reason is that a firing in a bad mood must be cancelled.",
    ),
]


@pytest.mark.parametrize(("first", "second"), SECOND)
def test_a_rule_in_what_looks_like_an_explanation_is_reported(first: str, second: str) -> None:
    simulator = under(f"{first} {second}")
    assert simulator.not_understood == (second,)
    assert answers(simulator) == answers(under(first)) != answers(under(""))


LEADS = ["Note that", "Note:"]


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("name", REFUSALS)
def test_words_that_say_nothing_change_nothing(name: str, lead: str) -> None:
    case = REFUSALS[name]
    starts_with_name = "_" in case.sentence.split()[0]
    rest = case.sentence if starts_with_name else case.sentence[0].lower() + case.sentence[1:]
    simulator, plain = under(f"{lead} {rest}"), under(case.sentence)
    assert simulator.not_understood == ()
    for call in (case.refused, case.passed):
        assert reply(simulator, call).response == reply(plain, call).response


SENTENCES = {
    **{case.sentence: (case.refused, case.passed) for case in REFUSALS.values()},
    **{case.sentence: (case.call,) for case in CHANGES.values()},
}


def relabelled(labels: dict[str, str]) -> dict[str, Any]:
    return {labels[kind]: of_kind for kind, of_kind in STATE.items()}


def outcomes(simulator: PlannedSimulator, sentence: str, state: dict[str, Any]) -> list[Any]:
    answers = [reply(simulator, call, state) for call in SENTENCES[sentence]]
    return [(one.status, written(one)) for one in answers]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_means_the_same_where_labels_are_written_otherwise(sentence: str) -> None:
    state = relabelled({kind: f"studio_{kind.title()}" for kind in STATE})
    simulator = built(sentence, state)
    assert simulator.not_understood == ()
    assert outcomes(simulator, sentence, state) == outcomes(under(sentence), sentence, STATE)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_under_labels_that_say_nothing_it_means_the_same_or_is_reported(sentence: str) -> None:
    chance = random.Random(1)
    state = relabelled({kind: "".join(chance.choices(string.ascii_lowercase, k=8)) for kind in STATE})
    simulator = built(sentence, state)
    reported = (*simulator.not_understood, *simulator.without_effect)
    same = outcomes(under("" if reported else sentence), sentence, STATE)
    assert outcomes(simulator, sentence, state) == same


TOO_LATE = [
    "In principle, a firing cannot be cancelled less than two days before it starts.",
    "Cancelling a firing less than two days before it starts fails with 409 TOO_LATE.",
    "A cancellation less than two days before the start is refused with 409 TOO_LATE.",
]
TOO_OLD = [
    "Rating a firing more than 14 days after it was finished is refused.",
    "Rating a firing more than 14 days after it was finished is not allowed.",
]


@pytest.mark.parametrize("sentence", [*TOO_LATE, *TOO_OLD])
def test_the_before_and_after_of_a_window_turn_no_rule_round(sentence: str) -> None:
    simulator = under(sentence)
    refused, passed = (
        (on("cancel", "f1"), on("cancel", "f3"))
        if sentence in TOO_LATE
        else (on("rate", "f4", score=3), on("rate", "f5", score=3))
    )
    assert simulator.not_understood == ()
    assert reply(simulator, refused).status == 409
    assert reply(simulator, passed).status < 400


BEDS: dict[str, Any] = {
    "bed": {"b1": {"name": "south", "status": "open"}},
    "seed": {"s1": {"name": "bean", "price": 2, "stock": 40}, "s2": {"name": "kale", "price": 3, "stock": 9}},
}
GARDEN = parse_tools_schema(
    [
        tool("use_seed", "Record that a seed was planted in a bed.", "bed_id", "seed_id", "quantity#"),
        tool("get_seed", "Get a seed", "seed_id"),
    ]
)
PLANTED = Call("use_seed", {"bed_id": "b1", "seed_id": "s1", "quantity": 4})


def garden(sentence: str) -> SimulatedReply:
    simulator = build_simulator(GARDEN, world=World.from_initial_state(BEDS), behavior=sentence)
    assert simulator.not_understood == ()
    return reply(simulator, PLANTED, BEDS)


def test_what_a_call_names_is_changed_and_not_what_it_makes_of_the_same_kind() -> None:
    answer = garden("Every seed that is planted comes off the stock count.")
    changed = [(one.id, one.set) for one in answer.updates if isinstance(one, Update)]
    assert ("s1", {"stock": 36}) in changed


def test_what_is_worked_out_of_what_a_call_names_is_shown_of_what_it_makes() -> None:
    answer = garden("The response of use_seed contains line_total: the price of the seed times the quantity.")
    response: Any = answer.response
    assert response["line_total"] == 8


def test_a_rule_taken_by_its_parts_says_so_in_the_plan() -> None:
    """Whoever reads the plan sees which sentences were put together from what their words stand for."""
    case = CHANGES["from one state into another"]
    assert BY_PARTS.format(case.sentence) in under(case.sentence).plan_of(case.call.tool).notes
    told = under("use_glaze requires a glaze_id.").plan_of("use_glaze").notes
    assert not [note for note in told if note.startswith(BY_PARTS.partition("{")[0])]
