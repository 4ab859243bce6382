"""The plan language: what may be written, and how problems are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.simulation.language import Plan, parse_plan
from pipelines.core.simulation.plan_verbs import VERBS
from pipelines.core.text.problems import Problem, Refused

FIND = {"find": {"as": "order", "in": "order", "id": "args.order_id"}}


def plan(*steps: object) -> Plan:
    return parse_plan(list(steps), origin="authored")  # type: ignore[arg-type]


def problems(*steps: object, **known: object) -> list[Problem]:
    with pytest.raises(Refused) as refused:
        parse_plan(list(steps), origin="authored", **known)  # type: ignore[arg-type]
    return refused.value.problems


EVERY_STEP = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id", "else": {"status": 404, "error": "gone"}}},
    {"find": {"as": "user", "in": "user", "where": "user.id == order.user_id", "optional": True}},
    {"find": {"as": "all_of", "in": "order", "all": True, "sort": ["-at", "id"], "limit": 10}},
    {"find": {"as": "line", "in": "order.items", "where": "line.sku == 'a'"}, "note": "the first such line"},
    {"require": "order.status == 'pending'", "else": {"status": 409, "error": "not_pending"}},
    {"let": {"total": "len(order.items)", "copy": {"...": "order", "[order.id]": [1, "now"]}}},
    {"set": {"order.items[0].price": 5, "line.sku": "'b'"}},
    {"unset": ["order.note"]},
    {"append": {"order.history": {"at": "now"}}},
    {"add": {"in": "ticket", "attrs": {"about": "order.id"}, "as": "ticket"}},
    {"remove": "order.items[0]"},
    {"flag": "'seen'"},
    {"unflag": "'unseen'"},
    {"for": "key, value", "in": "items(order)", "do": [{"let": {"total": "total + 1"}}]},
    {"if": "total > 5", "then": [{"fail": {"error": "too_much"}}], "else": [{"let": {"rest": 1}}]},
    {"return": {"order": "order", "rest": "rest"}, "status": 201},
]  # fmt: skip


def test_every_step_can_be_written_and_comes_back_as_it_was():
    assert {verb for step in EVERY_STEP for verb in step if verb in VERBS} | {"fail"} == set(VERBS)
    read = parse_plan(EVERY_STEP, origin="read")
    assert read.as_json() == EVERY_STEP
    assert read.origin == "read"
    described = {"steps": EVERY_STEP, "description": "All there is."}
    assert parse_plan(described, origin="model").as_json() == described


def test_a_switch_stands_for_itself_where_a_condition_is_needed():
    plan({"find": {"as": "order", "in": "order", "where": True, "sort": "-total"}}, {"return": "order"})
    plan({"require": True, "else": {"error": "never"}}, {"return": None})


def test_what_is_handed_out_can_be_changed_without_changing_the_plan():
    read = plan({"return": {"a": 1}})
    read.as_json()[0]["return"]["a"] = 2
    assert read.as_json() == [{"return": {"a": 1}}]


@pytest.mark.parametrize(
    ("steps", "path", "message", "hint"),
    [
        ([{"fnd": {}}], "/0/fnd", "`fnd` is not a step", "did you mean `find`?"),
        ([{}], "/0", "the step is empty", None),
        (["return"], "/0", "a step must be a mapping with one verb", None),
        ([{"set": {}, "let": {}}], "/0", "one step has `set` and `let`", "a separate step"),
        ([{"let": {"a": 1}, "else": {}}], "/0/else", "`else` cannot be combined with `let`", None),
        ([{"let": {"a": 1}, "note": 5}], "/0/note", "`note` must be text", None),
        ([{"require": "true"}], "/0", "`require` needs an `else`", "status: 409"),
        ([{"require": 5, "else": {"error": "x"}}], "/0/require", ("this must be an expression in "
            "a string"), None),
        ([{"fail": "no"}], "/0/fail", "a failure must be a mapping", None),
        ([{"fail": {"status": 409}}], "/0/fail", "a failure needs an `error`", None),
        ([{"fail": {"error": "Not Ok"}}], "/0/fail/error", "`error` must be one snake_case word", None),
        ([{"fail": {"error": "x", "status": 200}}], "/0/fail/status", "the status of a failure", None),
        ([{"fail": {"error": "x", "message": "{oops}"}}], "/0/fail/message", "`oops` is not defined", None),
        ([{"fail": {"error": "x", "mesage": "a"}}], "/0/fail/mesage", "unknown key `mesage`", "`message`"),
        ([{"return": 1, "status": 404}], "/0/status", "the status of a reply", "`fail`"),
        ([{"return": 1}, {"return": 2}], "/1", "this step is never reached", None),
        ([{"if": "now", "then": [{"return": 1}], "else": [{"return": 2}]}, FIND], "/1", "this", None),
        ([{"let": {"args": 1}}], "/0/let/args", "`args` is reserved", None),
        ([{"let": {"class": 1}}], "/0/let/class", "`class` is reserved", None),
        ([{"let": {"a b": 1}}], "/0/let/a b", "a name of letters", None),
        ([{"let": {"a": "b"}}], "/0/let/a", "`b` is not defined here", None),
        ([{"let": {"a": "round(1.5", "2)": None}}], "/0/let/a", "not an expression", "must be in quotes"),
        ([{"let": {"a": {"b": ["1", "c"]}}}], "/0/let/a/b/1", "`c` is not defined here", None),
        ([{"let": {"a": {"[c]": 1}}}], "/0/let/a/[c]", "`c` is not defined here", None),
        ([{"let": []}], "/0/let", "this must be a mapping", None),
        ([{"set": {"args.x": 1}}], "/0/set/args.x", "`args` cannot be changed", None),
        ([{"set": {"order.x": 1}}], "/0/set/order.x", "`order` is not defined here", None),
        ([FIND, {"set": {"order": 1}}], "/1/set/order", "`order` is a name, not a field", "`let`"),
        ([FIND, {"set": {"order.a/b": 1}}], "/1/set/order.a~1b", "this must be a path", None),
        ([FIND, {"set": {"len(order)": 1}}], "/1/set/len(order)", "this must be a path", None),
        ([FIND, {"remove": "odrer"}], "/1/remove", "`odrer` is not defined here", "did you mean `order`?"),
        ([FIND, {"unset": "order"}], "/1/unset", "`order` is a name, not a field", "`remove`"),
        ([{"find": {"as": "x", "in": "order"}}], "/0/find", "`find` needs `id` or `where`", "all: true"),
        ([{"find": {"as": "x", "in": "o", "id": "1", "where": "now"}}], "/0/find", "either `id` or", None),
        ([{"find": {"in": "order", "id": "1"}}], "/0/find/as", "a name of letters", None),
        ([{"find": {"as": "x", "id": "1"}}], "/0/find/in", "the name of an entity type", None),
        ([{"find": {"as": "x", "in": "o", "id": "1", "limit": 1}}], "/0/find/limit", "`limit` needs", None),
        ([{"find": {"as": "x", "in": "o", "all": 1}}], "/0/find/all", "`all` must be true or false", None),
        ([{"find": {"as": "x", "in": "o", "all": True, "optional": True}}], "/0/find/optional", "", None),
        ([{"find": {"as": "x", "in": "o", "where": "y.a"}}], "/0/find/where", "`y` is not defined", None),
        ([{"find": {"as": "x", "in": "o", "where": "x", "exact": True}}], "/0/find/exact", "needs", None),
        ([{"find": {"as": "x", "in": "o", "id": "1", "sort": 5}}], "/0/find/sort", "must name a field", None),
        ([{"let": {"a": 1}}, {"find": {"as": "x", "in": "a.b", "id": "1"}}], "/1/find/in", "`a.b`", None),
        ([{"for": "x", "in": "[1]"}], "/0", "`for` needs `do`", None),
        ([{"for": "x", "in": "[1]", "do": {}}], "/0/do", "this must be a list of steps", None),
        ([{"for": [1], "in": "[1]", "do": []}], "/0/for", "a name of letters", None),
        ([FIND, {"for": "order", "in": "[1]", "do": []}], "/1/for", "`order` is already defined", None),
        ([{"if": "true"}], "/0", "`if` needs `then`", None),
        ([{"return": 1, "rule": 5}], "/0/rule", "`rule` must be text", None),
        ([{"let": {"a": 1}, "rule": "At most two."}], "/0/rule", ("`rule` cannot be combined with "
            "`let`"), None),
        ([FIND | {"rule": ["one"]}], "/0/rule", "`rule` must be text", None),
        ([{"add": {"in": "t", "attrs": 5}}], "/0/add/attrs", "`attrs` must be a mapping", None),
        ([{"add": {"in": "t", "attr": {}}}], "/0/add/attr", "`attr`", "`attrs`"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(steps, path, message, hint):
    found = problems(*steps)
    match = next((one for one in found if one.path == f"/simulation{path}"), None)
    assert match is not None, found
    assert message in match.message
    assert hint is None or hint in (match.hint or "")


def test_everything_that_is_wrong_is_told_at_once():
    found = problems({"fnd": 1}, {"let": {"a": "b +"}}, {"return": {"x": "y", "z": "len()"}})
    assert [one.path for one in found] == [
        "/simulation/0/fnd",
        "/simulation/1/let/a",
        "/simulation/2/return/x",
        "/simulation/2/return/z",
    ]


@pytest.mark.parametrize(
    ("steps", "is_bound"),
    [
        ([{"if": "true", "then": [{"let": {"a": 1}}]}], False),
        ([{"if": "true", "then": [{"let": {"a": 1}}], "else": [{"let": {"a": 2}}]}], True),
        ([{"if": "true", "then": [{"let": {"a": 1}}], "else": [{"let": {"b": 2}}]}], False),
        ([{"if": "true", "then": [{"fail": {"error": "x"}}], "else": [{"let": {"a": 2}}]}], True),
        ([{"if": "true", "then": [{"let": {"a": 1}}], "else": [{"return": 1}]}], True),
        ([{"for": "i", "in": "[1]", "do": [{"let": {"a": 1}}]}], False),
        ([{"for": "a", "in": "[1]", "do": []}], False),
        ([{"let": {"a": 0}}, {"for": "i", "in": "[1]", "do": [{"let": {"a": "a + i"}}]}], True),
        ([{"add": {"in": "t", "as": "a"}}], True),
        ([{"find": {"as": "a", "in": "t", "id": "1", "optional": True}}], True),
    ],
    ids=lambda value: value if isinstance(value, bool) else None,
)
def test_a_name_is_known_only_where_every_way_binds_it(steps, is_bound):
    use = {"return": "a"}
    if is_bound:
        assert plan(*steps, use)
    else:
        assert "`a` is not defined here" in problems(*steps, use)[0].message


def test_the_candidate_of_find_hides_nothing_from_its_else():
    found = problems({"find": {"as": "x", "in": "t", "id": "1", "else": {"error": "e", "message": "{x.y}"}}})
    assert "`x` is not defined here" in found[0].message


def test_arguments_and_types_are_checked_where_they_are_known():
    steps = [{"find": {"as": "order", "in": "oder", "id": "args.oder_id"}}, {"return": "entities('usr')"}]
    plan(*steps)
    found = problems(*steps, argument_names=["order_id"], entity_types=["order", "user"])
    assert [(one.message, one.hint) for one in found] == [
        ("there is no entity type `oder`", "did you mean `order`?"),
        ("the tool has no argument `oder_id`", "did you mean `order_id`?"),
        ("there is no entity type 'usr'", "did you mean `user`?"),
    ]


@pytest.mark.parametrize("body", [None, 5, "return", {}, {"steps": {}}, {"stps": []}, [[]], [None]])
def test_what_is_no_plan_is_refused(body):
    with pytest.raises(Refused):
        parse_plan(body, origin="authored")


def test_a_plan_too_deep_or_too_long_is_refused():
    deep: object = {"return": 1}
    for _ in range(100):
        deep = {"if": "true", "then": [deep]}
    assert "nested deeper" in problems(deep)[0].message
    assert "at most 500 steps" in problems(*[{"let": {"a": 1}}] * 501)[0].message


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["args.a", "now", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*VERBS, "as", "in", "id", "do", "then", "else", "a"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.sampled_from(list(VERBS)), json, min_size=1, max_size=2), max_size=4))
def test_any_json_is_a_plan_or_is_refused_with_places(body):
    try:
        assert parse_plan(body, origin="model", path="/p").as_json() == body
    except Refused as refused:
        assert all(one.path.startswith("/p") and one.message for one in refused.problems)  # noqa: PT017
