"""A scenario as the text in which a person edits it: read with the line of each problem, and written."""

import asyncio
import json

from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scenarios.scenario_file import (
    LONGEST_EDITED_TEXT,
    LONGEST_EDITED_YAML,
    read_scenario_text,
)
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import YamlText, as_yaml
from pipelines.engine.evals.edit_scenarios import READ_ONLY_FIELDS, check_scenario
from pipelines.engine.platform import Platform


async def check_text(platform: Platform, org_id: int, text: str) -> Scenario:
    """The scenario it says; Refused with everything wrong with it, and in which line. Nothing is stored."""
    return (await read_text(platform, org_id, text))[1]


async def read_text(platform: Platform, org_id: int, text: str) -> tuple[JsonObject, Scenario]:
    """The body as it was written, beside what it was checked to be."""
    read = await asyncio.to_thread(_parse_text, text)
    if not isinstance(read.value, dict):
        message = "a scenario is a mapping with name, risk_level, input_context and expected_behavior"
        raise Refused([Problem(path="", message=message)], "the scenario")
    body: JsonObject = {key: value for key, value in read.value.items() if key not in READ_ONLY_FIELDS}
    try:
        return body, await check_scenario(platform, org_id, body)
    except Refused as refused:
        raise Refused([read.placed(each) for each in refused.problems], "the scenario") from None


def format_scenario(body: JsonObject) -> str:
    """YAML, as people write it; JSON where that would be too long to be read back while somebody types."""
    text = as_yaml(body)
    return text if len(text) <= LONGEST_EDITED_YAML else json.dumps(body, ensure_ascii=False, indent=2)


def _parse_text(text: str) -> YamlText:
    is_json = text.lstrip()[:1] == "{"
    longest = LONGEST_EDITED_TEXT if is_json else LONGEST_EDITED_YAML
    if len(text) > longest:
        message = f"has {len(text):,} characters; of {'JSON' if is_json else 'YAML'} at most {longest:,} are"
        hint = "write it as JSON" if not is_json else "send it by the API: PUT /api/v1/eval/scenarios/{id}"
        raise Refused([Problem(path="", message=f"{message} edited here", hint=hint)], "the scenario")
    return read_scenario_text(text, places_of_json=len(text) <= LONGEST_EDITED_YAML)
