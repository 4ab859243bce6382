"""What calls told, taken apart into records: of each thing its values, its names, and what it refers to."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.core.json_text import Json
from pipelines.core.ledger import Add, LedgerUpdate, Remove, Update
from pipelines.core.verdict.evidence import EvidenceRow
from pipelines.core.verdict.known import LONGEST_ID, LONGEST_TEXT
from pipelines.core.verdict.speech import content_stems

NAMES_A_THING = re.compile(r"(?:id|ids|number|no|code|ref|reference|name)$")


_NOT_BARE = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True, slots=True)
class Record:
    values: tuple[Json, ...]
    ids: frozenset[str]  # short texts and numbers in it, in lower case: by these it is named
    links: frozenset[str]  # those of them that are ids of this or another thing


def parts_of_row(row: EvidenceRow) -> list[Json]:
    """A reply taken apart: every object of a list is a thing of its own."""
    return [*_apart(row.response), *map(content, row.updates)]


def content(update: LedgerUpdate) -> Json:
    """What an update is about and writes, without the words of the log itself: `op`, `set`."""
    match update:
        case Add(entity_type=entity_type, id=id, attrs=attrs):
            return {entity_type: {"id": id, "values": dict(attrs)}}
        case Update(entity_type=entity_type, id=id, set=values):
            return {entity_type: {"id": id, "values": dict(values)}}
        case Remove(entity_type=entity_type, id=id):
            return {entity_type: {"id": id}, "state": "removed"}
        case _:
            return None


def _apart(value: Json) -> Iterator[Json]:
    lists = [part for part in values_of(value) if is_list_of_things(part)]
    if not lists:
        yield value
        return
    own: Json = (
        {key: part for key, part in value.items() if not is_list_of_things(part)}
        if isinstance(value, dict)
        else {}
    )
    yield own
    yield {"count": sum(len(part) for part in lists if isinstance(part, list))}
    for part in lists:
        for thing in part if isinstance(part, list) else ():
            yield [own, thing]


def values_of(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return [value] if isinstance(value, list) else []


def is_list_of_things(value: Json) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(part, dict) for part in value)


def record_of(values: list[Json]) -> Record:
    named = ((key, value) for key, value in keyed(values) if NAMES_A_THING.search(key))
    links = frozenset(value.lower() for _, value in named if any(map(str.isdigit, value)))
    return Record(tuple(values), frozenset(ids_in(values)), links)


def ids_in(values: Json) -> Iterator[str]:
    pending = [values]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, str) and 0 < len(node) <= LONGEST_ID:
            yield node.lower()
        elif isinstance(node, int) and not isinstance(node, bool):
            yield str(node)


def keyed(value: Json) -> Iterator[tuple[str, str]]:
    pending: list[tuple[str, Json]] = [("", value)]
    while pending:
        key, node = pending.pop()
        if isinstance(node, dict):
            pending.extend((name.lower(), below) for name, below in node.items())
        elif isinstance(node, list):
            pending.extend((key, below) for below in node)
        elif isinstance(node, str) and len(node) <= LONGEST_ID:
            yield key, node
        elif isinstance(node, int) and not isinstance(node, bool):
            yield key, str(node)


def all_stems(value: Json) -> frozenset[str]:
    return frozenset(word for text in texts_in(value) for word in content_stems(text[:LONGEST_TEXT]))


def states_in(attributes: Mapping[str, Json] | None) -> Iterator[str]:
    for value in (attributes or {}).values():
        if isinstance(value, str) and re.fullmatch(r"[a-z_]{3,30}", value):
            yield value


def bare(text: str) -> str:
    """Letters and digits, in lower case."""
    low = text.lower()
    return low if low.isalnum() and low.isascii() else _NOT_BARE.sub("", low)


def texts_in(value: Json) -> Iterator[str]:
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, (dict, list)):
            pending.extend(node.values() if isinstance(node, dict) else node)
