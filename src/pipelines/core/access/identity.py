"""The identity behind a request, proved by an API key or a token."""

from dataclasses import dataclass
from typing import ClassVar

from pipelines.wire.names import Role
from pipelines.wire.records import Hidden


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    #: What they hold, in the words of an error message.
    credential: ClassVar[str] = "identity"

    org_id: Hidden[int]
    name: str  # of the key, or the token's `sub`
    role: Role


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenBearer(Identity):
    credential: ClassVar[str] = "token"

    issuer: str
