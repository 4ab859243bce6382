"""A coding scenario as the text in which a person edits it: read with the line of each problem."""

import asyncio
from functools import partial

from pipelines.core.coding.scenario_yaml import scenario_as_yaml
from pipelines.core.evals.scenarios.scenario_file import format_edited, read_edited_scenario
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.coding.edit_coding_scenarios import READ_ONLY_FIELDS, check_scenario
from pipelines.engine.platform import Platform

_WHAT = "the coding scenario"
_read = partial(
    read_edited_scenario,
    what=_WHAT,
    fields="name, user_instruction and scorers",
    too_long="keep it as a file: pipelines coding scenario add FILE",
)


async def read_coding_text(platform: Platform, text: str) -> JsonObject:
    """The body as it was written; Refused with everything wrong with it, and in which line."""
    written, read = await asyncio.to_thread(_read, text)
    body: JsonObject = {key: value for key, value in written.items() if key not in READ_ONLY_FIELDS}
    try:
        await check_scenario(platform, body)
    except Refused as refused:
        raise Refused([read.placed(each) for each in refused.problems], _WHAT) from None
    return body


def format_scenario(body: JsonObject) -> str:
    return format_edited(body, scenario_as_yaml(body))
