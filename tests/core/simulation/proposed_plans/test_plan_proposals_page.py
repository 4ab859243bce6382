"""docs/reference/plan-proposals.md shows what a model that writes plans is asked, word for word."""

import json
from pathlib import Path
from typing import Any

from pipelines.core.ledger.ledger import World
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.fidelity.examples import select_examples
from pipelines.core.simulation.fidelity.recording import read_recording
from pipelines.core.simulation.proposed_plans import backend_data, conversation
from pipelines.core.simulation.proposed_plans.backend_data import ExampleCalls
from pipelines.core.simulation.proposed_plans.conversation import (
    answered_plans,
    plan_schema,
    start_conversation,
)
from pipelines.core.simulation.proposed_plans.plan_trial import TrialSetting, try_plans
from pipelines.core.simulation.proposed_plans.prompt import instructions
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.engine.simulation import propose_plans
from support.desk import ORDER_ID, tool
from support.plan_answers import answer_of, parts_of
from support.shown_prompts import blocks, check_page, written

PAGE = Path(__file__).parents[4] / "docs/reference/plan-proposals.md"
TOOLS = parse_tools_schema([tool("settle", "Settle the order.", ORDER_ID, ["order_id"])])
STATE: Any = {"order": {"7001": {"status": "pending", "amount": 20}}}
SETTLED: Any = {"op": "update", "entity_type": "order", "id": "7001", "set": {"status": "paid"}, "unset": []}
CALL: Any = {
    "tool": "settle",
    "args": {"order_id": "7001"},
    "status": "ok",
    "response": {"order_id": "7001", "status": "paid"},
    "updates": [SETTLED],
}
RECORDING = read_recording(STATE, [{"task": "t-1", "calls": [CALL]}])
AROUND = TrialSetting(
    tools=TOOLS,
    ledger_schema=None,
    world=World.from_initial_state(STATE),
    behavior=None,
    reading_limit=lambda: lambda: True,
    clock=lambda: 0.0,
    recording=RECORDING,
)


def test_the_page_shows_the_instructions_and_all_data() -> None:
    examples = ExampleCalls(select_examples(RECORDING, "settle"), 1)
    talk = start_conversation(
        ["settle"], AROUND.simulator(), lambda name: examples, now="2026-05-01T12:00:00Z"
    )
    question = talk.question()
    keeps = answer_of(settle=[{"return": "null"}])
    trial = try_plans(answered_plans(keeps), AROUND, kept={})["settle"]
    again = talk.again(question, keeps, {"settle": trial.complaints})
    data = [*parts_of(question), *parts_of(again)]
    check_page(PAGE, [instructions(), *map(written, data)])


def test_the_page_has_the_limits_of_the_code() -> None:
    said = PAGE.read_text().partition("\n## Limits\n")[2]
    numbers = (
        propose_plans.MOST_TOOLS,
        backend_data.LONGEST_EXAMPLE,
        backend_data.LONGEST_EXAMPLES,
        backend_data.LONGEST_TURN,
        backend_data.LONGEST_WORLD,
        conversation.LONGEST_EARLIER,
    )
    assert [number for number in numbers if f"{number:,}" not in said] == []


def test_the_answer_of_the_page_explains_the_recorded_call() -> None:
    answer = json.loads(blocks(PAGE)[4])
    assert CompiledSchema(plan_schema(["settle"])).accepts(answer)
    trial = try_plans(answered_plans(answer), AROUND, kept={})["settle"]
    assert trial.is_done
    assert [one["problem"] for one in trial.examples] == [None, None]
