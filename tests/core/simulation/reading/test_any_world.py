"""Any tool can be read over any world: the plan is always a valid one."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.simulation.invented_backends import ALL, DEVOPS, LIBRARY, NOTHING

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.domain.shapes import survey
from pipelines.core.simulation.domain.verbs import OP_OF_VERB
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.reading.assemble import read_plan, survey_for
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool


def test_a_survey_tells_tables_services_and_collections_apart() -> None:
    known = survey(World.from_initial_state(DEVOPS.state))
    assert list(known.tables) == ["cluster_deployments"]
    assert [one.entity_type for one in known.singletons] == ["cluster"]
    inside = {one.path: (one.form, one.of_records, one.is_empty) for one in known.collections if one.path}
    assert inside == {
        ("services",): ("map", True, False),
        ("incidents",): ("list", False, True),
        ("allowed_hosts",): ("list", False, False),
    }


JSON_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab_1#", max_size=4)


@settings(deadline=None, max_examples=40)  # forty tools are read for each world
@given(
    st.dictionaries(
        st.sampled_from(["order", "user", "shop"]),
        st.dictionaries(
            st.sampled_from(["self", "1", "o-2"]),
            st.dictionaries(
                st.sampled_from(["id", "status", "orders", "order_counter", "tags"]),
                JSON_SCALARS
                | st.lists(JSON_SCALARS, max_size=2)
                | st.dictionaries(st.sampled_from(["1", "a"]), JSON_SCALARS | st.just({"id": 1}), max_size=2),
                max_size=3,
            ),
            max_size=2,
        ),
        max_size=2,
    )
)
def test_any_world_can_be_read_for_any_tool(state: dict[str, Json]) -> None:
    world = World.from_initial_state(state)
    for backend in (LIBRARY, DEVOPS, NOTHING):
        known = survey_for(backend.tools, world=world)
        for one in backend.tools:
            found = read_plan(one, tools=backend.tools, world=world, known=known)
            parse_plan(list(found.body), origin="read")


_WORDS = st.sampled_from(
    [
        *sorted(OP_OF_VERB)[::7],
        "order",
        "books",
        "id",
        "status",
        "by",
        "to",
        "class",
        "args",
        "sum",
        "self",
        "x",
    ]
)
_SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a b": {"type": "string"}, "status": {}}},
        {"type": "string", "default": "it's"},
        {},
    ]
)
_OUTPUTS = st.sampled_from(
    [
        None,
        {"type": "boolean"},
        {"type": "array", "items": {"type": "object", "properties": {"id": {}, "x y": {"type": "string"}}}},
        {"type": "object", "properties": {"books": {"type": "array"}, "class": {"type": "string"}}},
    ]
)


@settings(deadline=None)  # each example reads a whole tool set
@given(
    st.lists(_WORDS, min_size=1, max_size=4).map("_".join),
    st.sampled_from(
        ["", 'Can only be called once. The status will be changed to "it\'s {done}". Refunds the payment.']
    ),
    st.dictionaries(
        st.lists(_WORDS, min_size=1, max_size=2).map("_".join) | st.text(max_size=5), _SCHEMAS, max_size=3
    ),
    _OUTPUTS,
    st.sampled_from(sorted(ALL)),
)
def test_any_tool_can_be_read_over_any_world(
    name: str, says: str, arguments: dict[str, Any], output: JsonObject | None, trade: str
) -> None:
    schema: JsonObject = {"type": "object", "properties": arguments, "required": list(arguments)[:1]}
    strange = Tool(name=name, description=says, input_schema=schema, output_schema=output)
    backend = ALL[trade]
    world = World.from_initial_state(backend.state)
    found = read_plan(strange, tools=(*backend.tools, strange), world=world)
    parse_plan(list(found.body), origin="read", argument_names=arguments)
