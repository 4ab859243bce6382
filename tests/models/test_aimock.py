"""Against a server with providers' APIs that nobody here wrote: aimock, strict, over real sockets.

What it answers is found by the last user message; one that it does not know is refused (503).
"""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from pipelines.core.models.model_names import read_model_name
from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed, ModelQuestion
from pipelines.core.text.problems import Problem
from pipelines.models.open_model import open_model
from pipelines.models.retrying import Patience, RetryingModel
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.model_transport import ModelTransport
from support.provider_api import SCHEMA, question

pytestmark = pytest.mark.anyio
FOLDER = Path(__file__).parent / "aimock"
COMMAND = FOLDER / "node_modules" / ".bin" / "llmock"
#: By OpenAI's names; the server writes them by each provider's.
USED = {"prompt_tokens": 120, "completion_tokens": 18, "total_tokens": 138}
FIXTURES = {
    "fixtures": [
        {"match": {"userMessage": "How many orders?"}, "response": {"content": '{"n": 3}', "usage": USED}},
        {"match": {"userMessage": "Answer again, whole"}, "response": {"content": '{"n": 4}'}},
        {"match": {"userMessage": "Say it in words."}, "response": {"content": "there are three"}},
        {
            "match": {"userMessage": "Too fast."},
            "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429},
        },
        {
            "match": {"userMessage": "Wrong key."},
            "response": {"error": {"message": "bad key", "type": "authentication_error"}, "status": 401},
        },
    ]
}
MODELS = ("url", "openai:gpt-5-mini", "anthropic:claude-haiku-4-5")


class Aimock(NamedTuple):
    url: str

    def chaos(self, **rates: float) -> None:
        httpx2.delete(f"{self.url}/__aimock/chaos")
        if rates:
            httpx2.post(f"{self.url}/__aimock/chaos", json=rates).raise_for_status()

    def asked(self) -> list[Any]:
        asked: list[Any] = httpx2.get(f"{self.url}/__aimock/journal").json()
        return asked


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    if shutil.which("node") is None or not COMMAND.exists():
        pytest.skip("aimock is not installed: run `npm ci` in tests/models/aimock")
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps(FIXTURES))
    command = [COMMAND, "--fixtures", fixtures, "--port", "0", "--strict"]
    environment = os.environ | {"AIMOCK_STRICT_TURN_INDEX": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            said = b""
            while b"listening on " not in said:
                line = process.stdout.readline()
                assert line, said.decode()
                said += line
            yield Aimock(said.split(b"listening on ")[1].split()[0].decode())
        finally:
            process.terminate()


@pytest.fixture
def aimock(running: Aimock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aimock]:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
    running.chaos()
    yield running
    running.chaos()


@asynccontextmanager
async def opened(aimock: Aimock, model: str) -> AsyncIterator[RetryingModel]:
    """As the engine opens it, with pauses that are counted and not waited for."""
    name = read_model_name(f"{aimock.url}/v1#gpt-5-mini" if model == "url" else model, "", [])
    assert name is not None
    way = ModelTransport(AddressPolicy(allow_private=True))

    async def at_once(seconds: float) -> None: ...

    client = open_model(name, key="sk-test-0123456789", transport=way)
    try:
        yield RetryingModel(client, Patience(timeout_s=20.0), nullcontext, sleep=at_once)
    finally:
        await way.aclose()


async def asked(aimock: Aimock, model: str, asks: ModelQuestion) -> ModelAnswer:
    async with opened(aimock, model) as client:
        return await client.ask(asks)


@pytest.mark.parametrize("model", MODELS)
async def test_each_shape_is_asked_for_the_schema_and_answers_with_its_counts(
    aimock: Aimock, model: str
) -> None:
    answer = await asked(aimock, model, question())
    assert answer.data == {"n": 3}
    assert (answer.input_tokens, answer.output_tokens) == (120, 18)
    assert (answer.cost_nanousd is None) is (model == "url"), "what has a price is priced"
    sent = json.dumps(aimock.asked()[-1]["body"])
    if model == "url":  # of the others its journal keeps only what all have in common
        assert json.dumps(SCHEMA["properties"]) in sent
    assert '"stream": true' not in sent


@pytest.mark.parametrize("model", MODELS)
async def test_the_regeneration_is_one_conversation(aimock: Aimock, model: str) -> None:
    first = await asked(aimock, model, question("Say it in words."))
    assert (first.data, first.text) == (None, "there are three")
    again = question("Say it in words.").again(first.text, [Problem(path="", message="is no object")])
    assert (await asked(aimock, model, again)).data == {"n": 4}
    assert "there are three" in json.dumps(aimock.asked()[-1]["body"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("text", "rates", "failure", "requests"),
    [
        ("Too fast.", {}, Failure.RATE_LIMITED, 4),
        ("Wrong key.", {}, Failure.AUTH, 1),
        ("Nobody knows this one.", {}, Failure.UNAVAILABLE, 4),
        ("How many orders?", {"rateLimitRate": 1}, Failure.RATE_LIMITED, 4),
        ("How many orders?", {"dropRate": 1}, Failure.UNAVAILABLE, 4),
        ("How many orders?", {"disconnectRate": 1}, Failure.UNAVAILABLE, 4),
        ("How many orders?", {"malformedRate": 1}, Failure.UNAVAILABLE, 1),
    ],
)
async def test_each_fault_has_its_word_and_its_number_of_requests(
    aimock: Aimock, model: str, text: str, rates: dict[str, float], failure: Failure, requests: int
) -> None:
    aimock.chaos(**rates)
    with pytest.raises(ModelCallFailed) as raised:
        await asked(aimock, model, question(text))
    assert (raised.value.failure, raised.value.requests) == (failure, requests)


async def test_a_storm_of_429_passes(aimock: Aimock) -> None:
    aimock.chaos(rateLimitRate=0.3)
    async with opened(aimock, "openai:gpt-5-mini") as client:
        asking = [client.ask(question()) for _ in range(30)]
        answers = await asyncio.gather(*asking, return_exceptions=True)
    told = [each for each in answers if isinstance(each, ModelAnswer)]
    assert len(told) > 20, "one in a hundred is refused four times in a row"
    assert all(answer.data == {"n": 3} for answer in told)
    assert max(answer.requests for answer in told) > 1
