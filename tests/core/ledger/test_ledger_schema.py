"""The ledger schema: reading one, and what it allows of worlds and updates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Add, Remove, SetFlag, Update
from pipelines.core.ledger.ledger_schema import (
    FIELD_TYPES,
    is_of_type,
    parse_ledger_schema,
    state_problems,
    update_problems,
)
from pipelines.core.text.problems import Refused

ORDER = {
    "type": "order",
    "id_field": "order_id",
    "description": "A purchase.",
    "fields": [
        {"name": "status", "type": "string", "enum": ["paid", "shipped"], "description": "Where it is."},
        {"name": "total", "type": "number"},
        {"name": "quantity", "type": "integer"},
        {"name": "gift", "type": "boolean"},
        {"name": "address", "type": "object"},
        {"name": "lines", "type": "array"},
        {"name": "note", "type": "string"},
    ],
}
USER = {"type": "user", "id_field": "user_id"}
BODY = {"entities": [ORDER, USER], "flags": {"policy": "closed", "values": ["outage", "sale"]}}
SCHEMA = parse_ledger_schema(BODY)


def entities(*bodies):
    return {"entities": list(bodies)}


def order(*fields):
    return entities({"type": "order", "id_field": "id", "fields": list(fields)})


def test_a_schema_is_written_as_it_was_read():
    assert SCHEMA.as_json() == BODY
    assert parse_ledger_schema(entities(USER)).as_json() == entities(USER)


def test_null_is_an_open_ledger():
    assert parse_ledger_schema(None) is None


def test_flags_are_open_unless_closed():
    assert parse_ledger_schema(entities()).allows_flag("anything")
    assert parse_ledger_schema({"entities": [], "flags": {"policy": "open", "values": ["a"]}}).allows_flag(
        "b"
    )
    assert not SCHEMA.allows_flag("anything")
    assert SCHEMA.allows_flag("sale")


REFUSALS = {
    "no object": ([], "", "object"),
    "no entities": ({}, "/entities", "missing"),
    "entities is an object": ({"entities": {"order": {}}}, "/entities", "array"),
    "unknown key": ({"entities": [], "flag": {}}, "/flag", "unknown field"),
    "an entity is text": (entities("order"), "/entities/0", "object"),
    "no type": (entities({"id_field": "id"}), "/entities/0/type", "missing"),
    "empty type": (entities({"type": " ", "id_field": "id"}), "/entities/0/type", "empty"),
    "type twice": (entities(USER, USER), "/entities/1/type", "twice"),
    "no id_field": (entities({"type": "order"}), "/entities/0/id_field", "missing"),
    "unknown key of an entity": (entities(USER | {"key": 1}), "/entities/0/key", "unknown field"),
    "fields is an object": (entities(USER | {"fields": {}}), "/entities/0/fields", "array"),
    "a field without name": (order({"type": "string"}), "/entities/0/fields/0/name", "missing"),
    "a field without type": (order({"name": "a"}), "/entities/0/fields/0/type", "missing"),
    "an unknown field type": (order({"name": "a", "type": "date"}), "/entities/0/fields/0/type", "date"),
    "a field twice": (
        order({"name": "a", "type": "string"}, {"name": "a", "type": "number"}),
        "/entities/0/fields/1/name",
        "twice",
    ),
    "unknown key of a field": (
        order({"name": "a", "type": "string", "required": True}),
        "/entities/0/fields/0/required",
        "unknown field",
    ),
    "enum is text": (
        order({"name": "a", "type": "string", "enum": "x"}),
        "/entities/0/fields/0/enum",
        "array",
    ),
    "enum is empty": (
        order({"name": "a", "type": "string", "enum": []}),
        "/entities/0/fields/0/enum",
        "empty",
    ),
    "enum of objects": (
        order({"name": "a", "type": "object", "enum": [{}]}),
        "/entities/0/fields/0/enum",
        "scalars",
    ),
    "enum of another type": (
        order({"name": "a", "type": "string", "enum": ["x", 1]}),
        "/entities/0/fields/0/enum",
        "`1` is not of type string",
    ),
    "flags is a list": ({"entities": [], "flags": ["a"]}, "/flags", "object"),
    "flags without policy": ({"entities": [], "flags": {"values": []}}, "/flags/policy", "missing"),
    "unknown policy": ({"entities": [], "flags": {"policy": "shut"}}, "/flags/policy", "shut"),
    "a flag twice": (
        {"entities": [], "flags": {"policy": "closed", "values": ["a", "a"]}},
        "/flags/values",
        "2 times",
    ),
    "a flag that is a number": (
        {"entities": [], "flags": {"policy": "closed", "values": [1]}},
        "/flags/values/0",
        "strings",
    ),
    "101 entities": (
        entities(*({"type": f"t{i}", "id_field": "id"} for i in range(101))),
        "/entities",
        "at most 100",
    ),
    "101 fields": (
        order(*({"name": f"f{i}", "type": "string"} for i in range(101))),
        "/entities/0/fields",
        "at most 100",
    ),
}


@pytest.mark.parametrize(("body", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_schema_is_refused_where_it_is_wrong(body, place, says):
    with pytest.raises(Refused) as refused:
        parse_ledger_schema(body)
    (problem,) = refused.value.problems
    assert problem.path == "/ledger_schema" + place
    assert says in problem.message


def test_a_hundred_of_each_are_fine():
    fields = [{"name": f"f{i}", "type": "string"} for i in range(100)]
    body = entities(*({"type": f"t{i}", "id_field": "id", "fields": fields} for i in range(100)))
    assert len(parse_ledger_schema(body).entities) == 100


def test_all_problems_come_at_once():
    with pytest.raises(Refused) as refused:
        parse_ledger_schema({"entities": [{"typ": "order"}, {"type": "user", "fields": [{}]}], "x": 1})
    assert [problem.path for problem in refused.value.problems] == [
        "/ledger_schema/x",
        "/ledger_schema/entities/0/typ",
        "/ledger_schema/entities/0/type",
        "/ledger_schema/entities/0/id_field",
        "/ledger_schema/entities/1/id_field",
        "/ledger_schema/entities/1/fields/0/name",
        "/ledger_schema/entities/1/fields/0/type",
    ]


VALUES = {
    "string": ["", "x"],
    "number": [0, 1.5, -3],
    "integer": [0, -3, 3.0],
    "boolean": [True, False],
    "object": [{}, {"a": 1}],
    "array": [[], [1]],
}
EVERYTHING = [value for values in VALUES.values() for value in values] + [None]


@pytest.mark.parametrize("type", FIELD_TYPES)
def test_types_are_those_of_json_schema(type):
    allowed = VALUES[type] + (VALUES["integer"] if type == "number" else [])
    allowed += [0, -3] if type == "integer" else []
    for value in EVERYTHING:
        expected = any(
            value is other or (value == other and value.__class__ is other.__class__) for other in allowed
        )
        assert is_of_type(value, type) == expected, value


STATES = {
    "all as declared": ({"order": {"1": {"status": "paid", "total": 5, "lines": []}}, "user": {}}, []),
    "undeclared attributes are free": ({"order": {"1": {"colour": 5}}, "user": {"u": {"x": []}}}, []),
    "null is no value yet": ({"order": {"1": {"total": None, "note": None}}}, []),
    "null must be in an enum": ({"order": {"1": {"status": None}}}, ["/order/1/status"]),
    "not in the enum": ({"order": {"1": {"status": "lost"}}}, ["/order/1/status"]),
    "of another type": ({"order": {"1": {"total": "5", "gift": 1}}}, ["/order/1/total", "/order/1/gift"]),
    "a boolean is no number": (
        {"order": {"1": {"total": True, "quantity": False}}},
        ["/order/1/quantity", "/order/1/total"],
    ),
    "an undeclared type": ({"orders": {"1": {}}}, ["/orders"]),
    "ids are escaped in paths": ({"order": {"a/b": {"total": "x"}}}, ["/order/a~1b/total"]),
    "declared flags": ({"flags": {"outage": True}}, []),
    "undeclared flags": ({"flags": {"outgae": True, "sale": False}}, ["/flags/outgae"]),
}


@pytest.mark.parametrize(("state", "places"), STATES.values(), ids=STATES)
def test_what_a_world_may_hold(state, places):
    found = state_problems(SCHEMA, state, "/initial_state")
    assert sorted(problem.path for problem in found) == sorted("/initial_state" + place for place in places)


@pytest.mark.parametrize(
    ("written", "meant"), [("orders", "order"), ("Order", "order"), ("ordre", "order"), ("users", "user")]
)
def test_an_entity_type_written_otherwise_is_recognised(written, meant):
    (problem,) = state_problems(SCHEMA, {written: {}}, "")
    assert problem.hint == f"did you mean `{meant}`?"


def test_messages_name_the_entity_and_what_is_allowed():
    (problem,) = state_problems(SCHEMA, {"order": {"o-1": {"status": "lost"}}}, "")
    assert problem.message == "order `o-1`: `status` must be `paid` or `shipped`, not `lost`"


UPDATES = {
    "add": (Add(entity_type="order", id="1", attrs={"status": "paid"}), []),
    "add a wrong value": (Add(entity_type="order", id="1", attrs={"status": 5}), ["/attrs/status"]),
    "update a wrong value": (Update(entity_type="order", id="1", set={"total": "x"}), ["/set/total"]),
    "unset is free": (Update(entity_type="order", id="1", unset=("status",)), []),
    "remove": (Remove(entity_type="order", id="1"), []),
    "an undeclared type": (Remove(entity_type="ordr", id="1"), ["/entity_type"]),
    "a declared flag": (SetFlag(flag="sale"), []),
    "an undeclared flag": (SetFlag(flag="storm"), ["/flag"]),
}


@pytest.mark.parametrize(("update", "places"), UPDATES.values(), ids=UPDATES)
def test_what_an_update_may_write(update, places):
    assert [problem.path for problem in update_problems(SCHEMA, update)] == places


@given(st.dictionaries(st.sampled_from(["status", "total", "quantity", "gift"]), st.sampled_from(EVERYTHING)))
def test_a_world_and_the_update_that_adds_to_it_are_judged_alike(attrs):
    of_state = state_problems(SCHEMA, {"order": {"1": attrs}}, "")
    of_update = update_problems(SCHEMA, Add(entity_type="order", id="1", attrs=attrs))
    assert [problem.message for problem in of_state] == [problem.message for problem in of_update]


def test_an_enum_holds_true_and_1_apart_but_1_and_1_0_together():
    fields = [{"name": "x", "type": "number", "enum": [1, 2.0]}]
    schema = parse_ledger_schema({"entities": [{"type": "order", "id_field": "id", "fields": fields}]})
    fits = schema.entities["order"].fields["x"].complaint
    assert fits(1.0) is None
    assert fits(2) is None
    assert all(map(fits, [True, [1], None]))


def test_a_thousand_wrong_values_of_a_long_enum_are_told_in_few_words():
    fields = [{"name": "x", "type": "string", "enum": [f"value {at}" for at in range(20_000)]}]
    schema = parse_ledger_schema({"entities": [{"type": "order", "id_field": "id", "fields": fields}]})
    found = list(state_problems(schema, {"order": {str(at): {"x": "wrong"} for at in range(1000)}}, ""))
    assert len(found) == 1000
    assert sum(len(problem.message) for problem in found) < 3_000_000
    assert "or one of 19,900 others" in found[0].message
