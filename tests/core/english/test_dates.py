"""Dates as people write them, with all that a spelling can mean."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.english.dates import Day, dates, times

DATES = {
    "shipped on 2026-04-01.": [(4, 1, 2026)],
    "at 2026-04-01T10:30:00Z": [(4, 1, 2026)],
    "April 1st, 2026": [(4, 1, 2026)],
    "Apr. 1": [(4, 1, None)],
    "the 1st of May 2026": [(5, 1, 2026)],
    "04/05/2026": [(4, 5, 2026), (5, 4, 2026)],
    "1.4.26": [(4, 1, 2026)],
    "31/12/2026": [(12, 31, 2026)],
    "2026/4/1": [(4, 1, 2026)],
    "it may 5 times": [],
    "Feb 30, March, v1.2.3, 10:30": [],
    "the end of March 2027": [(3, 31, 2027)],
    "at the start of May 2026": [(5, 1, 2026)],
    "the end of February": [(2, 28, None), (2, 29, None)],
}


@pytest.mark.parametrize(("text", "days"), DATES.items())
def test_the_dates_of_a_text(text, days):
    assert sorted((tuple(day) for one in dates(text) for day in one.days), key=str) == days


@given(
    st.dates(min_value=date(1970, 1, 1), max_value=date(2100, 1, 1)),
    st.sampled_from(["%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"]),
)
def test_every_spelling_reads_back_the_day_it_was_written_for(day, spelling):
    (found,) = dates(f"It was on {day.strftime(spelling)}.")
    assert Day(day.month, day.day, day.year) in found.days


def test_a_day_without_a_year_agrees_with_that_day_of_any():
    assert Day(4, 1).agrees_with(Day(4, 1, 2026))
    assert not Day(4, 1, 2025).agrees_with(Day(4, 1, 2026))


HOURS = {
    "between eight and ten in the morning": [{8}, {10}],
    "between three and four.": [{3, 15}, {4, 16}],
    "9-11 am": [{9}, {11}],
    "on Friday at ten.": [{10, 22}],
    "between 3 and 5 working days": [],
    "two to four players at 24": [],
    "ten at nine each": [],
}


@pytest.mark.parametrize(("text", "hours"), HOURS.items())
def test_hours_that_their_place_makes_times(text, hours):
    assert [{minute // 60 for minute in one.minutes} for one in times(text)] == hours
