"""Which model a name opens for an org, and with whose key.

An org's own key wins. The operator's key goes only where the operator's settings send it, or to the host of
its provider: a URL that an org names gets the org's credential or none, and goes through the address guard.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.core.models.model_names import ModelName, for_orgs, read_model_name
from pipelines.core.models.model_question import Failure, ModelCallFailed
from pipelines.core.text.problems import Problem
from pipelines.models.client import ModelClient
from pipelines.models.open_model import is_priced, open_model
from pipelines.models.retrying import Patience, RetryingModel
from pipelines.storage.accounts.credentials import credential_by_name, row_of
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox, UnreadableSecret
from pipelines.wire.errors import ModelFailed

if TYPE_CHECKING:
    import httpx2

MOST_OPEN = 256  # of orgs' own; the one asked longest ago is forgotten


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    """What an operator says of models."""

    names: frozenset[str] = frozenset()  # that the settings give to purposes
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # the environment's, by variable
    allows_private: bool = False
    at_once: int = 32  # questions to one provider
    timeout_s: float = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Transports:
    """How models are reached: those of the operator's settings, and those that an org names by URL."""

    own: "httpx2.AsyncBaseTransport"
    guarded: "httpx2.AsyncBaseTransport"


class _ApiKey(NamedTuple):
    value: str
    origin: str  # the org's `credential`, or the `server`


class OpenedModels:
    """Used on one event loop. Opened when first asked, and kept."""

    def __init__(
        self, database: Database, secrets: SecretBox, settings: ModelSettings, transports: Transports
    ) -> None:
        self._database = database
        self._secrets = secrets
        self._settings = settings
        self._transports = transports
        self._open: dict[tuple[str, str | None, bool], ModelClient] = {}
        self._opening: dict[tuple[str, str | None, bool], asyncio.Lock] = {}
        self._slots: dict[str, FairSlots] = {}

    async def client_for(self, org_id: int, model: str) -> ModelClient:
        name = self._name(model)
        is_own = model in self._settings.names
        key = await self._key(org_id, name, is_own=is_own)
        value = key.value if key is not None else None
        client = await self._open_client(name, value, is_guarded=name.kind == "url" and not is_own)
        slots = self._slots.setdefault(name.served_by, FairSlots(self._settings.at_once, guests=1))

        def turn() -> AbstractAsyncContextManager[None]:
            return slots.slot(SlotHolder(org_id))

        return RetryingModel(client, Patience(timeout_s=self._settings.timeout_s), turn)

    async def close(self) -> None:
        self._open.clear()
        await self._transports.own.aclose()
        await self._transports.guarded.aclose()

    def complaint(self, model: str) -> str | None:
        """Why an agent or a dataset may not name it here."""
        problems: list[Problem] = []
        name = read_model_name(model, "", problems)
        if name is None:
            return problems[0].said()
        if model in self._settings.names:
            return None
        return for_orgs(name, allows_private=self._settings.allows_private)

    async def key_from(self, org_id: int, model: str) -> str | None:
        name = self._name(model)
        key = await self._key(org_id, name, is_own=model in self._settings.names)
        return key.origin if key is not None else None

    async def is_priced(self, org_id: int, model: str) -> bool:
        return await asyncio.to_thread(is_priced, self._name(model))

    def _name(self, model: str) -> ModelName:
        complaint = self.complaint(model)
        name = read_model_name(model, "", [])
        if complaint is not None or name is None:
            raise ModelFailed(f"This model cannot be used: {complaint}.", reason=Failure.UNKNOWN_MODEL.value)
        return name

    async def _key(self, org_id: int, name: ModelName, *, is_own: bool) -> _ApiKey | None:
        variable = name.key_variable
        if variable is None:
            return None
        found = await self._database.read(
            lambda connection: credential_by_name(connection, org_id=org_id, name=variable)
        )
        if found is not None:
            try:
                value = self._secrets.open(found.sealed_value, row=row_of(org_id, variable))
            except UnreadableSecret:
                message = (
                    f"The credential `{variable}` was encrypted with another secret key than this server has."
                )
                raise ModelFailed(message, reason=Failure.AUTH.value) from None
            return _ApiKey(value, "credential")
        is_ours = is_own or name.kind == "provider"
        value = self._settings.keys.get(variable, "").strip() if is_ours else ""
        if not value and name.needs_key:
            raise ModelFailed(
                f"`{name.text}` needs a key: set {variable} where the server starts,"
                f" or a credential of that name (POST /api/credentials).",
                reason=Failure.AUTH.value,
            )
        return _ApiKey(value, "server") if value else None

    async def _open_client(self, name: ModelName, key: str | None, *, is_guarded: bool) -> ModelClient:
        place = (name.text, key, is_guarded)
        async with self._opening.setdefault(place, asyncio.Lock()):
            client = self._open.pop(place, None)
            if client is None:
                client = await self._make_client(name, key, is_guarded=is_guarded)
            self._open[place] = client  # the latest asked is last
        if len(self._open) > MOST_OPEN:
            oldest = next(iter(self._open))  # whoever asks it just now goes on: its connections are shared
            self._opening.pop(oldest, None)
            del self._open[oldest]
        return client

    async def _make_client(self, name: ModelName, key: str | None, *, is_guarded: bool) -> ModelClient:
        transport = self._transports.guarded if is_guarded else self._transports.own
        try:
            return await asyncio.to_thread(open_model, name, key=key, transport=transport)
        except ModelCallFailed as nothing:
            raise ModelFailed(
                f"The model cannot be asked: {nothing}.", reason=nothing.failure.value
            ) from None
