"""Effects on many records, over random worlds: those that are meant change, all others stay."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.rules.forms import read_rules
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import parse_tools_schema

TEXT = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"ticket_id": TEXT, "agent_id": TEXT}, "required": ["ticket_id"]}
MOVE = [
    {"find": {"as": "ticket", "in": "ticket", "id": "args.ticket_id"}},
    {"set": {"ticket.agent_id": "args.agent_id"}},
    {"return": "ticket"},
]
TOOLS = parse_tools_schema([{"name": "move", "description": "", "input_schema": SCHEMA, "simulation": MOVE}])
AGENTS = ("a-1", "a-2", "a-3")
worlds = st.fixed_dictionaries(
    {
        "agent": st.fixed_dictionaries(
            {id: st.fixed_dictionaries({"load": st.integers(0, 9)}) for id in AGENTS}
        ),
        "ticket": st.fixed_dictionaries(
            {
                f"t-{at}": st.fixed_dictionaries(
                    {"agent_id": st.sampled_from(AGENTS), "size": st.one_of(st.none(), st.integers(0, 9))}
                )
                for at in range(5)
            }
        ),
    }
)
to = st.sampled_from(AGENTS)


def moved(state: Any, to: str, *rules: Any) -> tuple[SimulatedReply, Any]:
    """`t-0` goes to another agent: the reply, and the world after it."""
    problems: list[Problem] = []
    read = read_rules([{"tools": ["move"]} | rule for rule in rules], "", problems).rules
    world = World.from_initial_state(state)
    under = build_simulator(TOOLS, world=world, rules=read)
    assert (problems, under.not_applied) == ([], {})
    ledger = Ledger(world)
    arguments = {"ticket_id": "t-0", "agent_id": to}
    reply = under.answer("move", arguments, ledger, Moment("t", 1, "2026-05-01T12:00:00Z"))
    ledger.apply(reply.updates)
    return reply, ledger.as_state()


def counted(sign: str, *, before: bool) -> Any:
    where = "same_id(id_of(each), ticket.agent_id)"
    body = {"form": "set", "target": "agent.load", "where": where, "expression": f"each.load {sign} 1"}
    return body | {"before": before}


@settings(max_examples=100, deadline=None)
@given(worlds, to)
def test_the_old_and_the_new_linked_record_are_told_apart(state: Any, to: str) -> None:
    old = state["ticket"]["t-0"]["agent_id"]
    _, after = moved(state, to, counted("-", before=True), counted("+", before=False))
    expected = {id: one["load"] - (id == old) + (id == to) for id, one in state["agent"].items()}
    assert {id: one["load"] for id, one in after["agent"].items()} == expected


@settings(max_examples=100, deadline=None)
@given(worlds, to, st.integers(0, 9), st.booleans())
def test_each_record_that_is_meant_gets_its_own_value_and_no_other_is_touched(
    state: Any, to: str, least: int, before: bool
) -> None:
    rule = {
        "form": "set",
        "target": "ticket.size",
        "where": f"default(each.size, -1) >= {least}",
        "expression": "each.size * 2",
        "before": before,
    }
    _, after = moved(state, to, rule)
    for id, one in state["ticket"].items():
        is_meant = one["size"] is not None and one["size"] >= least
        assert after["ticket"][id]["size"] == (one["size"] * 2 if is_meant else one["size"])
    assert after["agent"] == state["agent"]


@settings(max_examples=100, deadline=None)
@given(worlds, to, st.booleans())
def test_who_is_removed_is_worked_out_before_or_after_the_tools_own_change(
    state: Any, to: str, before: bool
) -> None:
    rule = {"form": "remove", "target": "ticket", "where": "each.agent_id == args.agent_id", "before": before}
    _, after = moved(state, to, rule)
    gone = {id for id, one in state["ticket"].items() if one["agent_id"] == to}
    gone |= set() if before else {"t-0"}
    assert {*after.get("ticket", {})} == {*state["ticket"]} - gone


@settings(max_examples=50, deadline=None)
@given(worlds, to, st.booleans())
def test_the_value_of_one_record_is_of_before_or_after_the_tools_own_change(
    state: Any, to: str, before: bool
) -> None:
    rule = {"form": "set", "target": "ticket.noted", "expression": "ticket.agent_id", "before": before}
    _, after = moved(state, to, rule)
    assert after["ticket"]["t-0"]["noted"] == (state["ticket"]["t-0"]["agent_id"] if before else to)


@settings(max_examples=50, deadline=None)
@given(worlds, to)
def test_a_refused_call_changes_none_of_them(state: Any, to: str) -> None:
    refuse = {"form": "require", "expression": "agent.load < 0", "after_changes": True}
    reply, after = moved(state, to, counted("+", before=False), refuse)
    assert (reply.status, after) == (409, state)


@settings(max_examples=50, deadline=None)
@given(worlds, to)
def test_a_change_that_is_dropped_leaves_the_world_as_it_is(state: Any, to: str) -> None:
    reply, after = moved(state, to, {"form": "drop", "target": "ticket.agent_id"})
    assert (reply.status, after) == (200, state)
