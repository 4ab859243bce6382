"""Tables and sums of an answer: each row is read with its columns, and a sum that is right needs no call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines.core.verdict.sums import Sums
from pipelines.core.verdict.tables import told_in_words
from verdict_cases import get_order, judged, refund, refused

BILL = "| Item | Amount |\n|---|---|\n| Exam | 62.00 |\n| Lab | 38.00 |\n| **Total** | 100.00 |"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("| A | B |\n|---|:-:|\n| x | 1 |", "x | B: 1"),
        ("| A | B | C |\n|---|---|---|\n| x | 1 | 2 |", "x | B: 1 | C: 2"),
        ("| | | C |\n| --- | --- | --- |\n| x | 1 | 2 |\n\nThat is all.", "x | 1 | C: 2\n\nThat is all."),
        ("| no table", "| no table"),
        (
            "| Order 7001 was cancelled | x |\n|---|---|\n| a | 1 |",
            "| Order 7001 was cancelled | x |\n|---|---|\n| a | 1 |",
        ),
        ("a | b | c", "a | b | c"),
        ("| x | 1 |\n| y | 2 |", "| x | 1 |\n| y | 2 |"),
    ],
)
def test_a_row_is_told_with_its_columns(text: str, told: str) -> None:
    assert told_in_words(text) == told


@given(st.text(alphabet="|-: \nab1", max_size=200))
def test_no_cell_is_lost(text: str) -> None:
    """But for headers, which are only names."""
    told = told_in_words(text)
    assert len(told.split("\n")) <= len(text.split("\n"))
    assert told_in_words(text.replace("|", "")) == text.replace("|", "")


def test_a_total_of_what_was_told_is_shown_and_another_is_not() -> None:
    sums = Sums([BILL], {62, 38})
    assert sums.show("100.00", "Total: 100.00")
    assert not sums.show("100.00", "Refunded: 100.00")
    assert not Sums([BILL.replace("100.00", "101.00")], {62, 38}).show("101.00", "Total: 101.00")
    assert not Sums([BILL], {62}).show("100.00", "Total: 100.00")


REFUSAL = refused(2, "refund_order", "past_window", "past the refund window")
REFUSED = {"expected_outcome": "refusal"}


@pytest.mark.parametrize(
    "says",
    [
        "I could not refund order 4521 because it is past the refund window. The order is unchanged.",
        "I could not refund order 4521 because it is past the refund window. I've left the order as it was.",
    ],
)
def test_what_was_left_alone_may_be_said(says: str) -> None:
    verdict = judged(get_order(1), REFUSAL, says=says, **REFUSED)
    assert verdict.verdict == "PASS", verdict.reasoning


def test_what_was_changed_is_not_unchanged() -> None:
    says = "I've refunded order 4521. Order 4521 is unchanged."
    verdict = judged(get_order(1), refund(2), says=says, expected_state={"order.4521.status": "refunded"})
    assert verdict.verdict != "PASS", verdict.reasoning


def test_a_table_does_not_make_a_text_much_longer_than_it_was() -> None:
    """A name of a column is said in every row: 50,000 characters would become 80 million."""
    wide, many = "x" * 25_000, "|a|b|c|\n" * 3_000
    for name in (wide, "x" * 60):
        text = f"| Class | {name} | Free |\n|---|---|---|\n{many}"
        assert len(told_in_words(text)) < len(text) + 60_000


def test_no_cell_of_a_row_with_very_many_is_left_out() -> None:
    cells = [f"cell {number}" for number in range(100)]
    row = f"| {' | '.join(cells)} |"
    told = told_in_words(f"{row}\n{'|---' * 100}|\n{row}")
    assert told.count("cell 99") == 2
