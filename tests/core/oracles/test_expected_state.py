"""The state oracle: how it is written, what meets it, and that damage beside it is never overlooked."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import World
from pipelines.core.oracles.expected_state import parse_expected_state, read_expected_state
from pipelines.core.text.json_text import pointer
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.oracles import Oracles
from pipelines.core.verdict.state_oracle import evaluate_expected_state
from pipelines.core.verdict.verdict import FailureMode, Status
from support.verdict_cases import add, call, flag, get_order, refund, remove, run, update


def broken(body, *trace, **axes):
    found = evaluate_expected_state(parse_expected_state(body), run(*trace, **axes))
    return [finding for finding in found if finding.status is Status.BROKEN]


REFUNDED = {"order.4521.status": "refunded"}
EDIT = [update("a.b@example.com", "user", tier="silver")]
edit = call(1, "update_user", updates=EDIT)
move = call(
    1, "update_user", updates=[update("a.b@example.com", "user", address={"city": "Bonn", "zip": "53111"})]
)
delete = call(1, "delete_order", updates=[remove("order", "7003")])
ticket = call(1, "create_ticket", updates=[add("ticket", "t-1", subject="Blue mug", status="open")])

MET = {
    "a dotted path": (REFUNDED, refund(1)),
    "nested objects": ({"order": {"4521": {"status": "refunded"}}}, refund(1)),
    "path, then object": ({"order.4521": {"status": {"$in": ["refunded", "closed"]}}}, refund(1)),
    "an id with dots, nested": ({"user": {"a.b@example.com": {"tier": "silver"}}}, edit),
    "an id with dots, as a pointer": ({"/user/a.b@example.com/tier": "silver"}, edit),
    "deep down": (
        {"/user/a.b@example.com/address/city": "Bonn", "/user/a.b@example.com/address/zip": {"$regex": "^5"}},
        move,
    ),
    "an entity removed": ({"order.7003": {"$exists": False}}, delete),
    "an entity added": ({"ticket.t-1": {"$exists": True}}, ticket),
    "an added entity by a field": ({"ticket.t-1.status": "open"}, ticket),
    "a new entity of any id": ({"ticket.<new>": {"subject": {"$contains": "mug"}}}, ticket),
    "a new entity, whatever it is": ({"ticket.<new>": {"$exists": True}}, ticket),
    "no new entity": ({"refund.<new>": {"$exists": False}, "order.4521.status": "refunded"}, refund(1)),
    "allowed beside it": (
        REFUNDED | {"allow": ["audit_log"]},
        refund(1, "4521", add("audit_log", "1", what="refund")),
    ),
    "allowed by a pattern": (
        REFUNDED | {"allow": ["order.*.updated_at"]},
        refund(1, "4521", update("9001", updated_at="today")),
    ),
    "unchanged beside it": (REFUNDED | {"order.9001": {"unchanged": True}}, refund(1)),
    "nothing changed at all": ({"unchanged": True}, get_order(1)),
    "changed and changed back": (
        {"unchanged": True},
        call(1, "x", updates=[update("4521", status="paid"), update("4521", status="shipped")]),
    ),
    "a flag set": ({"flags.outage": True}, call(1, "x", updates=[flag("outage")])),
    "a flag never set": ({"flags.outage": False, "order.4521.status": "refunded"}, refund(1)),
    "a flag unchanged": ({"flags.sale": {"unchanged": True}}, call(1, "x", updates=[flag("outage")])),
    "flags are no damage": (REFUNDED, refund(1, "4521", flag("refunded:4521"))),
    "1 is 1.0": (
        {"order.4521.amount": 80.0, "allow": ["order.4521.status"]},
        refund(1, "4521", update("4521", amount=80)),
    ),
    "a live read mirrored into the ledger": (
        {"unchanged": True},
        call(1, "get_order", source="passthrough", updates=[add("order", "5000", status="paid")]),
    ),
}


@pytest.mark.parametrize(("body", "row"), MET.values(), ids=MET)
def test_what_meets_it(body, row):
    assert broken(body, row) == []


UNMET = {
    "not done": (REFUNDED, get_order(1), "incomplete", 'should be "refunded", but is still "shipped"'),
    "done otherwise": (
        REFUNDED,
        call(1, "cancel_order", updates=[update("4521", status="cancelled")]),
        "wrong_action",
        'became "cancelled" in call 1 (cancel_order)',
    ),
    "its entity is gone": (
        REFUNDED,
        call(1, "delete_order", updates=[remove("order", "4521")]),
        "wrong_action",
        "is missing since call 1 (delete_order)",
    ),
    "an entity still there": (
        {"order.7003": {"$exists": False}},
        get_order(1),
        "incomplete",
        "should not exist",
    ),
    "an entity not added": ({"ticket.t-1": {"$exists": True}}, get_order(1), "incomplete", "should exist"),
    "no new entity": ({"ticket.<new>": {"subject": "x"}}, get_order(1), "incomplete", "none was"),
    "a new one, but another": (
        {"ticket.<new>": {"subject": "Red mug", "status": "open"}},
        ticket,
        "wrong_action",
        'subject should be "Red mug" but is "Blue mug"',
    ),
    "one too many": (
        {"ticket.<new>": {"status": "open"}},
        call(
            1, "create_ticket", updates=[add("ticket", "1", status="open"), add("ticket", "2", status="open")]
        ),
        "wrong_action",
        "more than the 1 expected",
    ),
    "one where none should be": (
        {"ticket.<new>": {"$exists": False}},
        ticket,
        "wrong_action",
        "more than the 0",
    ),
    "changed what had to stay": (
        REFUNDED | {"order.9001": {"unchanged": True}},
        refund(1, "4521", update("9001", status="refunded")),
        "wrong_action",
        "order.9001 should stay as it was, but order.9001.status changed",
    ),
    "a flag that had to stay": (
        {"flags.sale": {"unchanged": True}},
        call(1, "x", updates=[flag("sale", False)]),
        "wrong_action",
        "sale was cleared",
    ),
    "a flag not set": ({"flags.outage": {"$exists": True}}, get_order(1), "incomplete", "flags.outage"),
    "something changed": ({"unchanged": True}, refund(1), "wrong_action", 'from "shipped" to "refunded"'),
    "another field of the same entity": (
        REFUNDED,
        refund(1, "4521", update("4521", amount=0)),
        "wrong_action",
        "order.4521.amount changed from 79.5 to 0",
    ),
    "another part of the same object": (
        {"/user/a.b@example.com/address/city": "Bonn"},
        move,
        "wrong_action",
        'user["a.b@example.com"].address.zip changed from "10115" to "53111"',
    ),
    "an entity added beside it": (
        REFUNDED,
        refund(1, "4521", add("audit_log", "1")),
        "wrong_action",
        "audit_log.1 was added in call 1 (refund_order), which the task does not allow",
    ),
}


@pytest.mark.parametrize(("body", "row", "mode", "says"), UNMET.values(), ids=UNMET)
def test_what_does_not_meet_it(body, row, mode, says):
    (finding,) = broken(body, row)
    assert finding.failure_mode == mode
    assert says in finding.says
    assert finding.evidence == ((1,) if mode == FailureMode.WRONG_ACTION else ())


REASON = {"order_id": "4521", "reason": "damaged"}


def test_an_argument_that_reading_kept_is_no_damage_and_is_named():
    row = call(1, "refund_order", REASON, updates=[update("4521", status="refunded", reason="damaged")])
    assert broken(REFUNDED, row) == []
    *_, last = evaluate_expected_state(parse_expected_state(REFUNDED), run(row))
    assert "order.4521.reason was added in call 1 (refund_order)" in last.says


KEPT_AND_COUNTED = {
    "it is all that the call did": (REASON, {"reason": "damaged"}),
    "it is not what was given": (REASON, {"status": "refunded", "reason": "lost"}),
    "orders have such a field": (REASON | {"city": "Bonn"}, {"status": "refunded", "user_id": "damaged"}),
}


@pytest.mark.parametrize(("arguments", "changed"), KEPT_AND_COUNTED.values(), ids=KEPT_AND_COUNTED)
def test_what_else_changed_is_damage(arguments, changed):
    row = call(1, "refund_order", arguments, updates=[update("4521", **changed)])
    assert any(finding.failure_mode == "wrong_action" for finding in broken(REFUNDED, row))


def test_new_entities_are_matched_in_any_order():
    both = {"ticket.<new>": [{"subject": "A"}, {"subject": {"$regex": "^[AB]$"}}]}
    opened = call(
        1, "create_ticket", updates=[add("ticket", "1", subject="B"), add("ticket", "2", subject="A")]
    )
    assert broken(both, opened) == []


def test_damage_is_told_up_to_a_limit_and_never_dropped():
    body = {"unchanged": True}
    many = call(1, "x", updates=[add("junk", str(n)) for n in range(50)])
    found = broken(body, many)
    assert len(found) == 21
    assert found[-1].says.startswith("30 more values")


def test_only_the_calls_that_wrote_a_value_are_its_evidence():
    trace = (refund(1), call(2, "note", updates=[update("4521", note="x")]))
    (damage,) = broken(REFUNDED, *trace)
    assert damage.evidence == (2,)


REFUSALS = {
    "no object": (["order"], "", "JSON object"),
    "nothing asserted": ({}, "", "has no assertions"),
    "only allowed": ({"allow": ["x"]}, "", "has no assertions"),
    "an empty part": ({"order..status": "x"}, "/order..status", "empty"),
    "a type as a value": ({"order": "x"}, "/order", "entity type"),
    "an entity as a value": ({"order.4521": "refunded"}, "/order.4521", "entity"),
    "unchanged is false": ({"order.4521": {"unchanged": False}}, "/order.4521", "can only be true"),
    "asserted twice": (
        {"order.4521.status": "a", "order": {"4521": {"status": "b"}}},
        "/order/4521/status",
        "asserted twice",
    ),
    "a broken matcher": ({"order.4521.status": {"$eq": 1}}, "/order.4521.status/$eq", "is not a matcher"),
    "new in the wrong place": ({"order.<new>.status": "x"}, "/order.<new>.status", "in the place of an id"),
    "new is text": ({"order.<new>": "x"}, "/order.<new>", "object"),
    "allow is text": ({"unchanged": True, "allow": "x"}, "/allow", "array"),
    "allow holds a number": ({"unchanged": True, "allow": [5]}, "/allow/0", "paths"),
}


@pytest.mark.parametrize(("body", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_malformed_oracle_is_refused_where_it_is_wrong(body, place, says):
    with pytest.raises(Refused) as refused:
        parse_expected_state(body)
    (problem,) = refused.value.problems
    assert problem.path == "/expected_state" + place
    assert says in problem.message


PROVES_NOTHING = {
    "unchanged": {"unchanged": True},
    "already so": {"order.4521.status": "shipped"},
    "absent anyway": {"order.1": {"$exists": False}},
    "nothing new": {"ticket.<new>": {"$exists": False}},
}


@pytest.mark.parametrize("body", PROVES_NOTHING.values(), ids=PROVES_NOTHING)
def test_what_doing_nothing_would_meet_decides_nothing(body):
    assert not Oracles(state=parse_expected_state(body)).decide_completion(run())
    assert broken(body) == []


@pytest.mark.parametrize("body", [REFUNDED, {"ticket.<new>": {}}, {"order.7003": {"$exists": False}}])
def test_what_doing_nothing_would_miss_decides(body):
    assert Oracles(state=parse_expected_state(body)).decide_completion(run())


texts = st.text(alphabet="abc.*/~1é", min_size=1, max_size=4)
entities = st.dictionaries(texts, st.integers(0, 3), min_size=1, max_size=3)
worlds = st.dictionaries(
    texts, st.dictionaries(texts, entities, min_size=1, max_size=3), min_size=1, max_size=3
)


@settings(deadline=None, max_examples=60)
@given(worlds, st.data())
def test_an_unrelated_change_is_always_damage(state, data):
    kind = data.draw(st.sampled_from(sorted(state)))
    id = data.draw(st.sampled_from(sorted(state[kind])))
    name = data.draw(st.sampled_from(sorted(state[kind][id])))
    expected = {pointer((kind, id, name)): 7}
    done = update(id, kind, **{name: 7})
    axes = {"world": World.from_initial_state(state)}
    assert broken(expected, call(1, "x", updates=[done]), **axes) == []
    entities = [(k, i) for k in state for i in state[k] if (k, i) != (kind, id)]
    stray = [add("stray", "1"), update(id, kind, stray=1), *(remove(k, i) for k, i in entities)]
    stray += [update(i, k, **{n: 9}) for k, i in entities for n in state[k][i]]
    for one in stray:
        (damage,) = broken(expected, call(1, "x", updates=[done, one]), **axes)
        assert damage.failure_mode is FailureMode.WRONG_ACTION


words = texts | st.sampled_from(["allow", "unchanged", "$in", "$gte", "<new>", "order", "flags"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(words, below, max_size=3),
    max_leaves=8,
)


@given(anything)
def test_any_json_is_read_or_refused_with_problems(body):
    problems = []
    oracle = read_expected_state(body, path="", problems=problems)
    if not problems:
        assert evaluate_expected_state(oracle, run(refund(1)))
