"""Which models one run of uploaded code may ask, and how often; what it asked is on its log.

The keys of the upstreams stay here: the code has a word of its own for them, which is worth nothing
elsewhere and dies with the sandbox.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pipelines.core.code.redaction import Redaction
from pipelines.core.models.model_upstreams import ModelUpstream, key_complaint
from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.json_text import pointer
from pipelines.core.text.problems import Problem
from pipelines.engine.access.hide_secrets import without_secrets
from pipelines.engine.access.manage_credentials import open_credentials, unknown_credentials
from pipelines.engine.calls.record_model_call import ModelCall, record_model_call
from pipelines.engine.model_calls.byte_rate import ByteRateLimiter
from pipelines.engine.model_calls.model_gateway import BYTES_AT_ONCE, BYTES_PER_S, LEAST_BYTES
from pipelines.engine.model_calls.model_tallies import ModelTally
from pipelines.engine.platform import Platform
from pipelines.processes.aside import aside
from pipelines.wire.names import ENV_MODEL_KEY, MODELS_BASE

log = logging.getLogger(__name__)
T = TypeVar("T")
KEY_PREFIX = "pipelines-run-"
#: What the frameworks of a kind read: where their model is, and what opens it.
VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}
_LISTED_BY = "the server's operator lists them in PIPELINES_MODEL_GATEWAY"


class GatewayMissing(Exception):
    """A run needs a model gateway that is not there, or whose key cannot be used. The message says which."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedUpstream:
    upstream: ModelUpstream
    key: str | None = field(repr=False)


class ModelAccess:
    """Of one call of an agent's function."""

    def __init__(
        self,
        platform: Platform,
        upstreams: Mapping[str, OpenedUpstream],
        *,
        token_hash: str,
        tally: ModelTally,
        redaction: Redaction,
        key: str,
        org_id: int,
    ) -> None:
        limits = platform.model_gateway.limits
        self.upstreams = upstreams
        self.limits = limits
        self.tally = tally
        self.redaction = redaction
        self.key = key
        self.is_over = False
        self.now = platform.now
        self.slots = asyncio.Semaphore(limits.at_once)
        self.pace = ByteRateLimiter(at_once=BYTES_AT_ONCE, per_s=BYTES_PER_S, least=LEAST_BYTES)
        self._platform = platform
        self._token_hash = token_hash
        self._org_id = org_id
        self._calls: set[asyncio.Task[None]] = set()
        self._records: set[asyncio.Task[None]] = set()

    def begin(self, call: "asyncio.Task[None]") -> None:
        """It ends with the run, if not before."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def without_secrets(self, body: bytes) -> bytes:
        """Those leave the sandbox for nowhere. Raises BodyTooLarge."""
        return await without_secrets(body, self.redaction, helpers=self._platform.helpers, owner=self._org_id)

    async def run_aside(self, read: Callable[[], T]) -> T:
        """What would hold the loop up, in the org's turn."""
        return await aside(self._org_id, read)

    def refuse(self, why: str) -> None:
        """Something was asked that is not passed on; the run says so."""
        self.tally.refuse(self.redaction.text(why))

    def record(self, call: ModelCall) -> None:
        """On its way to the log, whatever becomes of whoever asked."""
        is_well = call.error is None and call.status is not None and call.status < 400
        self.tally.end(call.usage, is_well=is_well)
        record = asyncio.create_task(self._store(call))
        self._records.add(record)
        record.add_done_callback(self._records.discard)

    async def _store(self, call: ModelCall) -> None:
        try:
            await record_model_call(self._platform, self._token_hash, call)
        except Exception:  # the code has its answer; what is missing is our own row
            log.exception("a model call could not be stored")

    async def close(self) -> None:
        """Nothing is asked any more; what is under way is cut off, and on the log when this returns."""
        self.is_over = True
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.gather(*self._records)


def new_key() -> str:
    return KEY_PREFIX + secrets.token_hex(16)


async def open_upstreams(platform: Platform, org_id: int, names: Sequence[str]) -> dict[str, OpenedUpstream]:
    """With their keys, for a run that is about to start."""
    listed = platform.model_gateway.upstreams
    missing = [name for name in names if name not in listed]
    if missing:
        raise GatewayMissing(f"this server has no model gateway {quote_names(missing)}; {_LISTED_BY}")
    credentials = [listed[name].key_credential for name in names]
    values = await open_credentials(platform, org_id, [name for name in credentials if name is not None])
    opened = {}
    for name in names:
        upstream = listed[name]
        key = values[upstream.key_credential] if upstream.key_credential is not None else upstream.key
        complaint = key_complaint(key) if key is not None else None
        if complaint is not None:
            raise GatewayMissing(f"the credential `{upstream.key_credential}` {complaint}")
        opened[name] = OpenedUpstream(upstream=upstream, key=key)
    return opened


def url_variables(upstreams: Sequence[ModelUpstream]) -> dict[str, str]:
    """Variables of the code that hold URLs, with their paths at its door. The first of a kind is its
    frameworks' default."""
    paths: dict[str, str] = {}
    for upstream in upstreams:
        path = f"{MODELS_BASE}/{upstream.name}"
        paths[upstream.url_variable] = path
        paths.setdefault(VARIABLES[upstream.kind][0], path)
    return paths


def key_variables(upstreams: Sequence[ModelUpstream], key: str) -> dict[str, str]:
    names = [VARIABLES[upstream.kind][1] for upstream in upstreams]
    return dict.fromkeys([*names, ENV_MODEL_KEY], key) if names else {}


async def gateway_problems(
    platform: Platform, org_id: int, names: Sequence[str], own_secrets: Sequence[str]
) -> list[Problem]:
    """What keeps an agent that names these gateways, and these secrets, from running here."""
    listed = platform.model_gateway.upstreams
    known = [name for name in names if name in listed]
    problems = [
        Problem(
            path=pointer(["model_gateways", index]),
            message=f"this server has no model gateway `{name[:80]}`",
            hint=_gateway_hint(name, listed),
        )
        for index, name in enumerate(names)
        if name not in listed
    ]
    for name in known:
        credential = listed[name].key_credential
        if credential is not None and await unknown_credentials(platform, org_id, [credential]):
            message = f"the key of the model gateway `{name}` is the credential `{credential}`, not set yet"
            path = pointer(["model_gateways", names.index(name)])
            problems.append(Problem(path=path, message=message, hint="set it: POST /api/credentials"))
    used_variables = {variable: name for name in known for variable in VARIABLES[listed[name].kind]}
    for index, secret in enumerate(own_secrets):
        if secret in used_variables:
            message = f"the model gateway `{used_variables[secret]}` sets `{secret}` itself"
            hint = "leave it out of `secrets`: the code needs no key of its own"
            problems.append(Problem(path=pointer(["secrets", index]), message=message, hint=hint))
    return problems


def _gateway_hint(name: str, listed: Mapping[str, ModelUpstream]) -> str:
    if not listed:
        return f"it has none; {_LISTED_BY}"
    return did_you_mean(name, listed) or f"it has {quote_names(listed)}; {_LISTED_BY}"
