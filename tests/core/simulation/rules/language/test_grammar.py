"""The engine: all parses, the furthest place it came to, and no sentence that takes it long."""

import pytest
from tests.core.simulation.rules.language.worlds import shop

from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.grammar import (
    MOST_STEPS,
    Grammar,
    Match,
    Node,
    Parser,
    grammar_of,
)
from pipelines.core.simulation.rules.language.meaning import MEANINGS
from pipelines.core.simulation.rules.language.text import LONGEST_SENTENCE, MOST_TOKENS, Token, tokens

FEW_STEPS = 60_000  # about a quarter of a second


def parsed(grammar: Grammar, text: str, *, diagnose: bool = False) -> Parser:
    def animal(found: list[Token], at: int) -> list[Match]:
        known = ("cat", "dog", "sea dog")
        phrases = {size: " ".join(one.low for one in found[at : at + size]) for size in (1, 2)}
        return [Match(at + size, (), phrase) for size, phrase in phrases.items() if phrase in known]

    return Parser(grammar, tokens(text), {"animal": animal}, diagnose)  # type: ignore[dict-item]


def labels(node: Node) -> list[object]:
    return [node.label, *((key, labels(one) if isinstance(one, Node) else one) for key, one in node.finds)]


def test_a_word_stands_for_itself_and_a_noun_for_the_world() -> None:
    grammar = grammar_of("Line: the who=<animal> sleeps~ -> sleep")
    assert labels(parsed(grammar, "The dog sleeps").whole("Line")[0]) == ["sleep", ("who", "dog")]
    assert labels(parsed(grammar, "the dog sleep").whole("Line")[0]) == ["sleep", ("who", "dog")]
    assert parsed(grammar, "the cow sleeps").whole("Line") == []


def test_every_parse_is_found() -> None:
    grammar = grammar_of(
        """
Line: left=<animal> right=<animal>? Rest? -> pair
Rest: dog | sea
"""
    )
    found = [labels(node) for node in parsed(grammar, "cat dog").whole("Line")]
    assert found == [["pair", ("left", "cat")], ["pair", ("left", "cat"), ("right", "dog")]]


def test_several_finds_of_one_key_come_in_order() -> None:
    grammar = grammar_of('Line: all+=<animal> ((and | ",") all+=<animal>)* -> many')
    [node] = parsed(grammar, "cat, dog and sea dog").whole("Line")
    assert node.finds == (("all+", "cat"), ("all+", "dog"), ("all+", "sea dog"))


def test_a_line_without_a_label_hands_its_finds_on() -> None:
    grammar = grammar_of("Line: Who sleeps -> sleep\nWho: the? who=<animal>\nSame: Line")
    assert labels(parsed(grammar, "the cat sleeps").whole("Same")[0]) == ["sleep", ("who", "cat")]


def test_the_furthest_miss_says_what_could_have_stood_there() -> None:
    grammar = grammar_of("Line: the <animal> (sleeps | eats) -> does")
    parser = parsed(grammar, "the cat flies", diagnose=True)
    assert parser.whole("Line") == []
    assert (parser.furthest, [*parser.wanted]) == (2, ["sleeps", "eats"])


def test_a_sentence_that_goes_on_too_long_misses_its_end() -> None:
    parser = parsed(grammar_of("Line: the <animal> -> it"), "the cat sleeps", diagnose=True)
    assert parser.whole("Line") == []
    assert (parser.furthest, [*parser.wanted]) == (2, ["the end"])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("Line: (a b", "a bracket is not closed"), ("Line: a % b", "'%' is not part of a grammar")],
)
def test_a_grammar_that_is_wrong_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        grammar_of(text)


def test_a_line_that_begins_with_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="Line begins with itself"):
        _ = grammar_of("Line: Line a | b").starts


def test_every_label_of_the_grammar_has_a_meaning_and_every_meaning_a_label() -> None:
    used = {option.label for line in GRAMMAR.lines.values() for option in line if option.label}
    whole_sentences = {"of_tools", "nothing"}
    assert used - whole_sentences == MEANINGS.keys() - {""}


def test_every_line_of_the_grammar_is_used() -> None:
    def named(options: object) -> set[str]:
        items = [item for option in options for item in option.items]  # type: ignore[attr-defined]
        own = {item.name for item in items if item.kind == "line"}
        return own.union(*(named(item.options) for item in items))

    used = set().union(*(named(line) for line in GRAMMAR.lines.values()))
    assert GRAMMAR.lines.keys() - used == {"Sentence"}


HOSTILE = {
    "and": "cancel_order fails when " + " and ".join(["total > 5"] * 29),
    "or": "cancel_order fails when " + " or ".join(["status is pending"] * 29),
    "or of values": "cancel_order fails when status is " + " or ".join(["pending"] * 57),
    "a list": "cancel_order fails when the status is one of " + ", ".join(["shipped"] * 55),
    "nouns that mean two things": "cancel_order fails when " + " and ".join(["reason is user_id"] * 29),
    "brackets": "cancel_order fails when " + "(" * 12 + "total > 5" + ")" * 12,
    "brackets side by side": "cancel_order fails when " + " or ".join(["(total > 5)"] * 19),
    "open brackets": "cancel_order fails when " + "( total + " * 12 + "5",
    "sums": "cancel_order fails when total" + " + total * 2 - subtotal" * 16 + " > 5",
    "bare words": "and " * 118,
    "tools": "cancel_order and " * 55 + "refund_order fail when the order is pending",
    "clauses": "cancel_order " + " and ".join(["sets status to void"] * 23),
    "settings": "cancel_order sets " + " and ".join(["status to void"] * 29),
    "states": "Orders that are " + " or ".join(["pending"] * 50) + " cannot be cancelled",
    "computed": "get_quote returns " + " and ".join(["total = subtotal"] * 23),
    "negations": "cancel_order fails when it is " + "not " * 100 + "pending",
    "commas": "cancel_order fails when total is 5" + ", 5" * 55,
    "articles": "the " * 100 + "order",
    "unless": "cancel_order fails " + "unless the order is pending " * 20,
    "quotes": "cancel_order fails with " + '"a" ' * 100,
}


@pytest.mark.parametrize("sentence", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("diagnose", [False, True])
def test_no_sentence_takes_many_steps(sentence: str, diagnose: bool) -> None:
    found = tokens(sentence)
    assert len(found) <= MOST_TOKENS
    parser = shop().parser(found, diagnose=diagnose)
    parser.whole("Sentence")
    assert parser.steps < FEW_STEPS < MOST_STEPS


@pytest.mark.parametrize("sentence", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_sentence_is_read_or_reported(sentence: str) -> None:
    reading = shop().read(sentence)
    assert reading.is_read or (reading.stop is not None and reading.stop.message)


def test_a_parser_gives_up_after_so_many_steps() -> None:
    grammar = grammar_of("Line: A* -> many\nA: a? b? c? d?")
    parser = parsed(grammar, "a b c d " * 25)
    parser.whole("Line")
    assert parser.steps <= MOST_STEPS + 1_000


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("cancel_order fails when " + "x" * LONGEST_SENTENCE, "at most 2,000 characters"),
        ("cancel_order fails when " + "a b " * 60, "at most 120 words"),
        ("cancel_order fails when " + "(" * 20 + "total > 5" + ")" * 20, "at most 12 levels"),
        ("  ", "the sentence is empty"),
        ("...", "the sentence is empty"),
    ],
)
def test_what_is_too_long_or_empty_is_not_looked_at(sentence: str, message: str) -> None:
    reading = shop().read(sentence)
    assert reading.stop is not None
    assert message in reading.stop.message
