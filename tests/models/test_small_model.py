"""A real model on loopback, which nobody scripted: wire, grammar, regeneration, accounting, timeouts.

Opt-in, `make test-models`: the larger one has 1.1 GB, the small one 130 MB. Nothing here looks at how clever
it is; bench/model_quality.py does.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "core" / "simulation"))

from asked_model import Desk
from fetch_model import model_file

from pipelines.core.ledger.ledger import World
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.model_judge.judge_prompt import judge_question
from pipelines.core.verdict.verdict import Verdict
from pipelines.engine.model_calls.ask_models import Asker, Models
from pipelines.engine.model_calls.model_clients import ModelSettings, OpenedModels, Transports
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.model_transport import ModelTransport
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox
from pipelines.storage.database.sqlite_store import SqliteStore
from pipelines.storage.runs.model_exchanges import Exchange, exchange_by_id
from pipelines.wire.errors import ModelFailed
from support.desk import ORDER_ID, STATE, tool

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
FOLDER = Path(os.environ.get("PIPELINES_SMALL_MODEL", ".models"))
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "status": {"enum": ["shipped", "pending", "cancelled"]},
        "amount": {"type": "number"},
        "reason": {"type": "string", "maxLength": 60},
    },
    "required": ["status", "amount", "reason"],
    "additionalProperties": False,
}


def question(text: str, **changes: Any) -> ModelQuestion:
    asked: dict[str, Any] = {
        "purpose": Purpose.SIMULATOR,
        "prompt_version": "small/1",
        "system": "You answer as the backend of a shop. Answer with JSON.",
        "messages": (ModelMessage(role="user", content=text),),
        "schema": SCHEMA,
        "max_output_tokens": 120,
    }
    return ModelQuestion(**(asked | changes))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if "PIPELINES_SMALL_MODEL" not in os.environ:
        pytest.skip("a real model is asked only by `make test-models`")
    if model_file(FOLDER) is None or not (FOLDER / "xllamacpp").is_dir():
        pytest.skip(f"{FOLDER} has no model: the packages could not be fetched")
    command = [sys.executable, str(Path(__file__).parent / "small_model_server.py"), str(FOLDER)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not said.startswith("serving "):
                said = process.stdout.readline().decode()
                assert said, "the model does not start"
            yield said.split(" at ")[1].strip()
        finally:
            process.kill()


class Asking:
    def __init__(self, database: Database, models: Models) -> None:
        self.database = database
        self.models = models

    async def stored(self, exchange_id: int) -> Exchange:
        found = await self.database.read(
            lambda connection: exchange_by_id(connection, org_id=1, exchange_id=exchange_id)
        )
        assert found is not None
        return found


async def _asking(server: str, tmp_path: Path, timeout_s: float) -> AsyncIterator[Asking]:
    database = Database(SqliteStore(tmp_path / "odyssey.db"))
    await database.write(lambda connection: add_org(connection, "one", NOW))
    name = f"{server}/v1#smollm2"
    way = ModelTransport(AddressPolicy(allow_private=True))
    settings = ModelSettings(names=frozenset({name}), timeout_s=timeout_s)
    clients = OpenedModels(database, SecretBox(b"k" * 32), settings, Transports(own=way, guarded=way))
    models = Models(database, clients, dict.fromkeys(Purpose, name), now=lambda: NOW)
    yield Asking(database, models)
    await models.close()
    await database.close()


@pytest.fixture
async def asking(server: str, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Asking]:
    async for made in _asking(server, tmp_path, 120.0):
        yield made


@pytest.fixture
async def patient(server: str, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Asking]:
    """Our own instructions are long: a machine without a GPU reads them for a minute or more."""
    async for made in _asking(server, tmp_path, 900.0):
        yield made


@pytest.fixture
async def impatient(server: str, tmp_path: Path, anyio_backend: str) -> AsyncIterator[Asking]:
    async for made in _asking(server, tmp_path, 0.2):
        yield made


async def test_its_answer_is_of_the_schema_by_grammar_and_counted(asking: Asking) -> None:
    asked = await asking.models.ask(
        Asker(org_id=1), question("get_order 4521: it was shipped, 79.50 dollars.")
    )
    assert CompiledSchema(SCHEMA).problems(asked.data) == []
    stored = await asking.stored(asked.exchange_id)
    assert (stored.status, stored.requests, stored.cost_nanousd) == ("answered", 1, None)
    assert 20 < (stored.input_tokens or 0) < 400
    assert 5 < (stored.output_tokens or 0) <= 120
    assert (stored.latency_ms or 0) > 0


async def test_the_same_question_is_not_asked_again(asking: Asking) -> None:
    first = await asking.models.ask(Asker(org_id=1), question("get_order 7001"))
    again = await asking.models.ask(Asker(org_id=1), question("get_order 7001"))
    assert (again.data, again.is_replayed, again.tokens) == (first.data, True, 0)


async def test_what_the_asker_finds_wrong_is_told_and_answered_anew(asking: Asking) -> None:
    told: list[JsonObject] = []

    def check(data: JsonObject) -> list[Problem]:
        told.append(data)
        return [] if len(told) > 1 else [Problem(path="/amount", message="must be the amount of the order")]

    asked = await asking.models.ask(Asker(org_id=1), question("get_order 4521 costs 20"), check=check)
    assert (asked.attempts, len(told)) == (2, 2)
    stored = await asking.stored(asked.exchange_id)
    assert "must be the amount of the order" in (stored.request or "")


async def test_an_answer_that_is_cut_off_twice_is_said_to_be_no_json(asking: Asking) -> None:
    with pytest.raises(ModelFailed) as raised:
        await asking.models.ask(Asker(org_id=1), question("get_order 4521", max_output_tokens=4))
    assert raised.value.reason == "not_json"


async def test_a_model_that_takes_too_long_is_a_timeout(impatient: Asking) -> None:
    words: JsonObject = {"type": "object", "properties": {"text": {"type": "string", "minLength": 2_000}}}
    with pytest.raises(ModelFailed) as raised:
        await impatient.models.ask(
            Asker(org_id=1),
            question("Tell a long story.", schema=words | {"required": ["text"]}, max_output_tokens=1_500),
        )
    assert raised.value.reason == "timeout"
    stored = await impatient.stored(1)
    assert (stored.status, stored.failure, stored.requests) == ("failed", "timeout", 1)


def _tool_call() -> ModelQuestion:
    tools = [tool("run_close", "Close an order.", ORDER_ID, ["order_id"])]
    return Desk(tools, STATE).question("run_close", {"order_id": "7001"}).question


def _run_to_judge() -> ModelQuestion:
    run = RunEvidence(
        user_instruction="Write something kind about order 4521.",
        behavior_instructions=None,
        world=World.from_initial_state(STATE),
        trace=(),
        responses=("Order 4521 is a lovely order.",),
    )
    verdict = judge(run)
    assert isinstance(verdict, Verdict)
    return judge_question(run, verdict, (run.user_instruction,), fence_key=b"a run").question


@pytest.mark.parametrize("asked", [_tool_call, _run_to_judge], ids=["simulator", "judge"])
async def test_our_own_questions_fit_its_grammar(patient: Asking, asked: Callable[[], ModelQuestion]) -> None:
    put = asked()
    got = await patient.models.ask(Asker(org_id=1), put)
    assert CompiledSchema(put.schema).problems(got.data) == []
    assert got.attempts == 1


async def test_an_open_object_stays_open(asking: Asking) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"response": {"type": "object", "properties": {"id": {"type": "string"}}}},
        "required": ["response"],
    }
    asked = await asking.models.ask(
        Asker(org_id=1), question('Answer {"response": {"id": "4521"}}', schema=schema)
    )
    assert CompiledSchema(schema).problems(asked.data) == []
