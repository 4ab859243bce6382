"""No cell of a CSV export is a formula to a spreadsheet."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.text.spreadsheet import spreadsheet_cell, spreadsheet_value

pytestmark = pytest.mark.unit

BEGINNINGS = "=+-@|%＝＋－＠"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-1+2", "'-1+2"),
        ("@SUM(1)", "'@SUM(1)"),
        ("  =1", "  '=1"),
        ("\t=1", "\t'=1"),
        ("a;=1", "a;'=1"),
        ("a\n=1", "a\n'=1"),
        ("＝1", "'＝1"),
        ("2 - 1 = 1", "2 - 1 = 1"),
        ("", ""),
        ("'=1", "'=1"),
    ],
)
def test_what_would_be_a_formula_is_a_text(text: str, cell: str):
    assert spreadsheet_cell(text) == cell


@given(st.text(alphabet="=+-@|%＝ \t\r\n;,'\"a1"), st.sampled_from(",;\t"))
def test_no_cell_begins_a_formula_whatever_separates_them(text: str, separator: str):
    file = io.StringIO()
    csv.writer(file).writerow(["first", spreadsheet_cell(text)])
    for line in csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=separator):
        for cell in line:
            assert not cell.strip().strip('"').strip().startswith(tuple(BEGINNINGS)), (text, cell)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("-5", "'-5"),
        ("a=b", "a=b"),
        (None, ""),
        (-5, "-5"),
        (0.25, "0.25"),
        (True, "True"),
    ],
)
def test_numbers_stay_numbers(value: object, cell: str) -> None:
    assert spreadsheet_value(value) == cell
