"""Credentials of an org: set, deleted, and opened for a run. Their values leave only into a sandbox."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from pipelines.core.code.code_secrets import LONGEST_VALUE, name_complaint, value_complaint, value_warnings
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.storage.accounts import credentials
from pipelines.storage.accounts.credentials import Credential, row_of
from pipelines.storage.database.secret_box import UnreadableSecret
from pipelines.wire.errors import NotFound
from pipelines.wire.records import Flat, Record


class CredentialMissing(Exception):
    """A run needs credentials that are gone or cannot be opened here. The message says which."""


@dataclass(frozen=True, slots=True)
class SetCredential(Record):
    """A credential that was set."""

    credential: Flat[Credential]
    soft_warnings: Annotated[list[str], "what of its value is hidden only in part"]


async def set_credential(platform: Platform, org_id: int, body: JsonObject) -> SetCredential:
    """A new credential, or a new value for one of this name."""
    name, value = _read_credential(body)
    now = platform.now()
    sealed = platform.secrets.seal(value, row=row_of(org_id, name))
    stored = await platform.database.write(
        lambda connection: credentials.set_credential(
            connection, org_id=org_id, name=name, sealed_value=sealed, now=now
        )
    )
    return SetCredential(stored, [*value_warnings(value)])


async def delete_credential(platform: Platform, org_id: int, credential_id: int) -> None:
    deleted = await platform.database.write(
        lambda connection: credentials.delete_credential(
            connection, org_id=org_id, credential_id=credential_id
        )
    )
    if not deleted:
        raise NotFound(f"There is no credential {credential_id}.")


async def unknown_credentials(platform: Platform, org_id: int, names: Sequence[str]) -> list[Problem]:
    """A problem for each name that the org has no credential for."""
    if not names:
        return []
    known = await platform.database.read(
        lambda connection: credentials.credentials_by_name(connection, org_id)
    )
    return [
        Problem(
            path=pointer(["secrets", index]),
            message=f"there is no credential `{name}`",
            hint="set it first: POST /api/credentials",
        )
        for index, name in enumerate(names)
        if name not in known
    ]


async def open_credentials(platform: Platform, org_id: int, names: Sequence[str]) -> dict[str, str]:
    """The values by name, for a run that is about to start."""
    if not names:
        return {}
    known = await platform.database.read(
        lambda connection: credentials.credentials_by_name(connection, org_id)
    )
    opened: dict[str, str] = {}
    wrong: list[str] = []
    for name in names:
        try:
            opened[name] = platform.secrets.open(known[name].sealed_value, row=row_of(org_id, name))
        except KeyError:
            wrong.append(f"there is no credential `{name}`")
        except UnreadableSecret:
            wrong.append(
                f"the credential `{name}` was encrypted with another secret key than this server has"
            )
    if wrong:
        raise CredentialMissing("; ".join(wrong))
    return opened


async def known_values(platform: Platform, org_id: int) -> list[str]:
    """Of every credential that this node can open: what must not be told."""
    known = await platform.database.read(
        lambda connection: credentials.credentials_by_name(connection, org_id)
    )
    values: list[str] = []
    for name, credential in known.items():
        with suppress(UnreadableSecret):
            values.append(platform.secrets.open(credential.sealed_value, row=row_of(org_id, name)))
    return values


def _read_credential(body: JsonObject) -> tuple[str, str]:
    """Complaints never repeat the value."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("name", "value"))
    fields.require("name", "the environment variable it becomes, such as OPENAI_API_KEY")
    fields.require("value")
    name = fields.text("name")
    complaint = name_complaint(name) if name is not None else None
    if complaint is not None:
        fields.refuse("name", f"`{str(name)[:80]}` {complaint}")
    value = fields.text("value", longest=LONGEST_VALUE)
    wrong = value_complaint(value) if value is not None else None
    if wrong is not None:
        fields.refuse("value", wrong)
    if problems or name is None or value is None:
        raise Refused(problems, "the credential")
    return name, value
