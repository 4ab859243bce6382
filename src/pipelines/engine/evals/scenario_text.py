"""A scenario as the text in which a person edits it: read with the line of each problem, and written."""

import asyncio
from functools import partial

from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.evals.scenarios.scenario_file import format_edited, read_edited_scenario
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Refused
from pipelines.core.text.yaml_text import as_yaml
from pipelines.engine.evals.edit_scenarios import READ_ONLY_FIELDS, check_scenario
from pipelines.engine.platform import Platform

_read = partial(
    read_edited_scenario,
    what="the scenario",
    fields="name, risk_level, input_context and expected_behavior",
    too_long="send it by the API: PUT /api/v1/eval/scenarios/{id}",
)


async def read_text(platform: Platform, org_id: int, text: str) -> tuple[JsonObject, Scenario]:
    """The body as it was written, beside what it was checked to be; Refused with everything wrong with it,
    and in which line."""
    written, read = await asyncio.to_thread(_read, text)
    body: JsonObject = {key: value for key, value in written.items() if key not in READ_ONLY_FIELDS}
    try:
        return body, await check_scenario(platform, org_id, body)
    except Refused as refused:
        raise Refused([read.placed(each) for each in refused.problems], "the scenario") from None


def read_unchecked(text: str) -> JsonObject:
    """The body as it was written, for another editor. Raises Refused where it is no mapping."""
    written, _ = _read(text)
    return {key: value for key, value in written.items() if key not in READ_ONLY_FIELDS}


def format_scenario(body: JsonObject) -> str:
    return format_edited(body, as_yaml(body))
