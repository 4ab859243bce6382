"""Which models this server asks for an org, and whether one answers."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.models.model_names import LONGEST, read_model_name
from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose, cost_usd
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_agent, find_dataset
from pipelines.engine.model_calls.ask_models import Asker, CheckedAnswer
from pipelines.engine.models.choose_model import models_named_for
from pipelines.engine.platform import Platform
from pipelines.wire.errors import ModelFailed

TEST_QUESTION = ModelQuestion(
    purpose=Purpose.JUDGE,
    prompt_version="test/1",
    system="You are asked whether you can be reached. Answer with the number that the message names.",
    messages=(),
    schema={
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
        "additionalProperties": False,
    },
    max_output_tokens=200,
)


async def list_models(
    platform: Platform,
    org_id: int,
    settings: Mapping[Purpose, str],
    *,
    agent_id: int | None = None,
    dataset_id: int | None = None,
) -> JsonObject:
    """`settings` says which variable names the model of a purpose. Keys themselves are never told."""
    agent = await find_agent(platform, org_id, agent_id) if agent_id is not None else None
    if dataset_id is not None:
        await find_dataset(platform, org_id, dataset_id)
    of_agent = await models_named_for(platform, agent, None)
    named = await models_named_for(platform, agent, dataset_id)
    purposes: list[Json] = []
    for purpose in Purpose:
        model = platform.models.model_for(purpose, named)
        where = settings.get(purpose)
        if purpose in named:
            where = "agent" if named[purpose] == of_agent.get(purpose) else "dataset"
        description = await _describe_model(platform, org_id, model) if model is not None else _NONE
        purposes.append({"purpose": purpose.value, "model": model, "named_by": where, **description})
    return {"is_installed": find_spec("pydantic_ai") is not None, "purposes": purposes}


_NONE: JsonObject = {"is_priced": None, "key": None, "key_from": None, "problem": None}


async def _describe_model(platform: Platform, org_id: int, model: str) -> JsonObject:
    name = read_model_name(model, "", [])
    description: JsonObject = {**_NONE, "key": name.key_variable if name is not None else None}
    try:
        description["is_priced"] = await platform.models.is_priced(org_id, model)
        description["key_from"] = await platform.models.key_from(org_id, model)
    except ModelFailed as failed:
        description["problem"] = failed.message
    return description


async def try_model(platform: Platform, org_id: int, body: JsonObject) -> JsonObject:
    """One tiny question to the model of a purpose, or to one that is named; it costs what it costs."""
    purpose, model = _read_request(platform, body)
    named = {purpose: model} if model is not None else {}
    model_name = platform.models.needed(purpose, named)
    number = secrets.randbelow(900) + 100
    message = ModelMessage(role="user", content=f"The number is {number}. ({secrets.token_hex(4)})")

    def check(data: JsonObject) -> list[Problem]:
        right = data.get("number") == number
        return [] if right else [Problem(path="/number", message=f"must be {number}")]

    question = replace(TEST_QUESTION, purpose=purpose, messages=(message,))
    began = time.monotonic()
    try:
        async with platform.probing.slot(SlotHolder(org_id)):
            answer = await platform.models.ask(
                Asker(org_id=org_id, subject="test", named=named), question, check=check
            )
    except ModelFailed as failed:
        report = _attempt_json(model_name, began) | {
            "ok": False,
            "reason": failed.reason,
            "message": failed.message,
        }
        return report | {"exchange_id": (failed.details or {}).get("exchange_id")}
    return _attempt_json(model_name, began, answer) | {"ok": True, "reason": None, "message": None}


def _attempt_json(model: str, began: float, answer: CheckedAnswer | None = None) -> JsonObject:
    return {
        "model": model,
        "took_ms": round((time.monotonic() - began) * 1000),
        "attempts": answer.attempts if answer is not None else None,
        "tokens": answer.tokens if answer is not None else None,
        "cost_usd": cost_usd(answer.cost_nanousd) if answer is not None else None,
        "exchange_id": answer.exchange_id if answer is not None else None,
    }


def _read_request(platform: Platform, body: JsonObject) -> tuple[Purpose, str | None]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("purpose", "model"))
    purpose = Purpose(fields.choice("purpose", [each.value for each in Purpose], "judge") or "judge")
    model = fields.text("model", longest=LONGEST)
    if model is not None and read_model_name(model, "/model", problems) is not None:
        named = platform.models.naming_problems({purpose: model}, "")
        problems += [replace(problem, path="/model") for problem in named]
    if problems:
        raise Refused(problems, "the test")
    return purpose, model
