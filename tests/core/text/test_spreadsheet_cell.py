"""Cells of CSV files: a text is never run as a formula, and a number stays a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.text.spreadsheet_cell import spreadsheet_cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-5", "'-5"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("a=b", "a=b"),
        ("", ""),
        (None, ""),
        (-5, "-5"),
        (0.25, "0.25"),
        (True, "True"),
    ],
)
def test_a_cell_that_would_be_a_formula_begins_with_an_apostrophe(value: object, cell: str):
    assert spreadsheet_cell(value) == cell


@given(st.text())
def test_no_text_begins_like_a_formula_and_none_is_lost(text: str):
    cell = spreadsheet_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell in (text, f"'{text}")
