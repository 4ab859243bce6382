"""Tokens over the API: who gets in where, as whom, and what is said to everybody else."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest

from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings
from pipelines.server.tokens import mint, signing_key
from pipelines.storage.database.secret_box import decoded_key
from pipelines.wire.names import Role
from support.desk import House, Row, answered, client_of, open_house, refused
from support.token_issuer import AUDIENCE, Issuer, encoded, issuing

pytestmark = pytest.mark.anyio
WHO = "/api/v1/whoami"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as started:
        yield started


@pytest.fixture
async def trusting(tmp_path: Path, issuer: Issuer, anyio_backend: str) -> AsyncIterator[House]:
    """A server that takes the issuer's tokens."""
    async with open_house(
        tmp_path / "trusting", oidc_issuer=issuer.url, oidc_audience=AUDIENCE, oidc_org_claim="org"
    ) as opened:
        yield opened


def made(house: House, **asked: Any) -> str:
    return mint(house.settings, **({"role": "viewer", "subject": "ci", "hours": 1} | asked))


async def ask(house: House, token: str, path: str = WHO) -> httpx2.Response:
    return await client_of(house.transport, token).get(path)


async def test_a_token_of_ours_says_who_is_asking(house: House) -> None:
    for role in Role:
        who = answered(await ask(house, made(house, role=role.value, subject="ada@example.com")))
        assert who == {
            "name": "ada@example.com",
            "role": role.value,
            "org_id": 1,
            "credential": "token",
            "issuer": "pipelines-local",
        }


async def test_a_key_goes_on_being_taken(house: House) -> None:
    who = answered(await house.owner.client.get(WHO))
    assert (who["credential"], who["role"], who["org_id"]) == ("key", "owner", house.owner.id)
    by_header = await house.stranger.get(WHO, headers={"X-API-Key": house.owner.key})
    assert answered(by_header) == who


async def test_nothing_sent_is_told_of_both_ways_in(house: House) -> None:
    response = await house.stranger.get(WHO)
    assert "pipelines token" in refused(response, 401, "missing_api_key")["message"]
    assert response.headers["www-authenticate"] == "Bearer"


async def test_a_token_is_of_no_use_elsewhere(house: House) -> None:
    token = made(house, role="owner")
    for path in ("/api/agents", "/api/keys", "/api/v1", "/api/v1x/whoami", "/api/v12/whoami"):
        response = await ask(house, token, path)
        assert response.status_code in (401, 404), path
    assert "/api/v1/" in refused(await ask(house, token, "/api/agents"), 401, "invalid_api_key")["message"]


async def test_errors_under_v1_carry_the_message_twice(house: House) -> None:
    for response in (
        await house.stranger.get(WHO),
        await ask(house, "pk_live_unknown"),
        await house.owner.client.get("/api/v1/nothing"),
        await house.owner.client.post(WHO),
    ):
        body = response.json()
        assert body["detail"] == body["error"]["message"]
    assert "detail" not in (await house.stranger.get("/api/agents")).json()


def local_claims(**changes: Any) -> Row:
    now = int(time.time())
    good = {"iss": "pipelines-local", "aud": "pipelines", "sub": "ci", "org": 1, "role": "owner"}
    return good | {"iat": now, "exp": now + 60} | changes


async def test_forged_tokens_of_ours_are_refused_each_by_its_name(house: House) -> None:
    secret = (house.settings.data_dir / "secret.key").read_text()
    key = signing_key(decoded_key(secret))
    good = jwt.encode(local_claims(), key, "HS256")
    assert (await ask(house, good)).status_code == 200
    head, body, signature = good.split(".")
    stronger = encoded(local_claims(sub="root"))
    forged = {
        f"{encoded({'alg': 'none'})}.{body}.": "token_unsigned",
        f"{head}.{body}.": "token_unsigned",
        f"{head}.{stronger}.{signature}": "token_signature_invalid",
        jwt.encode(local_claims(), "a guess of at least 32 characters", "HS256"): "token_signature_invalid",
        jwt.encode(local_claims(), decoded_key(secret), "HS256"): "token_signature_invalid",
        jwt.encode(local_claims(), key * 2, "HS512"): "token_algorithm_refused",
        jwt.encode(local_claims(exp=int(time.time()) - 61), key, "HS256"): "token_expired",
        jwt.encode(local_claims(nbf=int(time.time()) + 90), key, "HS256"): "token_not_yet_valid",
        jwt.encode(local_claims(iss="https://id.example.com"), key, "HS256"): "token_wrong_issuer",
        jwt.encode(local_claims(aud="elsewhere"), key, "HS256"): "token_wrong_audience",
        f"{head}.{body}.{signature}{'A' * 20_000}": "token_too_large",
    }
    for token, code in forged.items():
        response = await ask(house, token)
        refused(response, 401, code)
        assert signature not in response.text
        assert secret.strip() not in response.text
    for changes, code in (({"role": "root"}, "token_role_unknown"), ({"org": 2}, "token_org_unknown")):
        refused(await ask(house, jwt.encode(local_claims(**changes), key, "HS256")), 403, code)


async def test_a_token_of_another_server_is_refused(house: House, tmp_path: Path) -> None:
    async with open_house(tmp_path / "another") as another:
        refused(await ask(house, made(another)), 401, "token_signature_invalid")


async def test_a_token_is_of_one_org(house: House) -> None:
    another = await house.another_org()
    with pytest.raises(Refused, match="org"):
        made(house)
    assert answered(await ask(house, made(house, org="another")))["org_id"] == another.id
    assert answered(await ask(house, made(house, org=str(house.owner.id))))["org_id"] == house.owner.id


async def test_whoever_the_issuer_vouches_for_gets_in(trusting: House, issuer: Issuer) -> None:
    who = answered(await ask(trusting, issuer.token(role="admin")))
    assert who == {"name": "ada", "role": "admin", "org_id": 1, "credential": "token", "issuer": issuer.url}
    assert answered(await ask(trusting, made(trusting)))["issuer"] == "pipelines-local"
    for _ in range(20):
        answered(await ask(trusting, issuer.token()))
    assert len(issuer.asked) == 2, "its keys were kept"


async def test_forged_tokens_of_the_issuer_are_refused(trusting: House, issuer: Issuer) -> None:
    claims = issuer.claims(role="owner")
    body = encoded(claims)
    head = encoded({"alg": "HS256", "kid": issuer.key.kid})
    mac = jwt.get_algorithm_by_name("HS256").sign(f"{head}.{body}".encode(), issuer.key.public_pem)
    own = signing_key(decoded_key((trusting.settings.data_dir / "secret.key").read_text()))
    forged = {
        f"{head}.{body}.{encoded(mac)}": "token_algorithm_refused",
        jwt.encode(claims, own, "HS256"): "token_algorithm_refused",
        f"{encoded({'alg': 'none', 'kid': issuer.key.kid})}.{body}.": "token_unsigned",
        issuer.token(header={"kid": "made-up"}): "token_key_unknown",
        issuer.token(aud="another application"): "token_wrong_audience",
        issuer.token(iss=f"{issuer.url}/"): "token_wrong_issuer",
        issuer.token(iss="pipelines-local"): "token_algorithm_refused",
        issuer.token(exp=int(time.time()) - 61): "token_expired",
    }
    for token, code in forged.items():
        refused(await ask(trusting, token), 401, code)
    refused(await ask(trusting, issuer.token(role="manager")), 403, "token_role_unknown")


async def test_a_token_names_its_org_once_there_are_several(trusting: House, issuer: Issuer) -> None:
    assert answered(await ask(trusting, issuer.token()))["org_id"] == 1
    another = await trusting.another_org()
    refused(await ask(trusting, issuer.token()), 403, "token_org_unknown")
    refused(await ask(trusting, issuer.token(org="nobody's")), 403, "token_org_unknown")
    assert answered(await ask(trusting, issuer.token(org="another")))["org_id"] == another.id
    assert answered(await ask(trusting, issuer.token(org=1)))["org_id"] == 1
    await trusting.another_org("another")
    refused(await ask(trusting, issuer.token(org="another")), 403, "token_org_unknown")


async def test_an_issuer_that_is_away_is_no_fault_of_the_token(trusting: House, issuer: Issuer) -> None:
    issuer.status = 500
    response = await ask(trusting, issuer.token())
    refused(response, 503, "issuer_unavailable")
    assert int(response.headers["retry-after"]) >= 1
    assert answered(await ask(trusting, made(trusting)))["name"] == "ci", "ours need no issuer"


def test_settings_of_an_issuer_are_checked_at_start() -> None:
    for issuer, audience, said in (
        ("https://id.example.com", "", "PIPELINES_OIDC_AUDIENCE"),
        ("http://id.example.com", "a", "https://"),
        ("https://user:secret@id.example.com", "a", "user name"),
        ("https://id.example.com/?tenant=1", "a", "query"),
        ("id.example.com", "a", "https://"),
    ):
        with pytest.raises(Refused) as raised:
            load_settings({"PIPELINES_OIDC_ISSUER": issuer, "PIPELINES_OIDC_AUDIENCE": audience})
        (problem,) = raised.value.problems
        assert said in f"{problem.path} {problem.message}"
    settings = load_settings(
        {"PIPELINES_OIDC_ISSUER": "https://id.example.com/realms/a", "PIPELINES_OIDC_AUDIENCE": "a"}
    )
    assert (settings.oidc_role_claim, settings.oidc_org_claim, settings.token_skew_s) == ("role", "", 60)
