"""References to credentials: the name of a credential, and the place where it is named."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from pipelines.core.code.code_secrets import CREDENTIAL_NAME, NAME_RULE
from pipelines.core.text.authored import Fields, did_you_mean
from pipelines.core.text.problems import Problem


class CredentialReference(NamedTuple):
    place: str  # a JSON Pointer
    name: str


def read_credential(fields: Fields, key: str, wanted: list[CredentialReference]) -> str | None:
    """The name under `key`. What is no name is not repeated: it may be the secret itself."""
    fields.require(key, "the name of an org credential (POST /api/credentials)")
    name = fields.text(key)
    if name is None:
        return None
    if CREDENTIAL_NAME.fullmatch(name) is None:
        message = f"`{key[:80]}` must be the name of an org credential, never its value"
        fields.refuse(key, message, f"a name must have {NAME_RULE}")
        return None
    wanted.append(CredentialReference(fields.at(key), name))
    return name


def missing_credentials(wanted: Iterable[CredentialReference], known: Collection[str]) -> Iterator[Problem]:
    """A problem for each that the org does not have."""
    for each in wanted:
        if each.name not in known:
            hint = did_you_mean(each.name, known) or "set it first: POST /api/credentials"
            yield Problem(path=each.place, message=f"there is no credential `{each.name}`", hint=hint)
