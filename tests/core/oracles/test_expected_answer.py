"""The answer oracle: values that the agent has to give, as data or in its own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.oracles.expected_answer import MAX_VALUES, parse_expected_answer, read_expected_answer
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.answer_oracle import evaluate_expected_answer
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.oracles import oracles_of
from pipelines.core.verdict.verdict import FailureMode, Status


def findings(body, *said, answer=None, now="2026-05-02T12:00:00Z"):
    run = RunEvidence(user_instruction="x", expected_answer=body, responses=said, answer=answer, now=now)
    return evaluate_expected_answer(parse_expected_answer(body), run)


def is_met(body, *said, answer=None):
    return all(found.status is Status.HELD for found in findings(body, *said, answer=answer))


IN_PROSE = {
    "a text": ("refunded", ["Order 4521 is refunded."]),
    "in any case": ("refunded", ["REFUNDED, as you asked."]),
    "in markup": ("refunded", ["The status is **refunded**."]),
    "with spaces for underscores": ("in_transit", ["It is in transit."]),
    "with a hyphen for a space": ("in transit", ["It is in-transit."]),
    "across lines": ("in transit", ["It is in\ntransit."]),
    "an id": ("ORD-4521", ["I looked at ord-4521."]),
    "an id behind its sign": ("4521", ["Order #4521 is on its way."]),
    "an id behind its word": ("4521", ["That is order no 4521."]),
    "a number": (79.5, ["You get $79.50 back."]),
    "a number written elsewhere": (79.5, ["Sie erhalten 79,50 €."]),
    "a number in words": (79.5, ["You get seventy-nine dollars and fifty cents back."]),
    "a whole number": (3, ["There are three of them."]),
    "a day": ("2026-05-03", ["It arrives on May 3rd."]),
    "a day told from today": ({"$date": "2026-05-03"}, ["It arrives tomorrow."]),
    "a range": ({"$gte": 70, "$lte": 80}, ["It costs $79.50."]),
    "a number within a tolerance": ({"$number": {"value": 80, "tolerance": 1}}, ["About $79.50."]),
    "one of several": ({"$in": ["refunded", "reversed"]}, ["The charge was reversed."]),
    "either of two kinds": ({"$any_of": [{"$number": 0}, "none"]}, ["There are none."]),
    "all of several": ({"$all_of": ["blue", {"$number": 3}]}, ["Three of the blue ones."]),
    "a pattern": ({"$regex": "(?i)track.*[0-9]{3}"}, ["Tracking number 123."]),
    "a text within": ({"$text": "gold member"}, ["You are a Gold  Member now."]),
    "in an earlier turn": ("refunded", ["It is refunded.", "You are welcome."]),
    "in the last turn": ({"value": "refunded", "in": "final"}, ["Let me see.", "It is refunded."]),
    "in a list, below what is denied": ("shipped", ["- Delayed: no\n- Shipped: yes"]),
    "on the line below what is denied": ("shipped", ["Delayed: no\nShipped"]),
    "behind a dash": ("shipped", ["Delayed: no - shipped yesterday"]),
    "said twice, once denied": ("shipped", ["It was not shipped yesterday; it has shipped today."]),
    "after a sentence that denies something else": ("shipped", ["Delayed? It is not. Shipped: today."]),
}


@pytest.mark.parametrize(("value", "said"), IN_PROSE.values(), ids=IN_PROSE)
def test_what_is_found_in_prose(value, said):
    assert is_met({"it": value}, *said)


NOT_IN_PROSE = {
    "another text": ("refunded", ["It is cancelled."]),
    "part of a word": ("paid", ["It is unpaid."]),
    "part of an id": ("4521", ["That is order 45210."]),
    "part of a number": ("4521", ["It costs 4521.50."]),
    "part of a date": ("05", ["It came on 2026-05-03."]),
    "denied": ("shipped", ["It has not shipped."]),
    "denied with a short form": ("shipped", ["It hasn’t shipped."]),
    "denied in the passive": ("refunded", ["It has not been refunded."]),
    "not yet so": ("shipped", ["It is not yet shipped."]),
    "no longer so": ("active", ["It is no longer active."]),
    "never so": ("shipped", ["It was never shipped."]),
    "not at all so": ("refundable", ["The ticket is non-refundable."]),
    "another id, said not to be it": ("4521", ["It is not 4521 but 4522."]),
    "another number": (79.5, ["You get $79.05 back."]),
    "another day": ("2026-05-03", ["It arrives on May 4th."]),
    "only one of all": ({"$all_of": ["blue", "large"]}, ["The blue one."]),
    "too early": ({"value": "refunded", "in": "final"}, ["It is refunded.", "You are welcome."]),
    "a boolean": (True, ["That is true."]),
    "null": (None, ["It is null."]),
    "one of marks": ({"$in": ["#", "refunded"]}, ["Order #4521."]),
    "nothing said": ("refunded", []),
}


@pytest.mark.parametrize(("value", "said"), NOT_IN_PROSE.values(), ids=NOT_IN_PROSE)
def test_what_is_not_found_in_prose(value, said):
    assert not is_met({"it": value}, *said)


AS_DATA = {
    "the value": ("refunded", "refunded"),
    "in any case": ("refunded", "Refunded"),
    "with a space": ("in_transit", "in transit"),
    "an id with its sign": ("4521", "#4521"),
    "a number for a text": ("4521", 4521),
    "a text for a number": (79.5, "79.50"),
    "an amount for a number": (79.5, "$79.50"),
    "a number": (79.5, 79.5),
    "a day": ("2026-05-03", "2026-05-03"),
    "a day in words": ({"$date": "2026-05-03"}, "May 3rd, 2026"),
    "a boolean": (True, True),
    "null": (None, None),
    "a range": ({"$gte": 70}, 79.5),
    "an item of a list": ({"$contains": "a"}, ["a", "b"]),
    "one of several": ({"$in": ["refunded", "reversed"]}, "Reversed"),
}


@pytest.mark.parametrize(("value", "given"), AS_DATA.values(), ids=AS_DATA)
def test_what_data_meets(value, given):
    assert is_met({"it": value}, "Done.", answer={"it": given})


NOT_AS_DATA = {
    "another text": ("refunded", "cancelled"),
    "more than the text": ("refunded", "partially refunded"),
    "another number": (79.5, 79),
    "a boolean for a number": (1, True),
    "false for null": (None, False),
    "a number for a boolean": (True, 1),
    "a list for a text": ("a", ["a"]),
    "an object for a text": ("a", {"a": "a"}),
    "another day": ("2026-05-03", "2026-05-04"),
}


@pytest.mark.parametrize(("value", "given"), NOT_AS_DATA.values(), ids=NOT_AS_DATA)
def test_what_data_does_not_meet_though_the_prose_does(value, given):
    assert not is_met({"it": value}, "It is refunded: $79.50, a, 1, 2026-05-03.", answer={"it": given})


WHOLE = '{"status": "refunded", "amount": "79.50"}'
ASKED = {"status": "refunded", "amount": 79.5}


@pytest.mark.parametrize(
    "said", [WHOLE, f"Here you are:\n```json\n{WHOLE}\n```\nAnything else?", f"```\n{WHOLE}\n```"]
)
def test_a_final_response_that_is_json_is_data(said):
    assert is_met(ASKED, said)
    assert is_met({"done": True}, said.replace('"refunded"', '"refunded", "done": true'))


def test_two_objects_in_an_answer_are_prose_since_neither_is_the_answer():
    said = '```json\n{"done": true}\n```\n```json\n{"done": false}\n```'
    assert not is_met({"done": True}, said)


def test_a_key_that_the_data_lacks_is_looked_for_in_the_prose():
    assert is_met(ASKED, "You get $79.50 back.", answer={"status": "refunded"})
    assert not is_met(ASKED, "You get it back.", answer={"status": "refunded"})


def test_metadata_goes_before_the_final_response():
    assert is_met({"status": "refunded"}, '{"status": "cancelled"}', answer={"status": "refunded"})
    assert is_met(ASKED, '{"amount": 79.5}', answer={"status": "refunded"})


def test_data_that_is_no_object_is_ignored():
    assert is_met({"status": "refunded"}, "It is refunded.", answer="cancelled")


def test_a_finding_for_each_value_says_what_was_expected_and_what_was_found():
    found = findings({"status": "refunded", "amount": 79.5, "done": True}, "It is refunded: $80.")
    assert [one.check for one in found] == ["expected_answer"] * 3
    assert [one.status for one in found] == [Status.HELD, Status.BROKEN, Status.BROKEN]
    assert [one.failure_mode for one in found] == [None, FailureMode.INCOMPLETE, FailureMode.INCOMPLETE]
    assert found[0].says == 'The answer gives status as expected: "refunded".'
    assert found[1].says == "The answer's amount should be 79.5, but the nearest number in the answer is 80."
    assert found[2].says == (
        "The answer's done should be true, but the agent's data does not have it, and prose cannot give it."
    )


SAYS = [
    (
        "refunded",
        ["It is cancelled."],
        None,
        'The answer\'s status should be "refunded", but the answer does not give it.',
    ),
    (
        "refunded",
        ["One.", "Two."],
        None,
        'The answer\'s status should be "refunded", but no turn gives it.',
    ),
    (
        {"value": "refunded", "in": "final"},
        ["It is refunded.", "Two."],
        None,
        'The final response\'s status should be "refunded", but the answer does not give it.',
    ),
    (
        "shipped",
        ["It was not shipped."],
        None,
        'The answer\'s status should be "shipped", but the answer only says the opposite.',
    ),
    (
        "2026-05-03",
        ["It comes on May 4th, 2026."],
        None,
        'The answer\'s status should be "2026-05-03", but the day in the answer is 2026-05-04.',
    ),
    (
        {"$gte": 70},
        ["Fine."],
        {"status": 60},
        "The answer's status should be at least 70, but the agent's data has 60.",
    ),
    (79.5, ["Fine."], {"status": 80}, "The answer's status should be 79.5, but the agent's data has 80."),
]


@pytest.mark.parametrize(("value", "said", "answer", "says"), SAYS)
def test_what_a_broken_finding_says(value, said, answer, says):
    (found,) = findings({"status": value}, *said, answer=answer)
    assert (found.status, found.says) == (Status.BROKEN, says)


def test_where_it_was_found_is_told():
    (in_turn,) = findings({"it": "refunded"}, "One.", "It is refunded.", "Three.")
    assert in_turn.says == 'The answer gives it as expected in turn 2: "refunded".'
    (in_data,) = findings({"it": 79.5}, "One.", answer={"it": "79.50"})
    assert in_data.says == 'The answer gives it as expected in its data: "79.50".'


MALFORMED = {
    "no object": (["refunded"], "", "must be a JSON object, not an array"),
    "nothing": ({}, "", "is empty"),
    "an empty text": ({"a": " "}, "/a", "empty"),
    "a text of marks": ({"a": "#"}, "/a", "only punctuation"),
    "an array": ({"a": ["b"]}, "/a", "a text, a number, true, false, null or a matcher, not an array"),
    "an object": ({"a": {"b": 1}}, "/a/b", "unknown field `b`"),
    "an object without a value": ({"a": {"in": "final"}}, "/a/value", "missing"),
    "a place that there is not": ({"a": {"value": 1, "in": "first"}}, "/a/in", 'can only be "final"'),
    "an unknown matcher": ({"a": {"$nummer": 5}}, "/a/$nummer", "is not a matcher"),
    "a malformed matcher": ({"a": {"value": {"$number": "x"}}}, "/a/value/$number", "needs a number"),
    "what silence meets": ({"a": {"$exists": False}}, "/a/$exists", "almost any answer would meet it"),
    "what any text meets": (
        {"a": {"$any_of": ["b", {"$not": "c"}]}},
        "/a/$any_of/1/$not",
        "almost any answer would",
    ),
    "a text that no answer has": ({"a": "x" * 1_001}, "/a", "at most 1,000 are allowed"),
    "one of texts that no answer has": ({"a": {"$in": ["x" * 1_001]}}, "/a/$in/0", "at most 1,000"),
    "a name that no reader takes in": ({"x" * 101: 1}, "/" + "x" * 101, "at most 100 are allowed"),
    "too many": ({f"v{n}": n for n in range(MAX_VALUES + 1)}, "", "at most 100 are allowed"),
}


@pytest.mark.parametrize(("body", "place", "says"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_is_refused_with_its_place(body, place, says):
    with pytest.raises(Refused) as refused:
        parse_expected_answer(body)
    assert any(
        problem.path == f"/expected_answer{place}" and says in problem.message
        for problem in refused.value.problems
    )


def test_all_problems_are_told_at_once():
    problems = []
    read = read_expected_answer({"a": "", "b": [], "c": 1}, path="/x", problems=problems)
    assert [problem.path for problem in problems] == ["/x/a", "/x/b"]
    assert [value.name for value in read.values] == ["c"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.dictionaries(st.text(), x)
    )
)
def test_reading_never_raises(body):
    read_expected_answer(body, path="", problems=[])


def test_an_expected_answer_is_an_oracle_that_decides_completion():
    run = RunEvidence(user_instruction="x", expected_answer=ASKED, responses=("Refunded: $79.50.",))
    oracles = oracles_of(run)
    assert oracles.decide_completion(run)
    assert [found.status for found in oracles.findings(run)] == [Status.HELD, Status.HELD]
    with pytest.raises(Refused):
        oracles_of(RunEvidence(user_instruction="x", expected_answer={}))
