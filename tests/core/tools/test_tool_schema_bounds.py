"""Schemas of tools that are deep, large or odd: refused, or answered and explained."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.limits.json_schema import MOST_PROBLEMS, CompiledSchema, schema_problems
from support.tool_bodies import TYPED, parse, problems


def test_a_tool_without_a_type_still_takes_only_objects():
    (tool,) = parse({"name": "f", "input_schema": {}})
    assert tool.accepts({"a": 1})
    assert not tool.accepts([1])


def test_a_long_value_or_list_does_not_flood_the_answer():
    long = TYPED.argument_problems({"order_id": "x" * 1_000_000})
    assert len(long[0].message) < 400
    many = TYPED.argument_problems({"order_id": "1", "lines": [{}] * 10_000})
    assert len(many) == MOST_PROBLEMS


def test_a_pattern_cannot_hold_up_a_call():
    """Backtracking is bounded: without a limit this pattern needs 2^5000 steps."""
    slow = CompiledSchema({"properties": {"a": {"pattern": "^(?=(a+)+$)(a+)+$"}}})
    assert not slow.accepts({"a": "a" * 5_000 + "!"})


RECURSIVE = {
    "itself": {"$ref": "#"},
    "in a circle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "a tree": {"properties": {"child": {"$ref": "#"}}},
    "under not": {"not": {"$ref": "#"}},
}


@pytest.mark.parametrize("schema", RECURSIVE.values(), ids=RECURSIVE)
def test_schemas_that_refer_to_themselves_end(schema):
    assert isinstance(CompiledSchema(schema).accepts(nested(60)), bool)


def doubling(levels, keyword):
    """Few definitions, each naming the next one twice."""
    defs = {f"a{i}": {keyword: [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(levels)}
    return {"$defs": defs | {f"a{levels}": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a0"}}}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_schema_that_unfolds_without_end_is_refused(keyword):
    (problem,) = problems({"name": "f", "input_schema": doubling(40, keyword)})
    assert "1,000,000 nodes" in problem.message


def test_a_chain_of_references_without_end_is_refused():
    chain = {f"a{i}": {"$ref": f"#/$defs/a{i + 1}"} for i in range(5_000)}
    assert schema_problems({"$defs": chain | {"a5000": {}}, "$ref": "#/$defs/a0"}, "", "it") != []


def test_what_would_take_long_to_explain_is_told_in_one_sentence():
    alternatives = {"anyOf": [{"$ref": "#"}, {"$ref": "#", "title": "or so"}]}
    (tree,) = parse({"name": "f", "input_schema": {"type": "object", "properties": {"child": alternatives}}})
    assert tree.argument_problems(nested(3)) == []
    assert [found.path for found in tree.argument_problems({"child": 5})] == ["/child"]
    assert [found.path for found in tree.argument_problems(nested(40, 5))] == [""]
    (broad,) = parse({"name": "f", "input_schema": doubling(15, "anyOf")})
    assert [found.path for found in broad.argument_problems({"x": 5})] == [""]


def test_a_simple_tree_is_explained_at_any_depth():
    (tree,) = parse({"name": "f", "input_schema": {"type": "object", "properties": {"child": {"$ref": "#"}}}})
    assert [found.path for found in tree.argument_problems(nested(40, 5))] == ["/child" * 40]


def test_a_property_may_be_named_like_a_keyword():
    names = {name: {"type": "string"} for name in ("$ref", "$id", "default", "enum", "properties")}
    assert parse({"name": "f", "input_schema": {"type": "object", "properties": names}})
    hidden = {"properties": {"default": {"$ref": "http://x/y"}}}
    assert [found.path for found in schema_problems(hidden, "", "it")] == ["/properties/default/$ref"]
    assert schema_problems({"default": {"$ref": "http://x/y", "$id": "data"}}, "", "it") == []


def nested(levels, leaf=None):
    tree = {} if leaf is None else leaf
    for _ in range(levels):
        tree = {"child": tree}
    return tree


DRAFTS = ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema"]


@pytest.mark.parametrize("draft", DRAFTS)
def test_older_drafts_are_read_by_their_own_rules(draft):
    schema = {"$schema": draft, "type": "object", "properties": {"a": {"format": "email"}}}
    assert schema_problems(schema, "", "x") == []
    assert CompiledSchema(schema).accepts({"a": "no address"}), "formats are annotations in every draft"
    assert schema_problems(schema | {"required": "a"}, "", "x") != []


KEYWORDS = """
type properties required additionalProperties items prefixItems enum const pattern minimum maxLength anyOf
oneOf allOf not if then else $ref $defs definitions $id $anchor $dynamicRef $dynamicAnchor $schema format
dependentRequired dependentSchemas patternProperties propertyNames minItems uniqueItems unevaluatedProperties
"""

keywords = st.sampled_from(KEYWORDS.split())

leaves = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1.5,
        "object",
        "string",
        "#",
        "#/$defs/a",
        "#a",
        "",
        "(",
        "^a+$",
        "http://x/y",
        "y",
    ]
)

schemas = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keywords, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "$ref"]), inner, max_size=2)
    ),
    max_leaves=20,
)


@given(schemas, schemas)
@settings(max_examples=400, deadline=None)
def test_a_schema_is_refused_or_can_be_used(schema, value):
    if not schema_problems(schema, "/x", "it"):
        compiled = CompiledSchema(schema)
        assert compiled.accepts(value) == (compiled.problems(value) == [])
