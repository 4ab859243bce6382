"""Makes a scenario from the task of a run."""

from typing import NamedTuple

from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.text.json_text import Json, JsonObject

#: Of a seed, what is of its task alone: a scenario says by itself what is asked and expected.
_OF_THE_TASK = (*ORACLE_AXES, "user_instruction", "id", "tags")


class RunToRepeat(NamedTuple):
    run_id: int
    agent_id: int
    odyssey_seed: JsonObject


def scenario_body(run: RunToRepeat, *, name: str, risk_level: str, expected_behavior: Json) -> JsonObject:
    """To be checked as any other."""
    world = {key: value for key, value in run.odyssey_seed.items() if key not in _OF_THE_TASK}
    body: JsonObject = {
        "name": name,
        "description": f"From run {run.run_id}, which a person reviewed.",
        "risk_level": risk_level,
        "input_context": {"request": run.odyssey_seed.get("user_instruction", "")},
        "expected_behavior": expected_behavior,
        "agent_id": run.agent_id,
        "tags": ["from-review"],
    }
    return body | ({"odyssey_seed": world} if world else {})
