"""Verifies tokens. Our own are signed with a key derived from the server's secret key; those of an OIDC
issuer with the keys that it publishes. The claim `iss` of a token decides which rules apply."""

import hmac
import secrets
import time
from dataclasses import replace
from pathlib import Path

from pipelines.core.access.identity import TokenBearer
from pipelines.core.access.tokens import (
    LOCAL_ISSUER,
    MAX_SUBJECT_CHARS,
    PUBLIC_KEY_ALGORITHMS,
    Key,
    LocalClaims,
    TokenClaims,
    TokenRules,
    UnverifiedToken,
    local_rules,
    local_token,
    read_token,
    verified_claims,
)
from pipelines.core.text.problems import Problem, Refused
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.issuer_keys import IssuerKeys
from pipelines.server.config.settings import Settings
from pipelines.server.service.first_start import SECRET_FILE
from pipelines.storage.accounts.keys import Org, orgs_called, some_orgs
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import derived_key, load_or_make_key
from pipelines.wire.errors import (
    InvalidToken,
    TokenKeyUnknown,
    TokenOrgUnknown,
    TokenWrongAudience,
    TokenWrongIssuer,
)
from pipelines.wire.names import API_V1, OTLP_TRACES, Role

PURPOSE = "token HS256"


def takes_tokens(path: str) -> bool:
    return path.startswith(API_V1) or path == OTLP_TRACES


def signing_key(secret_key: bytes) -> bytes:
    return derived_key(secret_key, PURPOSE)


class Tokens:
    def __init__(
        self, database: Database, local_key: bytes, rules: TokenRules, issuer: IssuerKeys | None = None
    ) -> None:
        """`rules` are those of the issuer; without one, only their clock skew is of use."""
        self._database = database
        self._local_key = local_key
        self._local_rules = local_rules(rules.skew_s)
        self._rules = rules
        self._issuer = issuer

    async def bearer(self, text: str) -> TokenBearer:
        """The holder of the token; raises Unauthorized or Forbidden with the reason."""
        token = read_token(text)
        rules = self._rules_of(token)
        return await self._holder(verified_claims(token, await self._keys_of(token, rules), rules), rules)

    async def signed_in(self, id_token: str, *, client_id: str, nonce: str) -> TokenBearer:
        """The person whom the issuer has just signed in. The audience of such a token must be the client, and
        its nonce must belong to this sign-in."""
        token = read_token(id_token)
        if self._issuer is None or token.issuer != self._rules.issuer:
            raise TokenWrongIssuer
        rules = replace(self._rules, audience=client_id)
        claims = verified_claims(token, await self._keys_of(token, rules), rules)
        if claims.nonce is None or not hmac.compare_digest(claims.nonce.encode(), nonce.encode()):
            raise InvalidToken(
                "The token was not issued for this sign-in, because its"
                " nonce differs. Start the sign-in again."
            )
        if claims.authorized_party not in (None, client_id):
            raise TokenWrongAudience(
                "The token was issued to a different client than PIPELINES_OIDC_CLIENT_ID."
            )
        return await self._holder(claims, rules)

    async def _holder(self, claims: TokenClaims, rules: TokenRules) -> TokenBearer:
        org = await self._database.read(lambda connection: _org(connection, claims.org, rules.org_claim))
        return TokenBearer(org_id=org.id, name=claims.subject, role=claims.role, issuer=rules.issuer)

    def _rules_of(self, token: UnverifiedToken) -> TokenRules:
        if token.issuer == LOCAL_ISSUER:
            return self._local_rules
        if self._issuer is None or token.issuer != self._rules.issuer:
            raise TokenWrongIssuer
        return self._rules

    async def _keys_of(self, token: UnverifiedToken, rules: TokenRules) -> list[Key]:
        if rules is self._local_rules:
            return [self._local_key]
        if token.algorithm not in rules.algorithms:  # refused before any keys are fetched
            return []
        assert self._issuer is not None
        keys = await self._issuer.of_token(token)
        if not keys:
            raise TokenKeyUnknown
        return list(keys)


def tokens_of(settings: Settings, database: Database, secret_key: bytes, policy: AddressPolicy) -> Tokens:
    rules = TokenRules(
        issuer=settings.oidc_issuer,
        audience=settings.oidc_audience,
        algorithms=PUBLIC_KEY_ALGORITHMS,
        skew_s=settings.token_skew_s,
        role_claim=settings.oidc_role_claim,
        org_claim=settings.oidc_org_claim,
    )
    issuer = IssuerKeys(settings.oidc_issuer, policy) if settings.oidc_issuer else None
    return Tokens(database, signing_key(secret_key), rules, issuer)


def _org(connection: Connection, named: int | str | None, claim: str) -> Org:
    """The org that the token names; without a name, the only org of the server."""
    if named is not None:
        found = orgs_called(connection, named)
        message = f"The token's claim {claim} must be the id or the name of one org of this server."
    else:
        found = some_orgs(connection, 2)
        message = (
            f"This server has several orgs, but the token has no claim {claim} that names one."
            if claim
            else "This server has several orgs. Set PIPELINES_OIDC_ORG_CLAIM to the claim that names one."
        )
    if len(found) != 1:
        raise TokenOrgUnknown(message)
    return found[0]


def mint(settings: Settings, *, role: str, subject: str, hours: float, org: str | None = None) -> str:
    """Creates a token for the server of this data directory. Raises Refused if something is missing."""
    problems = []
    if role not in list(Role):
        problems.append(Problem(path="--role", message=f"must be one of {', '.join(Role)}"))
    if not 0 < len(subject) <= MAX_SUBJECT_CHARS or not subject.isprintable():
        problems.append(
            Problem(path="--subject", message=f"must be 1 to {MAX_SUBJECT_CHARS} visible characters")
        )
    if problems:
        raise Refused(problems, "the token")
    org_id = _stored_org(settings, org).id
    claims = LocalClaims(
        subject=subject,
        org_id=org_id,
        role=Role(role),
        issued_at=int(time.time()),
        lasts_s=max(1, round(hours * 3600)),
        token_id=secrets.token_hex(16),
    )
    return local_token(claims, signing_key(_secret_key(settings)))


def _secret_key(settings: Settings) -> bytes:
    file: Path = settings.data_dir / SECRET_FILE
    if not settings.secret_key and not file.exists():
        message = "is missing: set PIPELINES_SECRET_KEY, or give the --data-dir of the server"
        raise Refused([Problem(path=str(file), message=message)], "the secret key")
    try:
        return load_or_make_key(file, settings.secret_key)
    except (OSError, ValueError) as error:
        raise Refused([Problem(path=str(file), message=str(error))], "the secret key") from None


def _stored_org(settings: Settings, named: str | None) -> Org:
    if not settings.is_shared and not settings.database_path.exists():
        message = "is missing: start the server once with `pipelines up`, or give its --data-dir"
        raise Refused([Problem(path=str(settings.database_path), message=message)], "the database")
    store = settings.store()
    try:
        connection = store.connect(read_only=True)
    except Exception as error:
        if not store.is_unavailable(error):
            raise
        raise Refused([Problem(path="the database", message=str(error).strip())], "the database") from None
    try:
        orgs = some_orgs(connection, 20)
        matching = [org for org in orgs if named is None or named in (str(org.id), org.name)]
    finally:
        connection.close()
    if len(matching) != 1:
        listed = ", ".join(f"{org.id} ({org.name})" for org in orgs) or "none"
        raise Refused(
            [Problem(path="--org", message=f"must name one of this server's orgs: {listed}")], "the org"
        )
    return matching[0]
