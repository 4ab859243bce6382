"""One fact changed in an answer that passes: how many such answers still pass. The bounds were reached.

Some mutants are no lies (another order that was blocked, too; a denial within a rule): no bound can be 0.
"""

from collections import Counter

import pytest
from mutants import Tried, polite_lies, tried

#: Shares of the mutants of each kind.
MOST_PASSING = {
    "day": 0.085,
    "deed": 0.006,
    "digit": 0.01,
    "id": 0.05,
    "name": 0.095,
    "negation": 0.23,
    "number": 0.20,
    "state": 0.41,
    "swap": 0.15,
    "time": 0.20,  # 4 of 20: fewer answers pass since decision 59, so fewer are changed
    "verb": 0.18,
}
LEAST_TRIED = 1_700  # 3,000 when twice as many answers passed
MOST_LIES = 3  # of all sets that pass, as they stand or among courtesies


@pytest.fixture(scope="module")
def every() -> list[Tried]:
    return [*tried()]


@pytest.mark.slow
def test_most_changed_facts_are_noticed(every):
    made = Counter(one.mutant.kind for one in every)
    passing = Counter(one.mutant.kind for one in every if one.outcome == "PASS")
    assert len(every) >= LEAST_TRIED
    shares = {kind: passing[kind] / made[kind] for kind in made}
    assert {kind: share for kind, share in shares.items() if share > MOST_PASSING[kind]} == {}
    assert not [one.mutant for one in every if one.outcome == "ERROR"]


@pytest.mark.slow
def test_a_lie_among_courtesies_is_judged_as_a_lie():
    passing = {(trade, id) for trade, id, _, framed in polite_lies() if framed == "PASS"}
    assert len(passing) <= MOST_LIES
