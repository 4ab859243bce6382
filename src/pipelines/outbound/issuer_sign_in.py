"""Letting somebody sign in at an OIDC issuer: where to send them, and what their code is worth.

The authorization code flow with PKCE (RFC 7636). What the issuer publishes of itself is kept a while; it is
asked for it at most once in `APART_S`, whoever opens the sign-in page how often.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote_plus, urlencode

from pipelines.core.text.json_text import InvalidJson, JsonObject, loads
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.issuer_keys import (
    APART_S,
    FETCH_S,
    FRESH_S,
    HEADERS,
    MAX_BYTES,
    NotFetched,
    discover_issuer,
    read_answer,
    url_in,
)
from pipelines.outbound.post_once import Answer, Post, post_once
from pipelines.outbound.system_tls import system_tls
from pipelines.wire.errors import IssuerUnavailable, SignInRefused

SCOPES = "openid profile email"
AT_ONCE = 8  # codes that are exchanged: whoever makes some up keeps no more of the issuer busy
LONGEST_SAID = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """What we are known as at the issuer."""

    id: str
    secret: str = field(repr=False)  # empty: a public client


class IssuerSignIn:
    def __init__(
        self,
        issuer: str,
        client: Client,
        policy: AddressPolicy,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self.client = client
        self._network = GuardedBackend(policy)
        self._tls = system_tls()
        self._clock = clock
        self._asking = asyncio.Lock()
        self._exchanges = asyncio.Semaphore(AT_ONCE)
        self._document: JsonObject | None = None
        self._asked_at: float | None = None
        self._trouble = ""

    async def url(self, *, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        """Where the browser is sent."""
        parameters = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": redirect_uri,
            "scope": SCOPES,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        base = await self._endpoint("authorization_endpoint")
        return f"{base}{'&' if '?' in base else '?'}{urlencode(parameters)}"

    async def id_token(self, code: str, *, verifier: str, redirect_uri: str) -> str:
        """The token that a code stands for, not verified yet. SignInRefused, with the issuer's words."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
            "client_id": self.client.id,
        }
        headers = HEADERS | {"Content-Type": "application/x-www-form-urlencoded"}
        url = await self._endpoint("token_endpoint")
        if self.client.secret:
            if self._takes_basic():
                headers |= {"Authorization": f"Basic {self._basic()}"}
            else:
                fields |= {"client_secret": self.client.secret}
        post = Post(
            url=url,
            headers=headers,
            body=urlencode(fields).encode(),
            timeout_s=FETCH_S,
            most_bytes=MAX_BYTES,
        )
        async with self._exchanges:
            answer = await post_once(post, network=self._network, tls=self._tls)
        if isinstance(answer, Answer) and 400 <= answer.status < 500:
            raise SignInRefused(f"{self._issuer} refused the code: {_refusal_text(answer)}. Sign in again.")
        try:
            body = read_answer(answer, "its answer to the code")
        except NotFetched as failed:
            raise IssuerUnavailable(f"{self._issuer} did not answer as it should: {failed}.") from None
        token = body.get("id_token") if isinstance(body, dict) else None
        if not isinstance(token, str):
            raise SignInRefused(f"{self._issuer} answered without an id_token: is the scope openid allowed?")
        return token

    async def _endpoint(self, name: str) -> str:
        try:
            return url_in(await self._load_document(), name)
        except NotFetched as failed:
            raise IssuerUnavailable(
                f"{self._issuer} cannot be asked: {failed}. Try again in {APART_S:g} s, or use a key."
            ) from None

    async def _load_document(self) -> JsonObject:
        async with self._asking:
            age_s = self._clock() - self._asked_at if self._asked_at is not None else float("inf")
            if age_s > (FRESH_S if self._document is not None else APART_S):
                self._asked_at = self._clock()
                try:
                    self._document = await discover_issuer(self._issuer, network=self._network, tls=self._tls)
                except NotFetched as failed:
                    self._trouble = str(failed)
        if self._document is None:
            raise NotFetched(self._trouble)
        return self._document

    def _takes_basic(self) -> bool:
        """The way that OpenID Connect Core calls the default, unless the issuer lists others alone."""
        methods = (self._document or {}).get("token_endpoint_auth_methods_supported")
        return not isinstance(methods, list) or not methods or "client_secret_basic" in methods

    def _basic(self) -> str:
        """RFC 6749, 2.3.1: both parts are form-encoded first."""
        both = f"{quote_plus(self.client.id)}:{quote_plus(self.client.secret)}"
        return b64encode(both.encode()).decode()


def _refusal_text(answer: Answer) -> str:
    """The issuer's own words for a refusal (RFC 6749, 5.2)."""
    try:
        text = loads(answer.body[:MAX_BYTES])
    except InvalidJson:
        text = None
    if answer.file is not None:
        answer.file.close()
    if not isinstance(text, dict):
        return f"its answer was {answer.status}"
    words = [str(text[name]) for name in ("error", "error_description") if isinstance(text.get(name), str)]
    return ": ".join(words)[:LONGEST_SAID] or f"its answer was {answer.status}"
