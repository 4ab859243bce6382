"""Keys of a real issuer on loopback: when it is asked, when not, and what it may do wrong."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from pipelines.core.access.tokens import read_token
from pipelines.outbound import issuer_keys
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.issuer_keys import APART_S, FRESH_S, KEPT_S, IssuerKeys
from pipelines.wire.errors import IssuerUnavailable
from support.token_issuer import Issuer, SigningKey, issuing

pytestmark = pytest.mark.anyio
DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as started:
        yield started


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(issuer: Issuer, clock: Clock) -> IssuerKeys:
    return IssuerKeys(issuer.url, AddressPolicy(allow_private=True), clock=clock)


async def found(keys: IssuerKeys, token: str) -> list[str | None]:
    return [key.key_id for key in await keys.of_token(read_token(token))]


async def test_it_is_asked_once_for_many_tokens(keys: IssuerKeys, issuer: Issuer) -> None:
    every = await asyncio.gather(*(found(keys, issuer.token()) for _ in range(50)))
    assert every == [["first"]] * 50
    assert issuer.asked == [DISCOVERY, KEYS]


async def test_a_new_key_is_found_and_an_old_one_is_forgotten(
    keys: IssuerKeys, issuer: Issuer, clock: Clock
) -> None:
    before = issuer.token()
    await found(keys, before)
    issuer.rotate("second")
    clock.now += APART_S
    assert await found(keys, issuer.token()) == ["second"]
    assert await found(keys, before) == []


async def test_made_up_keys_do_not_make_us_ask_again_and_again(
    keys: IssuerKeys, issuer: Issuer, clock: Clock
) -> None:
    await found(keys, issuer.token())
    clock.now += APART_S
    strangers = [issuer.token(header={"kid": f"made-up-{n}"}) for n in range(50)]
    assert await asyncio.gather(*(found(keys, token) for token in strangers)) == [[]] * 50
    assert len(issuer.asked) == 4, "once for the keys, once for all fifty strangers"


async def test_keys_get_old(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    """A key that the issuer has withdrawn is not taken for much longer."""
    token = issuer.token()
    await found(keys, token)
    issuer.published = [SigningKey("another").jwk]
    clock.now += FRESH_S
    assert await found(keys, token) == ["first"]
    clock.now += 1
    assert await found(keys, token) == []


async def test_an_issuer_that_is_away_is_done_without_for_a_while(
    keys: IssuerKeys, issuer: Issuer, clock: Clock
) -> None:
    token = issuer.token()
    await found(keys, token)
    issuer.status = 503
    clock.now += KEPT_S
    assert await found(keys, token) == ["first"]
    clock.now += 1
    with pytest.raises(IssuerUnavailable, match="503"):
        await found(keys, token)
    asked = len(issuer.asked)
    with pytest.raises(IssuerUnavailable):
        await found(keys, token)
    assert len(issuer.asked) == asked, "it was asked a moment ago"
    issuer.status = 200
    clock.now += APART_S
    assert await found(keys, token) == ["first"]


async def test_what_an_issuer_may_do_wrong_is_said(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "FETCH_S", 0.3)
    token = issuer.token()

    async def trouble() -> str:
        keys = IssuerKeys(issuer.url, AddressPolicy(allow_private=True))
        with pytest.raises(IssuerUnavailable) as raised:
            await found(keys, token)
        return raised.value.message

    for discovery, said in (
        ({"issuer": "https://id.example.com", "jwks_uri": f"{issuer.url}/keys"}, "another issuer"),
        ({"issuer": issuer.url}, "no jwks_uri"),
        ({"issuer": issuer.url, "jwks_uri": "http://keys.example.com/"}, "https://"),
        ({"issuer": issuer.url, "jwks_uri": "file:///etc/passwd"}, "https://"),
        ({"issuer": issuer.url, "jwks_uri": f"{issuer.url}/.well-known/openid-configuration"}, "not a JWKS"),
        ({"issuer": issuer.url, "jwks_uri": "https://127.0.0.1:9/"}, "Connection refused"),
    ):
        issuer.discovery = discovery
        assert said in await trouble()
    for body, said in ((b"<html>", "JSON"), (b" " * 300_000, "256 KiB"), (b"[" * 1000, "JSON")):
        issuer.body = body
        assert said in await trouble()
    issuer.body, issuer.status = b"{}", 302
    assert "302" in await trouble()


async def test_an_issuer_that_does_not_answer_holds_nobody_up_for_long(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "FETCH_S", 0.2)
    monkeypatch.setattr(issuer, "answer", lambda path: time.sleep(1) or b"{}")
    keys = IssuerKeys(issuer.url, AddressPolicy(allow_private=True))
    started = time.monotonic()
    every = await asyncio.gather(*(found(keys, issuer.token()) for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in every] == [IssuerUnavailable] * 5
    assert time.monotonic() - started < 0.9, "all wait for one try"


async def test_addresses_that_are_not_to_be_called_are_not(issuer: Issuer) -> None:
    keys = IssuerKeys(issuer.url, AddressPolicy(allow_private=False))
    with pytest.raises(IssuerUnavailable, match="PIPELINES_ALLOW_PRIVATE_ENDPOINTS"):
        await found(keys, issuer.token())
    assert issuer.asked == []
