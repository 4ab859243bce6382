"""A house whose server asks a scripted model, and what that model was told."""

import json
import re
from collections.abc import Callable
from typing import Any

from pipelines.core.models.model_question import ModelQuestion, Purpose
from pipelines.engine.model_calls.ask_models import Models
from pipelines.models.client import ModelClient
from pipelines.models.scripted import Scripted, ScriptedModel
from support.desk import House

Json = Any


class OneModel:
    def __init__(self, model: ModelClient) -> None:
        self.model = model

    def complaint(self, model: str) -> str | None:
        return None

    async def is_priced(self, org_id: int, model: str) -> bool:
        return True

    async def key_from(self, org_id: int, model: str) -> str | None:
        return None

    async def client_for(self, org_id: int, model: str) -> ModelClient:
        return self.model

    async def close(self) -> None: ...


def let_answer(house: House, *script: Scripted, purpose: Purpose = Purpose.SIMULATOR) -> ScriptedModel:
    """From now on this model answers what the server asks for a purpose."""
    model = ScriptedModel(script, nanousd_a_token=1)
    models: Models = house.platform.models
    models.names = {**models.names, purpose: "scripted:test"}
    models._clients = OneModel(model)
    return model


def fence_of(question: ModelQuestion) -> str:
    """The word as the instructions tell it."""
    found = re.search(r"<(data-[0-9a-f]+)>", question.system)
    assert found is not None
    return found[1]


def data_of(question: ModelQuestion) -> Any:
    """What stands inside the fence."""
    word = fence_of(question)
    text = question.messages[0].content
    inside = text.split(f"<{word}>\n", 1)[1].rsplit(f"\n</{word}>", 1)[0]
    return json.loads(inside)


def outside_of(question: ModelQuestion) -> str:
    """What a reader takes for instructions, who ends the fence where its word first seems to end it."""
    word = fence_of(question)
    whole = "\n".join([question.system, *(message.content for message in question.messages)])
    opening = re.compile(rf"^<{word}>$(.*?)^</{word}>$", re.MULTILINE | re.DOTALL)
    return opening.sub("[data]", "\n".join(whole.splitlines()))


def saying(
    response: Json, *, status: int = 200, updates: Json = (), reason: str = "As it is."
) -> Callable[[ModelQuestion], Json]:
    return lambda question: {
        "reason": reason,
        "status": status,
        "response": response,
        "updates": list(updates),
    }
