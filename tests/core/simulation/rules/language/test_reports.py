"""What is said of sentences that are not read: a word, a reason, and sentences to write instead."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core.simulation.rules.language.worlds import STATE, TOOLS, meant, reader_of, shop, tool

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.language.read import Reader, Reading
from pipelines.core.simulation.rules.language.report import canonical_sentences, explain_stop, reading_json
from pipelines.core.simulation.rules.language.suggest import MOST, Suggestion, suggestions
from pipelines.core.simulation.rules.vocabulary import build_vocabulary
from pipelines.core.tools.tools_schema import parse_tools_schema

BLIND = Path(__file__).parents[4] / "blind"
WORLDS = [
    path
    for name in ("fourteenth", "fifteenth")
    for path in sorted((BLIND / f"sentences_{name}").glob("*.json"))
]


def readings(path: Path) -> Iterator[tuple[Reading, Reader]]:
    body = json.loads(path.read_text())
    tools = parse_tools_schema(body["tools"])
    survey = survey_for(tools, world=World.from_initial_state(body["world"]))
    reader = Reader(build_vocabulary(tools, survey))
    for sentence in body["sentences"]:
        yield from ((reading, reader) for reading in reader.read_text(sentence["text"]))


@pytest.mark.parametrize("path", WORLDS, ids=[f"{path.parent.name}-{path.stem}" for path in WORLDS])
def test_every_sentence_of_a_stranger_that_is_not_read_has_a_word_and_a_reason(path: Path) -> None:
    found = [(reading, reader) for reading, reader in readings(path) if not reading.is_read]
    assert found
    for reading, reader in found:
        assert reading.stop is not None
        assert reading.stop.words.strip()
        assert reading.sentence[reading.stop.start : reading.stop.end] == reading.stop.words
        assert explain_stop(reading, reader)


@pytest.mark.parametrize("path", WORLDS, ids=[f"{path.parent.name}-{path.stem}" for path in WORLDS])
def test_every_suggestion_is_read_and_is_not_the_sentence_itself(path: Path) -> None:
    for reading, reader in readings(path):
        found = [] if reading.is_read else suggestions(reading, reader)
        assert len(found) <= MOST
        for one in found:
            assert one.sentence != reading.sentence
            assert all(part.is_read and part.rules for part in reader.read_text(one.sentence)), one


def said(sentence: str, reader: Reader | None = None) -> list[Suggestion]:
    reader = reader or shop()
    return suggestions(reader.read(sentence), reader)


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        (
            "When an order has gone out (it is shipped), cancel_order gives 409 too_late.",
            "cancel_order fails with 409 too_late when the order's status is 'shipped'.",
        ),
        (
            "We do not refund amounts that are more than 500 through refund_order.",
            "refund_order fails when the given amount is more than 500.",
        ),
        (
            "Somebody who calls cancel_order has to tell us a reason.",
            "cancel_order fails when the given reason is missing.",
        ),
        (
            "In list_orders the customer sees pending stuff exclusively.",
            "list_orders returns only orders where the order's status is 'pending'.",
        ),
        (
            "search_products gives you 10 hits, tops.",
            "search_products returns at most 10 results.",
        ),
        (
            "The products of search_products come along by price.",
            "search_products returns results sorted by price ascending.",
        ),
        (
            "As to the status, archive_order turns it into 'archived'.",
            "archive_order sets the order's status to 'archived'.",
        ),
        (
            "For cancel_order we know the statuses pending and delivered, that is all.",
            "cancel_order fails when the order's status is one of 'pending', 'delivered'.",
        ),
    ],
)
def test_nouns_of_the_sentence_fill_the_plainest_sentences(sentence: str, wanted: str) -> None:
    assert wanted in [one.sentence for one in said(sentence)]


def test_what_a_suggestion_leaves_out_is_said() -> None:
    found = said("Shipped orders cannot be cancelled on a Sunday.")
    assert Suggestion("cancel_order fails when the order's status is 'shipped'.", "Sunday") in found
    shown = [one.said() for one in found if one.drops]
    assert "cancel_order fails when the order's status is 'shipped'. (leaves out “Sunday”)" in shown


def test_a_suggestion_over_some_of_the_nouns_names_the_others() -> None:
    found = said("cancel_order makes sense while the order is pending and the user is gold, roughly.")
    assert any("pending" in one.drops for one in found if "pending" not in one.sentence)


def test_a_word_that_is_misspelled_is_corrected() -> None:
    for text in (
        "cancel_order fails when the order's status is shiped.",
        "Shiped orders cannot be cancelled.",
        "Shipped orders cannot be canceled by cancl_order.",
    ):
        assert said(text)[0].sentence == "cancel_order fails when the order's status is 'shipped'."


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("For shipped orders one cannot use cancel_order, sorry.", "when"),
        ("Only pending orders are for cancel_order, sorry.", "unless"),
    ],
)
def test_where_the_sentence_says_which_way_it_is_meant_only_that_is_suggested(
    sentence: str, word: str
) -> None:
    found = [one.sentence for one in said(sentence) if "status" in one.sentence]
    assert found
    assert all(f" {word} " in one for one in found), found


def test_first_come_those_that_make_a_difference_in_the_world() -> None:
    reader = shop()
    reading = reader.read("For cancel_order it is about pending and shipped, sorry.")
    plain = suggestions(reading, reader)
    assert "pending" in plain[0].sentence
    live = suggestions(reading, reader, lambda rules: all("pending" not in str(one.form) for one in rules))
    assert "pending" not in live[0].sentence
    assert {one.sentence for one in live} != {one.sentence for one in plain[:1]}


def test_a_unit_or_a_bound_that_a_suggestion_does_not_have_is_left_out() -> None:
    found = said("cancel_order is about the order's status and at most two days, sorry.")
    assert found
    assert all("days" in one.drops or "days" in one.sentence for one in found)


def test_of_a_sentence_with_two_readings_both_are_suggested() -> None:
    state = {"ticket": {"t-1": {"amount": 5}}}
    reader = reader_of(state, tool("close_ticket", "ticket_id", "amount?"))
    assert [one.sentence for one in said("close_ticket fails when the amount is more than 5.", reader)] == [
        "close_ticket fails when the given amount is more than 5.",
        "close_ticket fails when the ticket's amount is more than 5.",
    ]


@pytest.mark.parametrize("sentence", ["Be friendly and concise.", "x", "Order o-1 is shipped."])
def test_where_nothing_is_near_nothing_is_suggested(sentence: str) -> None:
    assert said(sentence) == []


def test_what_only_odd_sentences_begin_with_is_not_listed() -> None:
    reader = shop()
    told = explain_stop(reader.read("No single refund goes over 20."), reader)
    assert told.startswith("reading stopped at “single”; a rule speaks of a tool (cancel_order, ")
    assert "or of a type (order, user, product)" in told
    told = explain_stop(reader.read("The order moves."), reader)
    assert "possible here: a field, a value or state, “that”" in told


@pytest.mark.parametrize("text", ["🙂🙂", "…", "—\n🙂"])
def test_a_text_without_a_word_is_not_read(text: str) -> None:
    (reading,) = shop().read_text(text)
    assert reading.sentence == text
    assert explain_stop(reading, shop()).startswith("reading stopped at “")


def test_a_blank_text_has_no_sentence() -> None:
    assert shop().read_text(" \n") == []


def test_a_reading_as_the_api_shows_it() -> None:
    body = reading_json(shop().read("Shipped orders cannot be cancelled."), shop())
    assert body == {
        "sentence": "Shipped orders cannot be cancelled.",
        "read_as": ["cancel_order fails when the order's status is 'shipped'."],
        "rules": [{"form": "require", "tools": ["cancel_order"], "expression": "order.status != 'shipped'"}],
    }


def test_a_sentence_that_is_not_read_as_the_api_shows_it() -> None:
    body = reading_json(shop().read("Shipped orders cannot be cancelled on a Sunday."), shop())
    stop = body["not_read"]
    assert isinstance(stop, dict)
    assert (stop["words"], stop["start"], stop["end"]) == ("on", 35, 37)
    assert str(stop["message"]).startswith("reading stopped at “on”")
    assert {
        "sentence": "cancel_order fails when the order's status is 'shipped'.",
        "drops": "Sunday",
    } in stop["suggestions"]  # type: ignore[operator]
    assert reading_json(shop().read("x"), shop(), suggest=False)["not_read"]["suggestions"] == []  # type: ignore[call-overload, index]


def test_rules_of_one_sentence_that_are_shown_alike_are_shown_once() -> None:
    reading = shop().read("Shipped orders cannot be cancelled.")
    twice = Reading(sentence=reading.sentence, rules=reading.rules * 2)
    assert len(canonical_sentences(twice, shop())) == 1


def test_twenty_sentences_for_thirty_tools_take_few_steps() -> None:
    """The steps of the parser stand for the time, which depends on the machine."""
    more = tuple(tool(f"{one.name}_{number}", "order_id") for number in (1, 2) for one in TOOLS)[:19]
    reader = reader_of(STATE, *TOOLS, *more)
    total = 0
    for number in range(20):
        parser = reader.parser(
            reader.tokens(f"refund_order fails when the order's total is above {number} days.")
        )
        parser.whole("Sentence")
        total += parser.steps
    assert total < 20 * 2_000
    assert meant(reader.read("Shipped orders cannot be cancelled.").rules)
