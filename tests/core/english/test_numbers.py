"""Numbers as people write them, with all that a spelling can mean."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.english.numbers import quantities, readings

NUMBERS = {
    "refunded 97,50 €": ["97.5"],
    "1.234,56 EUR": ["1234.56"],
    "1 234,56 €": ["1234.56"],
    "CHF 1'234.50": ["1234.5"],
    "12,34,567 rupees": ["1234567"],
    "USD 79.50 and 3 items": ["79.5", "3"],
    "ninety-seven dollars": ["97"],
    "ninety-seven dollars and fifty cents": ["97.5"],
    "a hundred and five": ["105"],
    "the hundred and five": ["105"],
    "several hundred": [],
    "two hundred thousand and one": ["200001"],
    "a dozen eggs": ["12"],
    "a couple of bills": ["2"],
    "eighty-four pounds sixty for the trip": ["84.6"],
    "Fr. 151.20 and no more": ["151.2"],
    "about 2.5k users, 1.5 million in all": ["2500", "1500000"],
    "1,234": ["1.234", "1234"],
    "5-7 business days": ["5", "7"],
    "1, 2, 3.": ["1", "2", "3"],
    "order #4521, INV-2026-001, 10:30, 2026-04-01, v1.2.3, 24/7, a.1@x.com, 555-123-4567": [],
}


@pytest.mark.parametrize(("text", "values"), NUMBERS.items())
def test_the_numbers_of_a_text(text, values):
    found = [value for one in quantities(text) for value in sorted(one.values)]
    assert found == [Decimal(value) for value in values]


MONEY = {"$79.50": "USD", "79,50 €": "EUR", "GBP 5": "GBP", "five pounds": "GBP", "5 items": None}


@pytest.mark.parametrize(("text", "currency"), MONEY.items())
def test_what_is_money(text, currency):
    assert [one.currency for one in quantities(text)] == [currency]


def test_the_unit_of_a_number():
    assert [one.unit for one in quantities("8% within 30 days, 8 percent")] == ["%", "days", "%"]


@given(st.decimals(min_value=0, max_value=10**9, places=2), st.sampled_from([",.", ".,", "'.", " ,", " ."]))
def test_every_locale_reads_back_what_it_wrote(value, marks):
    group, point = marks
    written = f"{value:,.2f}".translate(str.maketrans({",": group, ".": point}))
    assert value.normalize() in readings(written)


@given(st.text(alphabet=st.sampled_from("0123456789.,' €$-andfive hundred"), max_size=60))
def test_any_text_is_read_and_places_are_within_it(text):
    last = 0
    for one in quantities(text):
        assert last <= one.start < one.end <= len(text)
        assert one.values
        last = one.end


def test_a_long_row_of_digits_is_read_in_linear_time():
    for text in (
        "1," * 20_000,
        "1 " * 20_000,
        "9" * 40_000,
        "hundred " * 20_000,
        "1-" * 20_000,
        "a-" * 20_000,
    ):
        assert re.search(r"\w", text)
        quantities(text)
