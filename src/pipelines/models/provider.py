"""Real providers, through pydantic-ai. Only `open_model` imports this, when a model is first asked.

Of the package only the translation of one request is used: retries, regeneration and checks are ours, so that
they mean the same for every model.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import httpx2
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UserError,
)
from pydantic_ai.messages import ModelMessage as Sent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings

from pipelines.core.models.model_names import ModelName
from pipelines.core.models.model_question import (
    Failure,
    ModelAnswer,
    ModelCallFailed,
    ModelMessage,
    ModelQuestion,
)
from pipelines.core.text.json_text import dumps
from pipelines.models.prices import cost_of
from pipelines.models.provider_errors import nothing_of
from pipelines.models.schema_shape import has_open_objects
from pipelines.models.scripted import object_in

#: Models that think before they answer take it from the same limit.
ROOM_TO_THINK = 4_096
NOT_FOR_ITS_SCHEMA = (ModelContextWindowExceededError, ModelQuotaExceededError)
LOCAL = "openai-compatible"  # what the package calls a server that is reached by its URL
NO_KEY = "none"  # the client insists on one; servers without keys do not look at it
PROMPTED = """

Answer with one JSON object and nothing else: no text around it, no code fence. It must be valid against this
JSON Schema:
"""


def open_provider(
    name: ModelName, *, key: str | None, transport: httpx2.AsyncBaseTransport
) -> "ProviderModel":
    """Raises ModelGaveNothing where the provider's packages are missing or its client refuses the name."""
    http = httpx2.AsyncClient(transport=transport, timeout=None, follow_redirects=False, trust_env=False)
    try:
        model = _model(name, key, http)
        # By the package's own setting each request would copy the client, which takes longer than the rest.
        cast(Any, model).client.max_retries = 0
        return ProviderModel(name, model, key=key)
    except ImportError as error:
        message = f"the provider `{name.provider}` needs a package that is not installed: {error}"
        raise ModelCallFailed(Failure.UNAVAILABLE, message, requests=0, tokens=0) from error
    except UserError as error:
        raise ModelCallFailed(Failure.UNKNOWN_MODEL, str(error), requests=0, tokens=0) from error


def _model(name: ModelName, key: str | None, http: httpx2.AsyncClient) -> Model:
    if name.kind == "url":
        server = OpenAICompatibleProvider(LOCAL, base_url=name.where, api_key=key or NO_KEY, http_client=http)
        # The schema goes out as it is: what serves models oneself makes its grammar of any.
        profile = OpenAIModelProfile(
            json_schema_transformer=None, openai_chat_supports_max_completion_tokens=False
        )
        return OpenAIChatModel(name.model, provider=server, profile=profile)

    def made(provider: str) -> Provider[Any]:
        found: Any = infer_provider_class(provider)
        return found(api_key=key, http_client=http)  # type: ignore[no-any-return]

    return infer_model(f"{name.provider}:{name.model}", made)


class ProviderModel:
    """Whether a provider holds answers to a schema itself ("native") is known; of a URL it is tried."""

    def __init__(self, name: ModelName, model: Model, *, key: str | None) -> None:
        self._name = name
        self._model = model
        self._key = key
        self._takes_schemas = bool(model.profile.get("supports_json_schema_output"))
        self._takes_json = bool(model.profile.get("supports_json_object_output"))
        self._thinks = bool(model.profile.get("thinking_enabled_by_default"))

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Where a schema leaves objects open, a provider's grammar would close them: it is told in words."""
        is_native = self._takes_schemas and (
            self._name.kind == "url" or not has_open_objects(question.schema)
        )
        if not is_native:
            return await self._sent(question, self._prompted(question))
        try:
            return await self._sent(question, self._native(question))
        except _NotTaken as not_taken:
            if self._name.kind == "url" and not_taken.requests:
                self._takes_schemas = False
            answer = await self._sent(question, self._prompted(question))
            return replace(answer, requests=answer.requests + not_taken.requests)

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        return cost_of(self._name, input_tokens, output_tokens)

    def _native(self, question: ModelQuestion) -> "tuple[str, ModelRequestParameters]":
        strict = False if self._name.kind == "url" else None
        output = OutputObjectDefinition(json_schema=question.schema, name="answer", strict=strict)
        parameters = ModelRequestParameters(output_mode="native", output_object=output)
        return question.system, parameters

    def _prompted(self, question: ModelQuestion) -> "tuple[str, ModelRequestParameters]":
        system = question.system + PROMPTED + dumps(question.schema).decode()
        if not self._takes_json:
            return system, ModelRequestParameters(output_mode="text")
        anything = OutputObjectDefinition(json_schema={"type": "object"}, name="answer")
        return system, ModelRequestParameters(
            output_mode="prompted", output_object=anything, prompted_output_template=False
        )

    async def _sent(
        self, question: ModelQuestion, asked: "tuple[str, ModelRequestParameters]"
    ) -> ModelAnswer:
        system, parameters = asked
        try:
            response = await model_request(
                self._model,
                _messages(system, question.messages),
                model_settings=self._settings(question),
                model_request_parameters=parameters,
            )
        except Exception as error:  # of five packages; none of them may end anything else than this question
            is_native = parameters.output_mode == "native"
            if is_native and _is_rejected(error):
                raise _NotTaken(requests=1 if isinstance(error, ModelHTTPError) else 0) from error
            raise nothing_of(error, key=self._key) from error
        return self._answer(response)

    def _settings(self, question: ModelQuestion) -> ModelSettings:
        most = question.max_output_tokens + (ROOM_TO_THINK if self._thinks else 0)
        settings: dict[str, Any] = {"max_tokens": most}
        if self._name.provider == "openai":
            settings["openai_store"] = False  # else the provider keeps a copy for a month
        if self._thinks:
            settings["thinking"] = "low"
        elif self._name.kind == "url":  # models that think take none
            settings["temperature"] = 0.0
        return cast(ModelSettings, settings)  # with keys that only some providers know

    def _answer(self, response: ModelResponse) -> ModelAnswer:
        used = response.usage
        is_counted = bool(used.input_tokens or used.output_tokens)
        tokens = (used.input_tokens, used.output_tokens) if is_counted else (None, None)
        cost = cost_of(self._name, used.input_tokens, used.output_tokens, usage=used) if is_counted else None
        if response.finish_reason == "content_filter":
            refusal = str((response.provider_details or {}).get("refusal") or "it said no more")[:300]
            raise ModelCallFailed(
                Failure.REFUSED,
                f"the provider declined: {refusal}",
                tokens=used.total_tokens if is_counted else None,
                cost_nanousd=cost,
            )
        text = unfenced(response.text or "")
        return ModelAnswer(
            text=text,
            data=object_in(text),
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost_nanousd=cost,
        )


class _NotTaken(Exception):
    """The server does not take a schema of this shape, or none at all."""

    def __init__(self, *, requests: int) -> None:
        super().__init__()
        self.requests = requests


def _is_rejected(error: Exception) -> bool:
    """As a request, not for its key, its model or its length. Some of it the package refuses by itself."""
    if isinstance(error, ModelHTTPError):
        return error.status_code in (400, 422) and not isinstance(error, NOT_FOR_ITS_SCHEMA)
    return isinstance(error, UserError | ModelRequestRejectedError)


def _messages(system: str, messages: Sequence[ModelMessage]) -> list[Sent]:
    """An answer that was empty is left out: providers refuse an empty one."""
    sent: list[Sent] = []
    for message in messages:
        if message.role == "user":
            sent.append(ModelRequest(parts=[UserPromptPart(content=message.content)], instructions=system))
        elif message.content.strip():
            sent.append(ModelResponse(parts=[TextPart(content=message.content)]))
    return sent


def unfenced(text: str) -> str:
    """What stands in a code fence, where that is all there is.

    >>> unfenced('```json\\n{"n": 1}\\n```')
    '{"n": 1}'
    """
    bare = text.strip()
    if not (bare.startswith("```") and bare.endswith("```") and len(bare) > 6):
        return bare
    first, _, rest = bare[3:-3].partition("\n")
    return rest.strip() if first.strip().lower() in ("", "json") else bare
