"""Sentences and tokens as they are written."""

import pytest

from pipelines.core.simulation.rules.language.text import sentences, tokens


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One rule. Another rule.", ["One rule.", "Another rule."]),
        ("One rule\nthat goes on.\nAnother.", ["One rule that goes on.", "Another."]),
        ("- first\n- second\n3. third\n(a) fourth", ["first", "second", "third", "fourth"]),
        ("Fails, e.g. when late. Stops.", ["Fails, e.g. when late.", "Stops."]),
        (
            'Fails with 409 "Too late. Sorry." always. Next.',
            ['Fails with 409 "Too late. Sorry." always.', "Next."],
        ),
        ("Fails when `a. b`. Next.", ["Fails when `a. b`.", "Next."]),
        ("Rules:\n\n...\n", ["Rules:"]),
        ("", []),
    ],
)
def test_a_text_into_sentences(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("cancel_order fails.", [("name", "cancel_order"), ("word", "fails")]),
        ("The order's total", [("word", "the"), ("word", "order"), ("mark", "'s"), ("word", "total")]),
        ("users' orders", [("word", "users"), ("mark", "'s"), ("word", "orders")]),
        ("can't", [("word", "can"), ("word", "not")]),
        ("cannot", [("word", "can"), ("word", "not")]),
        ("isn't", [("word", "is"), ("word", "not")]),
        ("won’t", [("word", "will"), ("word", "not")]),
        ("most-recent", [("word", "most"), ("word", "recent")]),
        ("a - 5", [("word", "a"), ("mark", "-"), ("number", "\0number")]),
        ("-5", [("mark", "-"), ("number", "\0number")]),
        ("x ≥ 5", [("word", "x"), ("mark", ">="), ("number", "\0number")]),
        ("x == 5", [("word", "x"), ("mark", "="), ("number", "\0number")]),
        ("8% of it", [("percent", "\0number"), ("word", "of"), ("word", "it")]),
        ("three times", [("number", "three"), ("word", "times")]),
        ("on 2026-01-15", [("word", "on"), ("date", "\0date")]),
        ("at 2026-01-15T10:00:00Z", [("word", "at"), ("date", "\0date")]),
        ("`order.total > 5`", [("code", "\0code")]),
        ("`cancel_order`", [("name", "cancel_order")]),
        ("“it’s late”", [("text", "\0text")]),
    ],
)
def test_a_sentence_into_tokens(sentence: str, found: list[tuple[str, str]]) -> None:
    assert [(token.kind, token.low) for token in tokens(sentence)] == found


@pytest.mark.parametrize(("written", "number"), [("1,000", 1000), ("$12.50", 12.5), ("ten", 10), ("7.0", 7)])
def test_numbers_as_people_write_them(written: str, number: float) -> None:
    [token] = tokens(written)
    assert token.number == number


def test_a_text_in_quotes_keeps_its_spelling() -> None:
    [token] = tokens("“it’s – late”")
    assert token.text == "it’s – late"


def test_a_token_knows_where_it_stands() -> None:
    sentence = "Orders can't be `order.total > 5`."
    assert [sentence[token.start : token.end] for token in tokens(sentence)] == [
        "Orders",
        "can't",
        "can't",
        "be",
        "`order.total > 5`",
    ]


def test_the_name_of_a_tool_with_a_hyphen_stays_whole() -> None:
    found = tokens("get-order and list-orders fail", ["get-order", "list-orders"])
    assert [token.low for token in found] == ["get-order", "and", "list-orders", "fail"]
