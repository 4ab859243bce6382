"""What a persona's text says its person knows."""

import pytest

from pipelines.core.persona.facts import Knowledge, facts_in

KNOWN, WHEN_ASKED, UNKNOWN = Knowledge.KNOWN, Knowledge.WHEN_ASKED, Knowledge.UNKNOWN


@pytest.mark.parametrize(
    ("persona", "facts"),
    [
        (None, []),
        ("Impatient.", [("Impatient.", KNOWN)]),
        (
            "You are Ada. Your order is 4521.",
            [("You are Ada.", KNOWN), ("Your order is 4521.", KNOWN)],
        ),
        (
            "Known:\n- order 4521\n- paid by card\nUnknown: the tracking number",
            [("order 4521", KNOWN), ("paid by card", KNOWN), ("the tracking number", UNKNOWN)],
        ),
        (
            "Only when asked:\n- my e-mail is ada@example.com\n\nAda likes cats.",
            [("my e-mail is ada@example.com", WHEN_ASKED), ("Ada likes cats.", KNOWN)],
        ),
        (
            "Give 4521 only if asked.",
            [("Give 4521 only if asked.", WHEN_ASKED)],
        ),
        (
            "Don't mention it unless asked.",
            [("Don't mention it unless asked.", WHEN_ASKED)],
        ),
        ("You don't remember the order number.", [("You don't remember the order number.", UNKNOWN)]),
    ],
)
def test_lines_are_sorted_by_their_headings_and_their_words(
    persona: str | None, facts: list[tuple[str, Knowledge]]
) -> None:
    assert [(fact.text, fact.knowledge) for fact in facts_in(persona)] == facts


def test_facts_are_numbered_in_their_order() -> None:
    assert [fact.id for fact in facts_in("One.\nTwo.\nThree.")] == ["F1", "F2", "F3"]
