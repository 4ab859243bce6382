"""What must not be sent to any model: the values of an org's credentials, and the keys of the models.

Each question asks the database whether a credential was set or deleted; only then are they opened again.
"""

from collections.abc import Mapping
from contextlib import suppress

from pipelines.core.code.redaction import Redaction
from pipelines.storage.accounts.credentials import Credential, credentials_by_name, row_of
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox, UnreadableSecret

MOST_KEPT = 256  # orgs


class ModelSecrets:
    """Of one process."""

    def __init__(self, database: Database, secrets: SecretBox, keys: Mapping[str, str]) -> None:
        self._database = database
        self._secrets = secrets
        self._keys = dict(keys)
        self._kept: dict[int, tuple[tuple[object, ...], Redaction]] = {}

    async def redaction_of(self, org_id: int) -> Redaction:
        known = await self._database.read(lambda connection: credentials_by_name(connection, org_id))
        mark = tuple((each.id, each.updated_at) for each in known.values())
        kept = self._kept.get(org_id)
        if kept is not None and kept[0] == mark:
            return kept[1]
        redaction = Redaction(self._keys | self._values(org_id, known))
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[org_id] = (mark, redaction)
        return redaction

    def _values(self, org_id: int, known: Mapping[str, Credential]) -> dict[str, str]:
        values: dict[str, str] = {}
        for name, credential in known.items():
            with suppress(UnreadableSecret):
                values[name] = self._secrets.open(credential.sealed_value, row=row_of(org_id, name))
        return values
