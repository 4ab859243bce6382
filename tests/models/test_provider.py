"""Real providers' shapes over real sockets: what goes out, what is made of what comes back."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from pipelines.core.models.model_names import ModelName, read_model_name
from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed
from pipelines.core.models.providers import KEY_VARIABLES
from pipelines.models.open_model import open_model
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.model_transport import ModelTransport, _check_parts
from support.provider_api import (
    SCHEMA,
    USED,
    Got,
    PlayedProvider,
    Reply,
    chat,
    messages,
    played,
    question,
    refused,
    responses,
)

pytestmark = pytest.mark.anyio
KEY = "sk-test-0123456789"
OPEN_SCHEMA = {"type": "object", "properties": {"reply": {"type": "object"}}, "required": ["reply"]}


def named(text: str) -> ModelName:
    name = read_model_name(text, "", [])
    assert name is not None
    return name


@asynccontextmanager
async def transport(**options: Any) -> AsyncIterator[ModelTransport]:
    made = ModelTransport(AddressPolicy(allow_private=True), **options)
    try:
        yield made
    finally:
        await made.aclose()


async def asked(provider: PlayedProvider, model: str = "", **options: Any) -> ModelAnswer:
    asks = options.pop("asks", question())
    async with transport(**options) as way:
        client = open_model(named(model or f"{provider.url}/v1#local"), key=KEY, transport=way)
        return await client.ask(asks)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sends a provider's own name to loopback, by the variables that its client reads."""

    def sent(provider: PlayedProvider) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)

    return sent


async def test_a_url_gets_the_schema_as_it_is_and_says_what_it_used() -> None:
    async with played(chat('{"n": 3}')) as provider:
        answer = await asked(provider, asks=question(schema=OPEN_SCHEMA))
    (got,) = provider.got
    assert got.path == "/v1/chat/completions"
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.body["response_format"]["json_schema"]["schema"] == OPEN_SCHEMA
    assert (got.body["max_tokens"], got.body["stream"], got.body["temperature"]) == (4_096, False, 0.0)
    assert [each["role"] for each in got.body["messages"]] == ["system", "user"]
    assert (answer.data, answer.requests, answer.cost_nanousd) == ({"n": 3}, 1, None)
    assert (answer.input_tokens, answer.output_tokens) == USED


async def test_openai_is_asked_natively_and_keeps_no_copy(elsewhere: Any) -> None:
    async with played(responses('{"n": 3}')) as provider:
        elsewhere(provider)
        answer = await asked(provider, "openai:gpt-5-mini")
    (got,) = provider.got
    assert got.path == "/v1/responses"
    assert got.body["text"]["format"]["schema"]["properties"] == SCHEMA["properties"]
    assert (got.body["store"], got.body["stream"]) == (False, False)
    assert answer.data == {"n": 3}
    assert answer.cost_nanousd == 66_000, "$0.25 and $2 a million"


async def test_anthropic_is_asked_natively(elsewhere: Any) -> None:
    async with played(messages('{"n": 3}')) as provider:
        elsewhere(provider)
        answer = await asked(provider, "anthropic:claude-haiku-4-5")
    (got,) = provider.got
    assert any(KEY in value for value in got.headers.values())
    assert got.body["output_config"]["format"]["type"] == "json_schema"
    assert (answer.data, answer.cost_nanousd) == ({"n": 3}, 210_000)


RECURSIVE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


@pytest.mark.parametrize("schema", [OPEN_SCHEMA, RECURSIVE])
async def test_what_a_grammar_would_lose_is_told_in_words_instead(elsewhere: Any, schema: Any) -> None:
    async with played(messages('```json\n{"reply": {"any": 1}}\n```')) as provider:
        elsewhere(provider)
        answer = await asked(provider, "anthropic:claude-haiku-4-5", asks=question(schema=schema))
    (got,) = provider.got
    assert "output_config" not in got.body
    assert '"properties"' in str(got.body["system"])
    assert "additionalProperties" not in str(got.body["system"]), "the schema as its author wrote it"
    assert answer.data == {"reply": {"any": 1}}
    assert answer.text == '{"reply": {"any": 1}}', "what is kept is the JSON"


async def test_a_server_that_takes_no_schemas_is_told_in_words_from_then_on() -> None:
    def reply(got: Got) -> Reply:
        is_native = got.body.get("response_format", {}).get("type") == "json_schema"
        return refused(400, "response_format is not supported") if is_native else chat('{"n": 3}')

    async with played(reply) as provider, transport() as way:
        client = open_model(named(f"{provider.url}/v1#local"), key=None, transport=way)
        first, second = await client.ask(question()), await client.ask(question())
    assert (first.data, first.requests, second.requests) == ({"n": 3}, 2, 1)
    assert len(provider.got) == 3


async def test_an_answer_that_is_no_json_comes_back_as_it_is() -> None:
    async with played(chat('{"n": 3', finish="length")) as provider:
        answer = await asked(provider)
    assert (answer.text, answer.data, answer.input_tokens) == ('{"n": 3', None, USED[0])


async def test_no_counts_are_not_none_used() -> None:
    async with played(chat('{"n": 3}', usage=False)) as provider:
        answer = await asked(provider)
    assert (answer.input_tokens, answer.output_tokens) == (None, None)


async def test_an_empty_answer_is_not_sent_back_in_the_regeneration() -> None:
    again = question().again("", [])
    async with played(chat('{"n": 3}')) as provider:
        await asked(provider, asks=again)
    assert [each["role"] for each in provider.got[0].body["messages"]] == ["system", "user", "user"]


FAULTS = [
    pytest.param(refused(401, f"wrong key {KEY}"), Failure.AUTH, False, 0, id="a wrong key"),
    pytest.param(refused(403), Failure.AUTH, False, 0, id="a key that may not"),
    pytest.param(refused(404, "no such model"), Failure.UNKNOWN_MODEL, False, 0, id="an unknown model"),
    pytest.param(refused(413), Failure.BAD_REQUEST, False, 0, id="a request it does not take"),
    pytest.param(refused(429), Failure.RATE_LIMITED, True, 0, id="too many requests"),
    pytest.param(refused(500), Failure.UNAVAILABLE, True, None, id="its own fault"),
    pytest.param(refused(529), Failure.UNAVAILABLE, True, None, id="overloaded"),
    pytest.param(chat('{"n": 3}')._replace(cut_at=40), Failure.UNAVAILABLE, True, None, id="cut off"),
    pytest.param(Reply(body=b"<html>"), Failure.UNAVAILABLE, False, None, id="no JSON around it"),
    pytest.param(Reply(body={"choices": []}), Failure.UNAVAILABLE, False, None, id="no choice"),
    pytest.param(Reply(body=b"x", cut_at=0), Failure.UNAVAILABLE, True, None, id="hung up"),
    pytest.param(
        Reply(status=302, body={}, headers=(("Location", "/elsewhere"),)),
        *(Failure.UNAVAILABLE, False, 0),
        id="a redirect",
    ),
    pytest.param(
        Reply(body=b"\x1f\x8b", headers=(("Content-Encoding", "gzip"),)),
        *(Failure.UNAVAILABLE, False, None),
        id="compressed",
    ),
    pytest.param(chat("x" * (1024 * 1024)), Failure.TOO_LARGE, False, None, id="a megabyte"),
    pytest.param(
        Reply(body=b'{"choices":[],"usage":[' + b"{}," * 300_000 + b"1]}"),
        *(Failure.TOO_LARGE, False, None),
        id="hundreds of thousands of values",
    ),
    pytest.param(Reply(body=b'"\\"' * 300_000), Failure.TOO_LARGE, False, None, id="quotes that never end"),
    pytest.param(chat(None, refusal="I will not."), Failure.REFUSED, False, sum(USED), id="a refusal"),
]


@pytest.mark.parametrize(("reply", "failure", "is_worth_retry", "tokens"), FAULTS)
async def test_each_fault_has_its_own_word(
    reply: Reply, failure: Failure, is_worth_retry: bool, tokens: int | None
) -> None:
    async with played(reply) as provider:
        with pytest.raises(ModelCallFailed) as raised:
            await asked(provider)
    nothing = raised.value
    assert (nothing.failure, nothing.is_worth_retry, nothing.tokens) == (failure, is_worth_retry, tokens)
    assert KEY not in str(nothing)
    assert len(provider.got) == 1, "sent once: trying again is decided above"


async def test_what_the_provider_asks_to_wait_is_handed_on() -> None:
    for headers, seconds in (({"Retry_After": "7"}, 7.0), ({"retry_after_ms": "1500"}, 1.5)):
        async with played(refused(429, **headers)) as provider:
            with pytest.raises(ModelCallFailed) as raised:
                await asked(provider)
        assert raised.value.retry_after_s == seconds


async def test_nobody_there_is_worth_another_try_and_was_not_billed() -> None:
    async with played(chat("{}")) as provider:
        pass
    with pytest.raises(ModelCallFailed) as raised:
        await asked(provider)
    assert (raised.value.failure, raised.value.tokens) == (Failure.UNAVAILABLE, 0)
    assert raised.value.is_worth_retry


async def test_an_address_that_an_org_may_not_name_is_not_called() -> None:
    async with played(chat('{"n": 3}')) as provider:
        guarded = ModelTransport(AddressPolicy())
        client = open_model(named(f"{provider.url}/v1#local"), key=None, transport=guarded)
        with pytest.raises(ModelCallFailed, match="loopback") as raised:
            await client.ask(question())
        await guarded.aclose()
    assert (raised.value.failure, raised.value.is_worth_retry, provider.got) == (
        Failure.UNAVAILABLE,
        False,
        [],
    )


@pytest.mark.parametrize("provider", KEY_VARIABLES)
async def test_every_provider_of_the_table_opens_with_a_key_alone(provider: str) -> None:
    model = "openai/gpt-5-mini" if provider == "openrouter" else "gpt-5-mini"
    async with transport() as way:
        client = open_model(named(f"{provider}:{model}"), key=KEY, transport=way)
        assert client.cost_nanousd(0, 0) in (None, 0)


async def test_a_long_text_is_one_part_however_many_brackets_it_has() -> None:
    said = {"n": 1, "why": '[{,"' * 20_000}
    async with played(chat(json.dumps(said))) as provider:
        assert (await asked(provider)).data == said


def test_looking_at_the_parts_of_an_answer_is_linear() -> None:
    """A mebibyte of each, by processor time; one that is not would take minutes."""
    size = 1024 * 1024
    half = size // 2
    for body in (b'"' + b'\\"' * half, b'"' * size, b'\\"' * half, b"[" * size, b'"\\' * half):
        began = time.process_time()
        with suppress(ModelCallFailed):
            _check_parts(bytearray(body))
        assert time.process_time() - began < 0.5
