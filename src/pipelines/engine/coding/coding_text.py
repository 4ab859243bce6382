"""A coding scenario as the text in which a person edits it: read with the line of each problem."""

import asyncio
import json

from pipelines.core.coding.scenario_yaml import scenario_as_yaml
from pipelines.core.evals.scenarios.scenario_file import (
    LONGEST_EDITED_TEXT,
    LONGEST_EDITED_YAML,
    read_scenario_text,
)
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import YamlText
from pipelines.engine.coding.edit_coding_scenarios import READ_ONLY_FIELDS, check_scenario
from pipelines.engine.platform import Platform

WHAT = "the coding scenario"


async def read_coding_text(platform: Platform, text: str) -> JsonObject:
    """The body as it was written; Refused with everything wrong with it, and in which line."""
    read = await asyncio.to_thread(_parse_text, text)
    if not isinstance(read.value, dict):
        message = "a scenario is a mapping with name, user_instruction and scorers"
        raise Refused([Problem(path="", message=message)], WHAT)
    body: JsonObject = {key: value for key, value in read.value.items() if key not in READ_ONLY_FIELDS}
    try:
        await check_scenario(platform, body)
    except Refused as refused:
        raise Refused([read.placed(each) for each in refused.problems], WHAT) from None
    return body


def format_scenario(body: JsonObject) -> str:
    """YAML, as people write it; JSON where that would be too long to be read back here."""
    text = scenario_as_yaml(body)
    return text if len(text) <= LONGEST_EDITED_YAML else json.dumps(body, ensure_ascii=False, indent=2)


def _parse_text(text: str) -> YamlText:
    is_json = text.lstrip()[:1] == "{"
    longest = LONGEST_EDITED_TEXT if is_json else LONGEST_EDITED_YAML
    if len(text) > longest:
        message = f"has {len(text):,} characters; of {'JSON' if is_json else 'YAML'} at most {longest:,} are"
        hint = "keep it as a file: pipelines coding scenario add FILE"
        raise Refused([Problem(path="", message=f"{message} edited here", hint=hint)], WHAT)
    return read_scenario_text(text, places_of_json=len(text) <= LONGEST_EDITED_YAML)
