"""How the arguments of a list narrow it."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema

DAYS = ("2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04")
WORLD = World.from_initial_state(
    {
        "visit": {f"v-{day[-1]}": {"date": day, "tuner_id": "t-1"} for day in DAYS},
        "tuner": {"t-1": {"name": "A"}},
    }
)


@pytest.mark.parametrize(
    ("first", "last"), [("from_date", "to_date"), ("since", "until"), ("date_from", "date_to")]
)
def test_two_dates_are_the_ends_of_a_period(first: str, last: str) -> None:
    day: JsonObject = {"type": "string", "format": "date"}
    schema: JsonObject = {
        "type": "object",
        "properties": {"tuner_id": {"type": "string"}, first: day, last: day},
        "required": ["tuner_id", first, last],
    }
    described = "The visits of a tuner between two dates (inclusive)."
    tools = parse_tools_schema(
        [{"name": "get_tuner_agenda", "description": described, "input_schema": schema}]
    )
    call: JsonObject = {"tuner_id": "t-1", first: DAYS[1], last: DAYS[2]}
    reply = build_simulator(tools, world=WORLD).answer(
        "get_tuner_agenda", call, Ledger(WORLD), Moment("x", 1, "2026-03-15T12:00:00Z")
    )
    found: Any = reply.response
    assert [one["date"] for one in found] == [DAYS[1], DAYS[2]]
