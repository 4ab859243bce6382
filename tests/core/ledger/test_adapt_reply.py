"""Ledger adapters at work: each sentence of their reference, and no reply or adapter that breaks anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.adapt_reply import adapt_reply
from pipelines.core.ledger.ledger import Add, Ledger, Remove, SetFlag, Update, World
from pipelines.core.ledger.ledger_adapter import OPERATIONS, LedgerAdapter
from pipelines.core.ledger.ledger_schema import parse_ledger_schema, update_problems
from pipelines.core.text.json_text import dumps

SCHEMA = parse_ledger_schema(
    {
        "entities": [
            {
                "type": "order",
                "id_field": "order_id",
                "fields": [
                    {"name": "order_id", "type": "string"},
                    {"name": "status", "type": "string", "enum": ["paid", "shipped"]},
                    {"name": "total", "type": "number"},
                    {"name": "skus", "type": "array"},
                    {"name": "open", "type": "boolean"},
                ],
            },
            {"type": "note", "id_field": "id"},
        ]
    }
)
CLOSED = parse_ledger_schema(
    {
        "entities": [{"type": "order", "id_field": "id"}],
        "flags": {"policy": "closed", "values": ["fetched:1"]},
    }
)
STATE = {"order": {"4521": {"status": "paid", "total": 10}}}
# The adapter that the reference prints.
MAPPED = {"status": "$.status", "total": "$.amount"}
PRINTED = LedgerAdapter(
    entity_type="order", id_from="$.order_id", field_map=MAPPED, flags=("fetched_order:{order_id}",)
)
LIVE = {"order_id": 4521, "status": "shipped", "amount": 49.5, "lines": [{"sku": "A"}, {"sku": "B"}]}


def order(**changes):
    whole = {"entity_type": "order", "id_from": "$.order_id"}
    return LedgerAdapter(**(whole | changes))


def adapt(adapter, response=LIVE, arguments=None, schema=SCHEMA, state=STATE):
    return adapt_reply(adapter, arguments or {}, response, Ledger(World.from_initial_state(state)), schema)


def test_the_printed_adapter_mirrors_an_order_and_sets_its_flag():
    updates, notes = adapt(PRINTED, arguments={"order_id": "4521"})
    assert updates == (
        Update(entity_type="order", id="4521", set={"status": "shipped", "total": 49.5}),
        SetFlag(flag="fetched_order:4521"),
    )
    assert notes == ()


def test_an_update_of_an_order_that_the_ledger_lacks_adds_it_and_says_so():
    updates, notes = adapt(PRINTED, state={}, arguments={"order_id": "4521"})
    assert updates[0] == Add(
        entity_type="order", id="4521", attrs={"order_id": "4521", "status": "shipped", "total": 49.5}
    )
    assert notes == ("ledger adapter: order `4521` was not in the ledger, so it was added",)


def test_an_add_writes_the_id_as_the_reply_has_it_where_the_schema_lets_it():
    adapter = LedgerAdapter(op="add", entity_type="note", id_from="$.id")
    assert adapt(adapter, {"id": 7}).updates == (Add(entity_type="note", id="7", attrs={"id": 7}),)
    assert adapt(adapter, {"id": 7.0}).updates == (Add(entity_type="note", id="7", attrs={"id": 7.0}),)
    assert adapt(adapter, {"id": 0.5}).updates == (Add(entity_type="note", id="0.5", attrs={"id": 0.5}),)


def test_a_remove_removes_and_still_sets_its_flags():
    updates, notes = adapt(order(op="remove", flags=("gone:{id}",)))
    assert (updates, notes) == ((Remove(entity_type="order", id="4521"), SetFlag(flag="gone:4521")), ())


def test_flags_alone_take_their_values_from_the_arguments():
    adapter = LedgerAdapter(op="set_flag", flags=("seen:{a}:{b}:{c}", "{id}", "plain"))
    updates, notes = adapt(adapter, "any text", {"a": 1.0, "b": True, "c": "x"})
    assert updates == (SetFlag(flag="seen:1:true:x"), SetFlag(flag="plain"))
    assert notes == ("ledger adapter: flag `{id}` is dropped: no value for {id}",)


def test_the_id_of_the_entity_is_stronger_than_an_argument_of_that_name():
    updates, _ = adapt(order(flags=("got:{id}",)), arguments={"id": "of the request"})
    assert SetFlag(flag="got:4521") in updates


NO_ID = {
    "nothing there": {"id": 1},
    "null": {"order_id": None},
    "an object": {"order_id": {"n": 1}},
    "an array": {"order_id": ["4521"]},
    "true": {"order_id": True},
    "an empty text": {"order_id": " "},
    "a text without end": {"order_id": "x" * 600},
    "a text instead of JSON": "<html>",
    "no object": [4521],
    "no value at all": None,
}


@pytest.mark.parametrize("response", NO_ID.values(), ids=NO_ID)
def test_a_reply_without_an_id_changes_nothing_not_even_flags(response):
    updates, (note,) = adapt(PRINTED, response, {"order_id": "4521"})
    assert updates == ()
    assert "`id_from` $.order_id" in note
    assert "nothing was changed" in note


# Each with what is set, and what the trace says.
SHIPPED = {"status": "shipped"}
FIELDS = {
    "a path that matches nothing skips its field": (
        {"total": "$.nothing", "status": "$.status"},
        SHIPPED,
        "`total` is left out: $.nothing matches nothing",
    ),
    "a value of another type skips its field": (
        {"total": "$.status", "status": "$.status"},
        SHIPPED,
        "`total` must be of type number, not `shipped`",
    ),
    "a value out of its enum skips its field": (
        {"status": "$.lines[0].sku", "total": "$.amount"},
        {"total": 49.5},
        "`status` must be `paid` or `shipped`, not `A`",
    ),
    "several values do not fit one field": (
        {"status": "$.lines[*].sku", "total": "$.amount"},
        {"total": 49.5},
        "$.lines[*].sku matches 2 values, not one",
    ),
    "text is not made a number": (
        {"total": "$.text", "open": "$.truth"},
        {},
        "`total` must be of type number, not `12`",
    ),
    "several values are a list": ({"skus": "$.lines[*].sku"}, {"skus": ["A", "B"]}, None),
    "one value of many possible is a list too": ({"skus": "$.lines[:1].sku"}, {"skus": ["A"]}, None),
    "one value of many possible is itself": ({"status": "$..status"}, {"status": "shipped"}, None),
    "a value as it is": ({"skus": "$.lines"}, {"skus": [{"sku": "A"}, {"sku": "B"}]}, None),
    "null is no value yet": ({"total": "$.none"}, {"total": None}, None),
}


@pytest.mark.parametrize(("field_map", "set", "said"), FIELDS.values(), ids=FIELDS)
def test_a_field_is_taken_or_left_out(field_map, set, said):
    response = LIVE | {"text": "12", "truth": "true", "none": None}
    updates, notes = adapt(order(field_map=field_map), response)
    assert updates == ((Update(entity_type="order", id="4521", set=set),) if set else ())
    if said is None:
        assert notes == ()
    else:
        assert any(said in note for note in notes)


NO_OPS = {
    "an add of what is there": (
        order(op="add", field_map=MAPPED),
        "is already in the ledger, so it was not added",
    ),
    "a remove of what is not there": (
        order(op="remove", id_from="$.amount"),
        "`49.5` is not in the ledger, so",
    ),
    "an update that changes nothing": (
        order(field_map={"total": "$.ten"}),
        "order `4521` already has these values",
    ),
    "a path that cannot be read": (order(id_from="order_id"), "id_from order_id is not a JSONPath"),
    "a type that is not declared": (order(entity_type="refund"), "declares no entity type `refund`"),
    "no type": (LedgerAdapter(id_from="$.order_id"), "declares no entity type ``"),
    "no path": (LedgerAdapter(entity_type="order"), "is not a JSONPath"),
    "a placeholder without a value": (LedgerAdapter(op="set_flag", flags=("a:{who}",)), "no value for {who}"),
    "a placeholder with a list": (LedgerAdapter(op="set_flag", flags=("a:{list}",)), "no value for {list}"),
    "a placeholder with null": (LedgerAdapter(op="set_flag", flags=("a:{none}",)), "no value for {none}"),
    "a flag of a megabyte": (LedgerAdapter(op="set_flag", flags=("a:{long}",)), "over 512 characters"),
    "a flag of nothing": (LedgerAdapter(op="set_flag", flags=("{empty}",)), "empty or over"),
    "an operation of another version": (order(op="upsert"), "already has these values"),
}


@pytest.mark.parametrize(("adapter", "said"), NO_OPS.values(), ids=NO_OPS)
def test_what_does_nothing_is_noted(adapter, said):
    arguments = {"list": [1], "none": None, "long": "x" * 1_000_000, "empty": ""}
    updates, (note,) = adapt(adapter, LIVE | {"ten": 10.0}, arguments)
    assert updates == ()
    assert said in note


def test_closed_flags_stay_closed_and_a_flag_is_set_once():
    adapter = LedgerAdapter(op="set_flag", flags=("fetched:{n}", "fetched:{n}"))
    assert adapt(adapter, arguments={"n": 2}, schema=CLOSED).updates == ()
    assert adapt(adapter, arguments={"n": 1}, schema=CLOSED).updates == (SetFlag(flag="fetched:1"),)
    raised = adapt(adapter, arguments={"n": 1}, schema=CLOSED, state={"flags": {"fetched:1": True}})
    assert raised.updates == ()
    assert "flag `fetched:1` is already set" in raised.notes[0]


def test_a_path_that_looks_at_everything_again_and_again_is_given_up_alone():
    bomb = order(field_map={"status": "$.status", "total": "$.all[?count($.all[*]) > 3]"})
    updates, notes = adapt(bomb, LIVE | {"all": list(range(5000))})
    assert updates == (Update(entity_type="order", id="4521", set={"status": "shipped"}),)
    assert "more than 20000 values" in notes[0]


def test_without_a_ledger_schema_every_value_fits():
    updates, _ = adapt(PRINTED, {"order_id": "x", "status": 5}, schema=None)
    assert updates == (Add(entity_type="order", id="x", attrs={"status": 5}),)


names = st.sampled_from(["order_id", "status", "total", "amount", "skus", "id", "open"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
)
known = st.sampled_from(["4521", 4521, "shipped", "paid"])
responses = st.recursive(
    scalars | known,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=12,
)
paths = st.sampled_from(
    ["$", "$.order_id", "$.status", "$..*", "$.*", "$[?@.id]", "$[0]", "$[?@ == $.id]", "no path", "$["]
) | st.text(max_size=12)
templates = st.sampled_from(["a:{id}", "{order_id}", "{", "{}", "{{id}}", "plain"]) | st.text(max_size=8)
adapters = st.builds(
    LedgerAdapter,
    op=st.sampled_from(OPERATIONS),
    entity_type=st.sampled_from(["order", "note", "refund", None]),
    id_from=st.none() | paths,
    field_map=st.dictionaries(names, paths, max_size=4),
    flags=st.lists(templates, max_size=3).map(tuple),
)


@given(
    adapters,
    st.dictionaries(names, responses, max_size=4),
    responses,
    st.sampled_from([SCHEMA, CLOSED, None]),
)
def test_any_reply_under_any_adapter_leaves_a_ledger_that_fits_its_schema(
    adapter, arguments, response, schema
):
    ledger = Ledger(World.from_initial_state(STATE))
    given_as = dumps([arguments, response])
    first = adapt_reply(adapter, arguments, response, ledger, schema)
    assert adapt_reply(adapter, arguments, response, ledger, schema) == first
    assert dumps([arguments, response]) == given_as
    assert first.updates or first.notes or (adapter.op == "set_flag" and not adapter.flags)
    assert not any("Error" in note or "Exception" in note for note in first.notes)
    for update in first.updates if schema is not None else ():
        assert update_problems(schema, update) == []
    ledger.draft().apply(first.updates)  # raises where an update does not fit the world
    dumps([update.as_json() for update in first.updates])
