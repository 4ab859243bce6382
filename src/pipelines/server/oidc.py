"""The state of a sign-in at the issuer, kept in a signed cookie until the browser returns.

The server stores nothing, so an abandoned sign-in leaves nothing behind.
"""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pipelines.core.text.json_text import InvalidJson, dumps, loads
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.issuer_sign_in import Client, IssuerSignIn
from pipelines.server.config.settings import Settings
from pipelines.storage.database.secret_box import derived_key

PURPOSE = "oidc sign-in"
LASTS_S = 10 * 60
_SIGNED_CHARS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """A sign-in that has started at the issuer and not finished yet."""

    state: str
    nonce: str
    verifier: str = field(repr=False)
    then: str  # where they wanted to go
    expires_at: str

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Oidc:
    def __init__(self, issuer: str, sign_in: IssuerSignIn, key: bytes) -> None:
        self.issuer = issuer
        self.sign_in = sign_in
        self._key = key

    @property
    def name(self) -> str:
        """On the button."""
        return urlsplit(self.issuer).hostname or self.issuer

    def begin(self, then: str, expires_at: str) -> Begun:
        return Begun(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            then=then,
            expires_at=expires_at,
        )

    def cookie(self, begun: Begun) -> str:
        parts = [begun.state, begun.nonce, begun.verifier, begun.then, begun.expires_at]
        text = base64.urlsafe_b64encode(dumps(parts)).decode()
        return self._signature(text) + text

    def read(self, cookie: str, now: str) -> Begun | None:
        """The pending sign-in of a cookie; None if the signature is wrong or it has expired."""
        signature, text = cookie[:_SIGNED_CHARS], cookie[_SIGNED_CHARS:]
        if not hmac.compare_digest(signature.encode(), self._signature(text).encode()):
            return None
        try:
            parts = loads(base64.urlsafe_b64decode(text))
        except (InvalidJson, ValueError):
            return None
        assert isinstance(parts, list), "the signature is valid"
        state, nonce, verifier, then, expires_at = map(str, parts)
        begun = Begun(state=state, nonce=nonce, verifier=verifier, then=then, expires_at=expires_at)
        return begun if expires_at > now else None

    def _signature(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def oidc_of(settings: Settings, secret_key: bytes, policy: AddressPolicy) -> Oidc | None:
    """The OIDC sign-in; None if no client is set, so that people sign in with keys, links and tokens."""
    if not settings.oidc_client_id:
        return None
    client = Client(id=settings.oidc_client_id, secret=settings.oidc_client_secret)
    sign_in = IssuerSignIn(settings.oidc_issuer, client, policy)
    return Oidc(settings.oidc_issuer, sign_in, derived_key(secret_key, PURPOSE))
