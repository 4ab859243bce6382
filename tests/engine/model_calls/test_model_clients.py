"""Which model a name opens for an org, with whose key, and where that key goes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pipelines.engine.model_calls.model_clients import ModelSettings, OpenedModels, Transports
from pipelines.engine.model_calls.model_secrets import ModelSecrets
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.model_transport import ModelTransport
from pipelines.storage.accounts.credentials import delete_credential, row_of, set_credential
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox
from pipelines.wire.errors import ModelFailed
from support.provider_api import PlayedProvider, Reply, chat, played, question, responses

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
OPERATORS, ORGS = "sk-operator-012345", "sk-org-0123456789"
BOX = SecretBox(b"k" * 32)


@pytest.fixture
async def database(sqlite_database: Database) -> Database:
    await sqlite_database.write(
        lambda connection: [add_org(connection, name, NOW) for name in ("one", "two")]
    )
    return sqlite_database


async def credential(database: Database, name: str, value: str, *, org_id: int = 1, now: str = NOW) -> int:
    sealed = BOX.seal(value, row=row_of(org_id, name))
    made = await database.write(
        lambda c: set_credential(c, org_id=org_id, name=name, sealed_value=sealed, now=now)
    )
    return made.id


@asynccontextmanager
async def opened(
    database: Database, *names: str, private: bool = True, at_once: int = 32
) -> AsyncIterator[OpenedModels]:
    keys = {"OPENAI_API_KEY": OPERATORS, "MODEL_API_KEY": OPERATORS}
    settings = ModelSettings(
        names=frozenset(names), keys=keys, allows_private=private, at_once=at_once, timeout_s=5.0
    )
    ways = Transports(
        own=ModelTransport(AddressPolicy(allow_private=True)),
        guarded=ModelTransport(AddressPolicy(allow_private=private)),
    )
    models = OpenedModels(database, BOX, settings, ways)
    try:
        yield models
    finally:
        await models.close()


async def key_sent(models: OpenedModels, provider: PlayedProvider, model: str, *, org_id: int = 1) -> str:
    client = await models.client_for(org_id, model)
    await client.ask(question())
    return provider.got[-1].headers["authorization"].removeprefix("Bearer ")


async def test_the_orgs_own_key_wins_and_is_the_orgs_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await credential(database, "OPENAI_API_KEY", ORGS)
    async with played(responses('{"n": 3}')) as provider, opened(database, "openai:gpt-5-mini") as models:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        assert await key_sent(models, provider, "openai:gpt-5-mini") == ORGS
        assert await key_sent(models, provider, "openai:gpt-5-mini", org_id=2) == OPERATORS


async def test_the_operators_key_goes_to_no_url_that_an_org_names(database: Database) -> None:
    async with played(chat('{"n": 3}')) as provider:
        url = f"{provider.url}/v1#local"
        async with opened(database) as models:
            assert await key_sent(models, provider, url) == "none"
            await credential(database, "OPENAI_API_KEY", ORGS)
            assert await key_sent(models, provider, url) == "none", "nor another provider's"
            await credential(database, "MODEL_API_KEY", ORGS)
            assert await key_sent(models, provider, url) == ORGS
        async with opened(database, url) as models:
            assert await key_sent(models, provider, url, org_id=2) == OPERATORS, "the settings name it"


@pytest.mark.parametrize(
    "model", ["https://models.example/v1#m", "scripted:/etc/passwd", "nobody:x", "gpt-5"]
)
async def test_what_an_org_may_not_name_is_not_opened(database: Database, model: str) -> None:
    async with opened(database, private=False) as models:
        with pytest.raises(ModelFailed) as raised:
            await models.client_for(1, model)
    assert raised.value.reason == "unknown_model"
    assert "passwd" not in str(raised.value)


async def test_without_a_key_the_refusal_says_where_to_set_one(database: Database) -> None:
    async with opened(database) as models:
        with pytest.raises(ModelFailed, match="ANTHROPIC_API_KEY") as raised:
            await models.client_for(1, "anthropic:claude-haiku-4-5")
        assert await models.key_from(1, "openai:gpt-5-mini") == "server"
        await credential(database, "OPENAI_API_KEY", ORGS)
        assert await models.key_from(1, "openai:gpt-5-mini") == "credential"
    assert raised.value.reason == "auth"


async def test_a_provider_is_asked_so_many_questions_at_a_time_and_orgs_take_turns(
    database: Database,
) -> None:
    served: list[int] = []

    async with played(Reply(body=chat('{"n": 3}').body, delay_s=0.02)) as provider:
        url = f"{provider.url}/v1#local"
        async with opened(database, url, at_once=2) as models:

            async def ask(org_id: int) -> None:
                client = await models.client_for(org_id, url)
                await client.ask(question(f"of org {org_id}"))
                served.append(org_id)

            await asyncio.gather(*[ask(1) for _ in range(8)], ask(2))
    assert len(provider.got) == 9
    assert served.index(2) < 4, "an org that asks once does not wait for one that asks eight times"


async def test_secrets_of_the_org_and_keys_are_hidden_until_they_are_gone(database: Database) -> None:
    secrets = ModelSecrets(database, BOX, {"OPENAI_API_KEY": OPERATORS})
    made = await credential(database, "SHOP_KEY", "shop-secret-1")
    text = f"shop-secret-1 and {OPERATORS}"
    assert (await secrets.redaction_of(1)).text(text) == "[secret SHOP_KEY] and [secret OPENAI_API_KEY]"
    assert (await secrets.redaction_of(2)).text(text) == "shop-secret-1 and [secret OPENAI_API_KEY]"
    await credential(database, "SHOP_KEY", "shop-secret-2", now="2026-05-01T12:00:01.000000Z")
    assert (await secrets.redaction_of(1)).text("shop-secret-2") == "[secret SHOP_KEY]"
    await database.write(lambda c: delete_credential(c, org_id=1, credential_id=made))
    assert (await secrets.redaction_of(1)).text("shop-secret-2") == "shop-secret-2"
