"""A read that cannot answer what it is asked for says so, and is a guess."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import ToolPlan, build_simulator
from pipelines.core.tools.tools_schema import parse_tools_schema

WORLD = World.from_initial_state(
    {
        "room": {
            "loft": {"name": "Loft", "rate": 60, "mics": 4},
            "cellar": {"name": "Cellar", "rate": 30, "mics": 2},
        },
    }
)
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def plan_of(name: str, description: str, output: dict[str, Any] | None, **arguments: Any) -> ToolPlan:
    required = [one for one, schema in arguments.items() if "default" not in schema]
    schema = {"type": "object", "properties": arguments, "required": required}
    tool = {"name": name, "description": description, "input_schema": schema}
    if output is not None:
        tool["output_schema"] = {"type": "object", "properties": output}
    return build_simulator(parse_tools_schema([tool]), world=WORLD).plans[name]


#: name, description, fields of its output, arguments, and what the notes name
GUESSES = {
    "no field of the reply is in the world": (
        *(
            "is_room_free",
            "Whether nobody is in.",
            {"free": {"type": "boolean"}},
            {"room_id": TEXT},
            "`free`",
        ),
    ),
    "nothing but what was asked by": (
        "room_noise",
        "Noise level of a room.",
        {"room_id": TEXT, "decibels": NUMBER},
        {"room_id": TEXT},
        "`decibels`",
    ),
    "a required argument makes no difference": (
        *("room_forecast", "How the room will be used.", None, {"room_id": TEXT, "hours": NUMBER}, "`hours`"),
    ),
}


@pytest.mark.parametrize(("name", "says", "output", "arguments", "named"), GUESSES.values(), ids=GUESSES)
def test_what_cannot_be_answered_is_a_guess(
    name: str, says: str, output: dict[str, Any] | None, arguments: dict[str, Any], named: str
) -> None:
    plan = plan_of(name, says, output, **arguments)
    assert plan.is_guess
    assert any(named in note for note in plan.notes), plan.notes


def test_a_field_that_is_left_out_beside_others_is_said() -> None:
    plan = plan_of("get_room", "One room.", {"name": TEXT, "noise": NUMBER}, room_id=TEXT)
    assert not plan.is_guess
    assert [note for note in plan.notes if "left out" in note] == [
        "`noise` of its output schema is left out: nothing was found to answer it"
    ]


def test_a_whole_answer_has_nothing_to_say() -> None:
    plan = plan_of("get_room", "One room.", {"name": TEXT, "rate": NUMBER}, room_id=TEXT)
    assert (plan.is_guess, plan.notes) == (False, ())


def test_an_argument_that_may_be_left_away_may_be_left_aside() -> None:
    assert not plan_of("get_room", "One room.", None, room_id=TEXT, lang={**TEXT, "default": "en"}).is_guess
