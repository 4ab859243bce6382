"""Whatever was recorded, learning ends with plans that the language accepts and figures that are true."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.core.simulation.learning.choice import plan_from
from pipelines.core.simulation.learning.examples import examples_of
from pipelines.core.simulation.learning.tool_search import search_plan
from pipelines.core.simulation.learning.trial import answers_of_plan
from support.learnt_plans import Row, called, changed, learnt, recorded, task, tool

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([0.1, 2.5, 1e-7, 1e21, -0.0]),
    st.sampled_from(["", "a", "o1", "o2", "open", "it's {1} \\ \n", "2026-01-02", "12", "Ünï"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "n", "total", "", "a b", "text"]), inner, max_size=3)
    ),
    max_leaves=6,
)
RECORDS = st.dictionaries(st.sampled_from(["status", "n", "items", "order_id", "class"]), VALUES, max_size=4)
STATES = st.dictionaries(
    st.sampled_from(["order", "user", "x-y"]),
    st.dictionaries(st.sampled_from(["o1", "o2", "7"]), RECORDS),
    max_size=2,
)


@st.composite
def tasks(draw: st.DrawFn) -> Row:
    state = draw(STATES)
    ids = [(kind, id) for kind, records in state.items() for id in records]
    calls = []
    for _ in range(draw(st.integers(1, 4))):
        arguments = draw(st.dictionaries(st.sampled_from(["order_id", "n", "from"]), VALUES, max_size=2))
        effects = []
        has_effect: bool = draw(st.booleans())
        if ids and has_effect:
            kind, id = draw(st.sampled_from(ids))
            field: str = draw(st.sampled_from(["status", "items"]))
            effects.append(changed(kind, id, **{field: draw(VALUES)}))
        calls.append(called("act", arguments, draw(VALUES), *effects, error=draw(st.booleans())))
    return task(state, *calls)


@given(st.lists(tasks(), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_learning_ends_with_a_plan_and_true_figures(recorded_tasks: list[Row]) -> None:
    [act] = learnt(recorded_tasks, tool("act", "order_id", "n", "from")).tools
    examples = examples_of(recorded(recorded_tasks))["act"]
    plan = plan_from(examples, lambda: False)
    assert plan is not None, search_plan(examples, is_over=lambda: False)
    answers = answers_of_plan(plan)
    [searched] = [one for one in act.candidates if one.origin == "searched"]
    assert searched.explained == sum(map(answers, examples))
    assert searched.right <= searched.calls == len(examples)
