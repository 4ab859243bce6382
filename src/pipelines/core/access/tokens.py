"""JSON Web Tokens: issues our own, and verifies the ones that are sent.

What a token must fulfil (`TokenRules`) and the keys that may have signed it come from the caller, never from
the token: its header only picks among them. Nothing of a token is repeated in an error but claims' names.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import jwt
from jwt import PyJWK, PyJWT

from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.wire import errors
from pipelines.wire.names import Role

MAX_TOKEN_CHARS = 16 * 1024  # with every group a person is in; servers in front of ours take 8 to 16 KiB
MAX_SUBJECT_CHARS = 255
MAX_KEYS = 100  # of an issuer; while keys are exchanged there are two or three
LOCAL_ISSUER = "pipelines-local"
LOCAL_AUDIENCE = "pipelines"
LOCAL_ALGORITHM = "HS256"
#: Only what is checked by a public key: with one of the HS family that key would be the secret.
PUBLIC_KEY_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_BY_KEY_TYPE = {"RSA": PUBLIC_KEY_ALGORITHMS[:6], "EC": PUBLIC_KEY_ALGORITHMS[6:9], "OKP": ("EdDSA",)}
_BY_CURVE = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
_SHAPE = re.compile(r"[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]*\.[A-Za-z0-9_=-]*")
_RANK = {Role.VIEWER: 0, Role.CONTRIBUTOR: 1, Role.ADMIN: 2, Role.OWNER: 3}

Key: TypeAlias = PyJWK | bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRules:
    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    skew_s: int  # how far the issuer's clock and ours may differ
    role_claim: str = "role"
    org_claim: str = "org"  # empty: tokens do not say whose they are


@dataclass(frozen=True, kw_only=True, slots=True)
class UnverifiedToken:
    """A token before verification: only for choosing rules and keys."""

    text: str = field(repr=False)
    algorithm: str
    key_id: str | None
    issuer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenClaims:
    """The claims of a verified token."""

    subject: str
    role: Role
    org: int | str | None  # its id or its name
    nonce: str | None = None  # of the sign-in it was issued for
    authorized_party: str | None = None  # whom it was issued to, where it is meant for several


def is_like_token(text: str) -> bool:
    """Whether this was meant to be a token rather than an API key, which may have dots in it too."""
    head = text.partition(".")[0]
    return text.count(".") >= 2 and (len(head) > MAX_TOKEN_CHARS or isinstance(_part(head), dict))


def read_token(text: str) -> UnverifiedToken:
    if len(text) > MAX_TOKEN_CHARS:
        raise errors.TokenTooLarge
    head, claims = _parts(text)
    algorithm = head.get("alg")
    if not isinstance(algorithm, str) or algorithm.lower() == "none" or text.endswith("."):
        raise errors.TokenUnsigned
    if "crit" in head or "b64" in head:
        raise errors.InvalidToken(
            "The token's header asks for an extension (crit, b64) that is not supported."
        )
    key_id, issuer = head.get("kid"), claims.get("iss")
    if not isinstance(key_id, str | None):
        raise errors.InvalidToken("The kid in the token's header must be a string.")
    if not isinstance(issuer, str):
        raise errors.TokenClaimMissing("The token has no iss claim, so its issuer is not known.")
    return UnverifiedToken(text=text, algorithm=algorithm, key_id=key_id, issuer=issuer)


def _parts(text: str) -> tuple[JsonObject, JsonObject]:
    if text.count(".") == 4:
        raise errors.InvalidToken("This token is encrypted (five parts); send a signed token instead.")
    if _SHAPE.fullmatch(text) is None:
        raise errors.InvalidToken
    head, claims = map(_part, text.split(".")[:2])
    if not isinstance(head, dict) or not isinstance(claims, dict):
        raise errors.InvalidToken
    return head, claims


def _part(text: str) -> Json:
    """Read strictly, and before the library reads it: what two readers may take differently is no token."""
    bare = text.rstrip("=")
    try:
        return loads(urlsafe_b64decode(bare + "=" * (-len(bare) % 4)))
    except (InvalidJson, ValueError):
        return None


def verified_claims(token: UnverifiedToken, keys: Sequence[Key], rules: TokenRules) -> TokenClaims:
    """Of a token that one of these keys has signed; a subclass of Unauthorized or Forbidden if not."""
    if token.algorithm not in rules.algorithms:
        raise errors.TokenAlgorithmRefused(
            f"A token of this issuer must be signed with {', '.join(rules.algorithms)}."
        )
    claims: Mapping[str, Any] | None = None
    for key in keys:
        try:
            claims = _decode(token, key, rules)
            break
        except jwt.InvalidSignatureError:
            continue
    if claims is None:
        raise errors.TokenSignatureInvalid
    subject = claims["sub"]
    if not 0 < len(subject) <= MAX_SUBJECT_CHARS or not subject.isprintable():
        raise errors.InvalidToken(f"The claim sub must be 1 to {MAX_SUBJECT_CHARS} visible characters.")
    nonce, party = claims.get("nonce"), claims.get("azp")
    return TokenClaims(
        subject=subject,
        role=_role(claims, rules.role_claim),
        org=_org(claims, rules.org_claim),
        nonce=nonce if isinstance(nonce, str) else None,
        authorized_party=party if isinstance(party, str) else None,
    )


_READER = PyJWT({"enforce_minimum_key_length": True})


def _decode(token: UnverifiedToken, key: Key, rules: TokenRules) -> Mapping[str, Any]:
    try:
        return _READER.decode(
            token.text,
            key,
            algorithms=rules.algorithms,
            issuer=rules.issuer,
            audience=rules.audience,
            leeway=rules.skew_s,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
    except jwt.InvalidSignatureError:
        raise
    except jwt.ExpiredSignatureError:
        raise errors.TokenExpired from None
    except jwt.ImmatureSignatureError:
        raise errors.TokenNotYetValid from None
    except jwt.InvalidAudienceError:
        raise errors.TokenWrongAudience(
            f"This token is not meant for this server: its aud must be or contain {rules.audience}."
        ) from None
    except jwt.InvalidIssuerError:
        raise errors.TokenWrongIssuer from None
    except jwt.MissingRequiredClaimError as missing:
        raise errors.TokenClaimMissing(
            f"The token has no {missing.claim} claim, which is required."
        ) from None
    except (jwt.PyJWTError, OverflowError):  # OverflowError: a time past what a number holds
        raise errors.InvalidToken from None


def _role(claims: Mapping[str, Any], name: str) -> Role:
    """The highest of those that are named; other words beside them are roles elsewhere."""
    found = _claim(claims, name)
    words = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    roles = [role for role in Role if role.value in words]
    if not roles:
        allowed = ", ".join(role.value for role in Role)
        raise errors.TokenRoleUnknown(f"The token's claim {name} must be or contain one of {allowed}.")
    return max(roles, key=_RANK.__getitem__)


def _org(claims: Mapping[str, Any], name: str) -> int | str | None:
    found = _claim(claims, name) if name else None
    if isinstance(found, bool) or not isinstance(found, int | str | None):
        raise errors.TokenOrgUnknown(f"The token's claim {name} must be an org's id or its name.")
    return found


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """By its name, dots and all; else each dot is a step inwards, as in `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for step in name.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def public_keys(document: Json) -> tuple[PyJWK, ...]:
    """The keys of a JWKS that may have signed a token, once for each algorithm they are good for. Those for
    other uses, and those of kinds that are not known here, are left out."""
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("it is not a JWKS (an object with a list of keys)")
    return tuple(key for jwk in listed[:MAX_KEYS] if isinstance(jwk, dict) for key in _public_keys(jwk))


def _public_keys(jwk: JsonObject) -> list[PyJWK]:
    if jwk.get("use", "sig") != "sig" or not isinstance(jwk.get("kid"), str | None):
        return []
    suited = _BY_KEY_TYPE.get(str(jwk.get("kty")), ())
    if (curve := jwk.get("crv")) is not None:
        suited = tuple(name for name in suited if name == _BY_CURVE.get(str(curve)))
    if (only := jwk.get("alg")) is not None:
        suited = tuple(name for name in suited if name == only)
    public = {
        name: value for name, value in jwk.items() if name != "d"
    }  # a private half is nobody's business
    try:
        return [PyJWK(public, algorithm) for algorithm in suited]
    except jwt.PyJWTError:
        return []


def keys_for(keys: Sequence[PyJWK], token: UnverifiedToken) -> list[PyJWK]:
    """By the key's id where both have one."""
    return [
        key
        for key in keys
        if key.algorithm_name == token.algorithm
        and (token.key_id is None or key.key_id is None or key.key_id == token.key_id)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalClaims:
    subject: str
    org_id: int
    role: Role
    issued_at: int  # seconds since 1970
    lasts_s: int
    token_id: str


def local_token(claims: LocalClaims, key: bytes) -> str:
    """One of our own."""
    body = {
        "iss": LOCAL_ISSUER,
        "aud": LOCAL_AUDIENCE,
        "sub": claims.subject,
        "org": claims.org_id,
        "role": claims.role.value,
        "iat": claims.issued_at,
        "exp": claims.issued_at + claims.lasts_s,
        "jti": claims.token_id,
    }
    return jwt.encode(body, key, LOCAL_ALGORITHM)


def local_rules(skew_s: int) -> TokenRules:
    return TokenRules(
        issuer=LOCAL_ISSUER, audience=LOCAL_AUDIENCE, algorithms=(LOCAL_ALGORITHM,), skew_s=skew_s
    )
