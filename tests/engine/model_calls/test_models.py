"""Asking a model through the platform: checked, stored, kept, paid for."""

import asyncio
from dataclasses import replace

import pytest

from pipelines.core.code.redaction import Redaction
from pipelines.core.models.model_question import Failure, ModelMessage, ModelQuestion, Purpose
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.engine.model_calls.ask_models import Asker, Models
from pipelines.models.client import ModelClient
from pipelines.models.scripted import Scripted, ScriptedModel
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.database import Database
from pipelines.storage.runs.model_exchanges import exchange_by_id
from pipelines.wire.errors import ModelFailed, ModelNotConfigured

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
QUESTION = ModelQuestion(
    purpose=Purpose.JUDGE,
    prompt_version="test/1",
    system="Count.",
    messages=(ModelMessage(role="user", content="How many orders?"),),
    schema=SCHEMA,
)
ASKER = Asker(org_id=1)


class OneModel:
    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    async def client_for(self, org_id: int, model: str) -> ModelClient:
        return self.model

    async def close(self) -> None: ...


@pytest.fixture
async def database(sqlite_database: Database) -> Database:
    await sqlite_database.write(
        lambda connection: [add_org(connection, name, NOW) for name in ("one", "two")]
    )
    return sqlite_database


def models(database: Database, *script: Scripted) -> tuple[Models, ScriptedModel]:
    model = ScriptedModel(script, nanousd_a_token=100)
    return Models(database, OneModel(model), {Purpose.JUDGE: "scripted:x"}, now=lambda: NOW), model


async def test_an_answer_is_stored_with_its_question_and_cost(database: Database) -> None:
    asking, _ = models(database, Scripted(answer={"n": 3}))
    asked = await asking.ask(ASKER, QUESTION)
    assert (asked.data, asked.attempts, asked.is_replayed) == ({"n": 3}, 1, False)
    stored = await database.read(lambda c: exchange_by_id(c, org_id=1, exchange_id=asked.exchange_id))
    assert stored is not None
    assert stored.status == "answered"
    assert "How many orders?" in (stored.request or "")
    assert stored.answer == '{"n":3}'
    assert (
        stored.cost_nanousd
        == asked.cost_nanousd
        == 100 * ((stored.input_tokens or 0) + (stored.output_tokens or 0))
    )


async def test_the_same_question_is_asked_once_and_answered_alike(database: Database) -> None:
    answers = iter(({"n": 1}, {"n": 2}))
    asking, model = models(database, Scripted(answer=lambda question: next(answers)))
    first, second = await asyncio.gather(asking.ask(ASKER, QUESTION), asking.ask(ASKER, QUESTION))
    later = await asking.ask(ASKER, QUESTION)
    assert [each.data for each in (first, second, later)] == [{"n": 1}] * 3
    assert len(model.asked) == 1
    assert (later.is_replayed, later.cost_nanousd) == (True, 0)


async def test_another_org_is_not_answered_from_ours(database: Database) -> None:
    asking, model = models(database, Scripted(answer={"n": 3}))
    await asking.ask(ASKER, QUESTION)
    await asking.ask(Asker(org_id=2), QUESTION)
    assert len(model.asked) == 2


async def test_a_wrong_answer_is_asked_for_once_more_with_what_is_wrong(database: Database) -> None:
    script = (Scripted(answer={"n": "three"}, times=1), Scripted(answer={"n": 3}))
    asking, model = models(database, *script)
    asked = await asking.ask(ASKER, QUESTION)
    assert (asked.data, asked.attempts) == ({"n": 3}, 2)
    both = await database.read(lambda c: [exchange_by_id(c, org_id=1, exchange_id=each) for each in (1, 2)])
    assert asked.cost_nanousd == sum(each.cost_nanousd or 0 for each in both if each is not None)
    assert "/n" in model.asked[1].messages[-1].content
    assert (await asking.ask(ASKER, QUESTION)).data == {"n": 3}
    assert len(model.asked) == 2, "what came of it in the end is what is kept"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"n": "three"}, "wrong_schema"),
        ("n is three", "not_json"),
        ('{"n": 3', "not_json"),
        ('{"n": \0 \ud800', "not_json"),
        ("", "not_json"),
        (Failure.TIMEOUT, "timeout"),
        (Failure.AUTH, "auth"),
        (Failure.UNKNOWN_MODEL, "unknown_model"),
        (Failure.RATE_LIMITED, "rate_limited"),
        (Failure.UNAVAILABLE, "unavailable"),
        (Failure.REFUSED, "refused"),
    ],
)
async def test_nothing_usable_is_an_error_with_its_reason(
    database: Database, answer: object, reason: str
) -> None:
    asking, model = models(database, Scripted(answer=answer))  # type: ignore[arg-type]
    with pytest.raises(ModelFailed) as raised:
        await asking.ask(ASKER, QUESTION)
    assert raised.value.reason == reason
    assert len(model.asked) == (1 if isinstance(answer, Failure) else 2)


async def test_what_the_asker_finds_wrong_counts_like_the_schema(database: Database) -> None:
    asking, _ = models(database, Scripted(answer={"n": -1}, times=1), Scripted(answer={"n": 1}))

    def check(data: JsonObject) -> list[Problem]:
        return [] if data["n"] == 1 else [Problem(path="/n", message="is negative")]

    assert (await asking.ask(ASKER, QUESTION, check=check)).data == {"n": 1}


async def test_without_a_model_the_refusal_names_the_setting(database: Database) -> None:
    with pytest.raises(ModelNotConfigured, match="PIPELINES_JUDGE_MODEL"):
        await Models(database).ask(ASKER, QUESTION)


async def test_secrets_are_sent_to_nobody(database: Database) -> None:
    model = ScriptedModel([Scripted(answer={"n": 3})])

    async def redaction_of(org_id: int) -> Redaction:
        return Redaction({"SHOP_KEY": "orders? 12345678"})

    names = {Purpose.JUDGE: "scripted:x"}
    asking = Models(database, OneModel(model), names, now=lambda: NOW, redaction_of=redaction_of)
    asked = ModelMessage(role="user", content="the key is orders? 12345678")
    await asking.ask(ASKER, replace(QUESTION, messages=(asked,)))
    assert model.asked[0].messages[0].content == "the key is [secret SHOP_KEY]"


async def test_an_answer_that_is_too_large_is_not_asked_for_again(database: Database) -> None:
    asking, model = models(database, Scripted(answer={"n": 3, "text": "x" * 1024 * 1024}))
    with pytest.raises(ModelFailed, match="over 256 KiB") as raised:
        await asking.ask(ASKER, QUESTION)
    assert (raised.value.reason, len(model.asked)) == ("too_large", 1)
    stored = await database.read(lambda c: exchange_by_id(c, org_id=1, exchange_id=1))
    assert stored is not None
    assert (stored.status, stored.failure, len(stored.answer or "")) == ("failed", "too_large", 256 * 1024)


async def test_a_question_that_is_too_large_is_sent_to_nobody(database: Database) -> None:
    asking, model = models(database, Scripted(answer={"n": 3}))
    long = ModelMessage(role="user", content="x" * 1024 * 1024)
    with pytest.raises(ModelFailed) as raised:
        await asking.ask(ASKER, replace(QUESTION, messages=(long,)))
    assert (raised.value.reason, model.asked) == ("too_large", [])


async def test_a_price_below_nothing_is_none(database: Database) -> None:
    model = ScriptedModel([Scripted(answer={"n": 3})], nanousd_a_token=-5)
    asking = Models(database, OneModel(model), {Purpose.JUDGE: "scripted:x"}, now=lambda: NOW)
    assert (await asking.ask(ASKER, QUESTION)).cost_nanousd is None
    stored = await database.read(lambda c: exchange_by_id(c, org_id=1, exchange_id=1))
    assert stored is not None
    assert stored.cost_nanousd is None
