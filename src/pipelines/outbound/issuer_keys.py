"""The public keys of an OIDC issuer: fetched when first needed, kept, and fetched again as they get old or
when a token names one that is not among them. Whatever tokens are sent to us, the issuer is asked at most
once in `APART_S`."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Sequence

from jwt import PyJWK

from pipelines.core.access.issuer_url import issuer_url_complaint
from pipelines.core.access.tokens import UnverifiedToken, keys_for, public_keys
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend, Resolver, system_resolver
from pipelines.outbound.dispatch_outcome import ADDRESS_HINTS
from pipelines.outbound.post_once import Answer, NoAnswer, Post, post_once
from pipelines.outbound.system_tls import system_tls
from pipelines.wire.errors import IssuerUnavailable

DISCOVERY = "/.well-known/openid-configuration"
FETCH_S = 5.0
MAX_BYTES = 256 * 1024  # issuers with certificates beside each of a dozen keys send 40 KiB
FRESH_S = 600.0  # so long may a key that the issuer has withdrawn still be taken
KEPT_S = 3_600.0  # and so long while the issuer does not answer
APART_S = 10.0
HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": "pipelines-odyssey",
}

log = logging.getLogger(__name__)


class NotFetched(Exception):
    """What the issuer publishes could not be had; the message says what was wrong."""


class IssuerKeys:
    def __init__(
        self,
        issuer: str,
        policy: AddressPolicy,
        *,
        resolver: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self._network = GuardedBackend(policy, resolver)
        self._tls = system_tls() if tls is None else tls
        self._tls.set_alpn_protocols(["http/1.1"])
        self._clock = clock
        self._asking = asyncio.Lock()
        self._keys: tuple[PyJWK, ...] | None = None
        self._fetched_at = 0.0
        self._asked_at: float | None = None
        self._trouble = "they were not fetched yet"

    async def of_token(self, token: UnverifiedToken) -> Sequence[PyJWK]:
        """Those that may have signed it; none if it has no such key. IssuerUnavailable when not known."""
        if self._age_s > FRESH_S and (self._age_s > KEPT_S or not self._asking.locked()):
            await self._ask()
        found = keys_for(self._current_keys(), token)
        if not found:
            await self._ask()
            found = keys_for(self._current_keys(), token)
        return found

    @property
    def _age_s(self) -> float:
        return float("inf") if self._keys is None else self._clock() - self._fetched_at

    def _current_keys(self) -> tuple[PyJWK, ...]:
        if self._keys is None or self._age_s > KEPT_S:
            raise IssuerUnavailable(
                f"The keys of the token's issuer could not be fetched: {self._trouble}. Try again in"
                f" {APART_S:g} s, or use an API key."
            )
        return self._keys

    async def _ask(self) -> None:
        """Unless somebody just did: whoever sends tokens with made-up keys must not make us ask for each."""
        async with self._asking:
            if self._asked_at is not None and self._clock() - self._asked_at < APART_S:
                return
            self._asked_at = self._clock()
            try:
                self._keys = await self._fetch()
            except NotFetched as failed:
                self._trouble = str(failed)
                log.warning("The keys of %s could not be fetched: %s", self._issuer, failed)
            else:
                self._fetched_at = self._clock()

    async def _fetch(self) -> tuple[PyJWK, ...]:
        document = await discover_issuer(self._issuer, network=self._network, tls=self._tls)
        url = url_in(document, "jwks_uri")
        keys = await fetch_json(url, "its JWKS", network=self._network, tls=self._tls)
        try:
            return public_keys(keys)
        except ValueError as error:
            raise NotFetched(f"what it has at jwks_uri cannot be used: {error}") from None


async def discover_issuer(issuer: str, *, network: GuardedBackend, tls: ssl.SSLContext) -> JsonObject:
    """What an issuer publishes of itself."""
    url = issuer.rstrip("/") + DISCOVERY
    document = await fetch_json(url, "its discovery document", network=network, tls=tls)
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise NotFetched("its discovery document names another issuer than PIPELINES_OIDC_ISSUER")
    return document


async def fetch_json(url: str, what: str, *, network: GuardedBackend, tls: ssl.SSLContext) -> Json:
    request = Post(url=url, headers=HEADERS, body=b"", timeout_s=FETCH_S, most_bytes=MAX_BYTES, method="GET")
    return read_answer(await post_once(request, network=network, tls=tls), what)


def read_answer(answer: Answer | NoAnswer, what: str) -> Json:
    if isinstance(answer, NoAnswer):
        hint = ADDRESS_HINTS.get(answer.trouble)
        raise NotFetched(f"{what}: {answer.detail}" + (f" ({hint})" if hint else ""))
    if answer.file is not None:
        answer.file.close()
    if not answer.is_success:
        raise NotFetched(f"{what}: the answer was {answer.status} (redirects are not followed)")
    if answer.file is not None or len(answer.body) > MAX_BYTES:
        raise NotFetched(f"{what} is over {MAX_BYTES // 1024} KiB")
    try:
        return loads(answer.body)
    except InvalidJson as error:
        raise NotFetched(f"{what} cannot be read: {error}") from None


def url_in(document: JsonObject, name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str):
        raise NotFetched(f"its discovery document has no {name}")
    if complaint := issuer_url_complaint(url):
        raise NotFetched(f"its {name} {complaint}")
    return url
