"""Superlatives: what they measure and which end of it they name."""

import pytest

from pipelines.core.english.measures import measures_in


@pytest.mark.parametrize(
    ("clause", "field", "is_most"),
    [
        ("the cheapest is carrot", "price_per_piece", False),
        ("tariq's team is the priciest", "hourly_rate", True),
        ("rex is the heaviest of the dogs", "weight_kg", True),
        ("raj is the most expensive", "rate", True),
        ("x-72 has the most points", "points", True),
        ("the oldest ticket is tk-9", "opened", False),
        ("the lighter of the two is mog", "weight", False),
        ("it has the lowest deposit", "deposit", False),
    ],
)
def test_a_superlative_measures_a_field_from_one_end(clause, field, is_most):
    (measure,) = measures_in(clause)
    assert measure.is_of(field)
    assert measure.is_most is is_most


@pytest.mark.parametrize(
    "clause", ["your latest request", "all the best", "the guest is in the west wing", "an honest answer"]
)
def test_words_that_only_look_like_one_are_none(clause):
    assert measures_in(clause) == ()
