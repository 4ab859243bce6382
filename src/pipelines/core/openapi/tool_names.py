"""Names of tools from operations: the operation's own where it fits ours, and else as near to it as can be.

A name depends on little else than its operation, so that a document which gains others keeps its names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

LONGEST_NAME = 128
LONGEST_SHOWN = 300  # characters of a path
MOST_TOLD = 10  # of each kind of name that is not the operation's own
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]+")


class OperationKey(NamedTuple):
    path: str
    method: str  # lower case
    operation_id: str | None

    @property
    def shown(self) -> str:
        """For notes."""
        return f"{self.method.upper()} {self.path[:LONGEST_SHOWN]}"

    @property
    def by_place(self) -> str:
        return f"{self.method}_{_NOT_ALLOWED.sub('_', self.path).strip('_') or 'root'}"


def tool_names(keys: Sequence[OperationKey]) -> dict[OperationKey, str]:
    """A name each. Of several that would have the same, the first by path keeps it."""
    names: dict[OperationKey, str] = {}
    used_names: set[str] = set()
    # Who has a name that fits keeps it, whatever others become.
    for key in sorted(keys, key=lambda key: (_preferred_name(key) != key.operation_id, key.path, key.method)):
        candidate = _preferred_name(key)
        if candidate in used_names:
            candidate = _sanitize(f"{candidate}_{key.by_place}")
        name, count = candidate, 1
        while name in used_names:
            count += 1
            name = f"{candidate[: LONGEST_NAME - 6]}_{count}"
        used_names.add(name)
        names[key] = name
    return names


def name_notes(names: Mapping[OperationKey, str]) -> Iterator[str]:
    """How names came about that are not the operations' own. Each tool says its operation itself (`call`), so
    that of many alike only the first are told."""
    unnamed = [f"{key.shown} is `{name}`" for key, name in names.items() if key.operation_id is None]
    renamed = [
        f"`{key.operation_id[:200]}` ({key.shown}) is `{name}`"
        for key, name in names.items()
        if key.operation_id is not None and key.operation_id != name
    ]
    yield from _first_of(unnamed, "without an operationId, named by method and path")
    yield from _first_of(renamed, "whose operationId is not a valid tool name, or is not unique")


def _first_of(said: list[str], why: str) -> Iterator[str]:
    yield from (f"{each}: an operation {why}" for each in said[:MOST_TOLD])
    if len(said) > MOST_TOLD:
        yield f"{len(said) - MOST_TOLD:,} more operations {why}"


def _preferred_name(key: OperationKey) -> str:
    if key.operation_id is not None and (name := _sanitize(key.operation_id)).strip("_"):
        return name
    return _sanitize(key.by_place)


def _sanitize(text: str) -> str:
    name = _NOT_ALLOWED.sub("_", text)
    name = name if name == text else name.strip("_") or "_"
    name = f"_{name}" if name[:1].isdigit() or name[:1] in ("-", "") else name
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
