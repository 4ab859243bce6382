"""What names and descriptions of tools say, word by word."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import plural, singular, tokens
from pipelines.core.simulation.domain.tool_names import kind_of_tool, read_tool_name
from pipelines.core.simulation.reading.tool_reading import read_description


@pytest.mark.parametrize(
    ("name", "verb", "nouns"),
    [
        ("getOrderDetails", "get", ("order", "details")),
        ("orders_get", "get", ("orders",)),
        ("invoice.void", "void", ("invoice",)),
        ("trading_get_login_status", "get", ("login", "status")),
        ("message_login", "login", ("message",)),
        ("log_in_user", "login", ("user",)),
        ("post_tweet", "post", ("tweet",)),
        ("order_pizza", "order", ("pizza",)),
        ("list-all-airports", "list", ("airports",)),
        ("remove_stock_from_watchlist", "remove", ("stock",)),
        ("HTTPRequestSend", "send", ("http", "request")),
    ],
)
def test_takes_a_tool_name_apart(name: str, verb: str, nouns: tuple[str, ...]) -> None:
    read = read_tool_name(name)
    assert (read.verb, read.nouns) == (verb, nouns)


def test_a_name_without_a_verb_borrows_it_from_the_description() -> None:
    assert read_tool_name("order_status", "Retrieves the status of an order.").verb == "retrieve"
    assert read_tool_name("frobnicate_order", "Frobnicates it.").op is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("get_order", "read"),
        ("search_flights", "search"),
        ("square_root", "computed"),
        ("cancel_order", "write"),
        ("zap_order", "read"),  # by default
    ],
)
def test_the_kind_of_a_tool(name: str, kind: str) -> None:
    assert kind_of_tool(name) == kind


@pytest.mark.parametrize(
    ("one", "many"),
    [("order", "orders"), ("entry", "entries"), ("bus", "buses"), ("person", "people"), ("box", "boxes")],
)
def test_singular_and_plural(one: str, many: str) -> None:
    assert (singular(many), plural(one)) == (one, many)


@pytest.mark.parametrize("word", ["status", "address", "process", "news", "details"])
def test_what_only_looks_plural_stays(word: str) -> None:
    assert singular(word) == word


@pytest.mark.parametrize(
    ("verb", "done"), [("cancel", "cancelled"), ("close", "closed"), ("deny", "denied"), ("send", "sent")]
)
def test_participles(verb: str, done: str) -> None:
    assert participle(verb) == done


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=1, max_size=4))
def test_words_of_a_name_survive_any_spelling(words: list[str]) -> None:
    assert tokens("_".join(words)) == tokens("-".join(words)) == tokens(".".join(words)) == tuple(words)


SAID: list[tuple[str, str, Any]] = [
    ("the order status will be changed to 'return requested'.", "becomes", "return requested"),
    ('Its status becomes "on hold".', "becomes", "on hold"),
    (
        "If the order is already processed or delivered, it cannot be cancelled.",
        "forbidden_states",
        ("processed", "delivered"),
    ),
    ("the payment will be refunded.", "refunds", True),
    ("Cancel an order.", "becomes", None),
    ("Get the status of all orders.", "becomes", None),
]


@pytest.mark.parametrize(("sentence", "part", "value"), SAID)
def test_what_a_description_says(sentence: str, part: str, value: Any) -> None:
    assert getattr(read_description(sentence), part) == value
