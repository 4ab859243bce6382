"""docs/reference/matchers.md: the table is complete and every example comes out as told."""

import re

import pytest

from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import shift
from pipelines.core.matchers.matching import MATCHER_NAMES, check_expectation, matches, with_today
from pipelines.core.text.json_text import loads
from support.repository import DOCS

PAGE = (DOCS / "reference" / "matchers.md").read_text()
EXAMPLES = [
    loads(text) for text in re.findall(r"^```json example\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]


def test_every_matcher_has_its_row():
    assert {name for name in MATCHER_NAMES if f'{{"{name}"' in PAGE} | {"$lte"} == set(MATCHER_NAMES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["expected"]))
def test_the_examples_come_out_as_told(example):
    expected = with_today(example["expected"], example.get("today"))
    assert check_expectation(expected) == []
    assert [each for each in example["holds"] if not matches(expected, each)] == []
    assert [each for each in example["does_not"] if matches(expected, each)] == []


@pytest.mark.parametrize("row", re.findall(r"^\| (`\{.*?\}`) \|", PAGE, re.MULTILINE))
def test_what_the_table_shows_is_well_formed(row):
    assert check_expectation(loads(row.strip("`"))) == []


@pytest.mark.parametrize("page", ["reference/csv.md", "reference/evals.md", "reference/oracles.md"])
def test_who_expects_something_points_here(page):
    assert "matchers.md" in (DOCS / page).read_text()


SHIFTS = [
    ({"$number": 79.5}, "$79.50", "79,50 €", 0.0),
    ({"$number": 79.5}, "$79.50", 79.5, 0.0),
    ({"$number": 79.5}, "$79.50", "$100", 0.205),
    ({"$number": 79.5}, "Order 4521: $79.50", "Order 9001: $79.50 is on its way", 0.0),
    ({"$number": 79.5}, "$79.50", "soon", 1.0),
    ({"$date": "2026-05-03"}, "3 May 2026", "03/05/2026", 0.0),
    ({"$date": "2026-05-03"}, "3 May 2026", "4 May 2026", 1.0),
    ({"$text": "Refunded"}, "refunded ", "REFUNDED", 0.0),
    ({"$any_of": [{"$number": 5}, {"$text": "none"}]}, "five", "5", 0.0),
    ({"$any_of": [{"$number": 5}, {"$text": "none"}]}, "five", "None", 1.0),
    ({"$all_of": [{"$number": 5}, {"$regex": "€"}]}, "5 €", "€5.00", 0.0),
    ({"$not": {"$number": 5}}, "6 apples", "six", 0.0),
]


@pytest.mark.parametrize(("expected", "before", "after", "distance"), SHIFTS)
def test_the_shift_compares_what_is_said(expected, before, after, distance):
    contract = Contract(expected_behavior={"total": expected})
    left, right = (Observed(output_class="object", value={"total": each}) for each in (before, after))
    assert round(shift(contract, left, right).distance, 3) == distance
    assert shift(contract, left, right).distance == shift(contract, right, left).distance
