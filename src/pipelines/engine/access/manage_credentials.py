"""Credentials of an org: set, deleted, and opened for a run. Their values leave only into a sandbox."""

import re
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

ANY_HOST = "*"
MOST_HOSTS = 20
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|[0-9a-f:]*:[0-9a-f:.]+")  # a name or an address


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


async def set_hosts(platform: Platform, org_id: int, credential_id: int, body: JsonObject) -> Credential:
    """To which hosts tool endpoints may send it: any, some, or the next that it is sent to."""
    hosts, now = _read_hosts(body), platform.now()
    found = await platform.database.write(
        lambda connection: credentials.set_hosts(
            connection, org_id=org_id, credential_id=credential_id, hosts=hosts, now=now
        )
    )
    if found is None:
        raise NotFound(f"There is no credential {credential_id}.")
    return found


async def bind_to_host(platform: Platform, org_id: int, name: str, host: str) -> None:
    """Raises CredentialMissing where it is not for this host. One that was never sent is for it from now on:
    whoever changes an endpoint later cannot have it sent to a host of their own."""
    known = await platform.database.read(
        lambda connection: credentials.credential_by_name(connection, org_id=org_id, name=name)
    )
    if known is not None and not known.hosts:
        known = await platform.database.write(
            lambda connection: credentials.bind_credential(connection, org_id=org_id, name=name, host=host)
        )
    if known is not None and not {ANY_HOST, host} & set(known.hosts):
        raise CredentialMissing(
            f"the credential `{name}` is sent to {', '.join(known.hosts)} only, and not to {host};"
            f" an admin can change that: PUT /api/credentials/{known.id}/hosts"
        )


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


def _read_hosts(body: JsonObject) -> tuple[str, ...]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("hosts",))
    fields.require("hosts", "a list of host names")
    listed = fields.get("hosts")
    hosts = [host.lower() for host in listed if isinstance(host, str)] if isinstance(listed, list) else []
    is_whole = isinstance(listed, list) and len(hosts) == len(listed) <= MOST_HOSTS
    if fields.has("hosts") and not (is_whole and all(_is_host(host) for host in hosts)):
        hint = (
            f'at most {MOST_HOSTS} names without scheme, port and path, such as "api.example.com"; "*" is any'
        )
        fields.refuse("hosts", "must be a list of host names", hint)
    if problems:
        raise Refused(problems, "the hosts")
    return tuple(dict.fromkeys(hosts))


def _is_host(text: str) -> bool:
    return text == ANY_HOST or (len(text) <= 253 and _HOST.fullmatch(text) is not None)


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
