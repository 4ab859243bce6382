"""An agent of several: what its trace shows, held against what it declared."""

import pytest

from pipelines.core.agents.agent_config import AgentConfig, SubAgent
from pipelines.core.agents.topology import ActorStep, handoff_target, topology_warnings

SUPERVISOR = SubAgent(actor_id="supervisor", tools=("get_order",), talks_to=("refunds",))
REFUNDS = SubAgent(actor_id="refunds", tools=("refund_order",))
STOCK = SubAgent(actor_id="supervisor/stock")
TEAM = AgentConfig(sub_agents=(SUPERVISOR, REFUNDS, STOCK), entry="supervisor")


CASES: dict[str, tuple[list[ActorStep], list[str]]] = {
    "as declared": (
        [
            ActorStep(1, "supervisor", tool_name="get_order"),
            ActorStep(2, "supervisor", hands_over_to="refunds"),
            ActorStep(3, "supervisor/refunds", tool_name="refund_order"),
            ActorStep(4, "supervisor/stock", tool_name="anything"),
        ],
        [],
    ),
    "no actor named": ([ActorStep(1, None, tool_name="refund_order")], []),
    "undeclared, said once": (
        [ActorStep(1, "supervisor"), *(ActorStep(step, "supervisor/billing") for step in range(2, 10))],
        ["actor `supervisor/billing` is not declared in config.sub_agents (steps 2, 3, 4, 5, 6 and 3 more)"],
    ),
    "another's tool": (
        [ActorStep(1, "supervisor", tool_name="refund_order")],
        ["actor `supervisor` called `refund_order`, which is not among its declared tools (step 1)"],
    ),
    "a handoff that is not declared": (
        [ActorStep(1, "supervisor", hands_over_to="stock")],
        ["actor `supervisor` handed over to `stock`, which is not in its talks_to (step 1)"],
    ),
    "a handoff of one who may talk to all": ([ActorStep(1, "supervisor/refunds", hands_over_to="x")], []),
    "another entry": (
        [ActorStep(1, "refunds"), ActorStep(2, "refunds")],
        ["the first actor is `refunds`, but topology.entry is `supervisor` (step 1)"],
    ),
    "a name that only begins like the entry": (
        [ActorStep(1, "supervisor2/refunds")],
        ["the first actor is `supervisor2/refunds`, but topology.entry is `supervisor` (step 1)"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_where_the_trace_leaves_the_declared_make_up(name: str) -> None:
    steps, warnings = CASES[name]
    assert topology_warnings(TEAM, steps) == warnings


def test_an_agent_that_declared_nothing_is_told_nothing() -> None:
    assert topology_warnings(AgentConfig(), [ActorStep(1, "anyone", tool_name="anything")]) == []


def test_a_config_is_read_back_as_it_was_stored() -> None:
    assert AgentConfig.from_stored(TEAM.as_json()) == TEAM
    assert AgentConfig.from_stored(None) == AgentConfig()


@pytest.mark.parametrize(
    ("payload", "target"),
    [({"to_actor": "refunds"}, "refunds"), ({"to": "refunds"}, "refunds"), ({"to": 5}, None), ([], None)],
)
def test_whom_a_handoff_names(payload: object, target: str | None) -> None:
    assert handoff_target(payload) == target  # type: ignore[arg-type]


def test_who_answers_simulated_tools_stays_what_it_was():
    wanted = AgentConfig(simulator="model")
    assert AgentConfig.from_stored(wanted.as_json()) == wanted
    assert AgentConfig().as_json() == {}
