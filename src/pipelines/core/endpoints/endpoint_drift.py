"""What a discovery changes: new tools, tools that differ from the accepted ones, and how they differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Required, TypeAlias, TypedDict

from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer, same
from pipelines.core.tools.live_tools import DiscoveredTool
from pipelines.wire.records import As, Flat, Hidden, Record, one_of, shown

CHANGED, GONE = "changed", "gone"
MOST_DIFFERENCES = 20  # told of one tool
LONGEST_SHOWN = 200  # characters of a value in a difference


Drift: TypeAlias = Annotated[
    Annotated[str, one_of((CHANGED, GONE))] | None,
    "since it was accepted; null: it is what was accepted",
]


class _Difference(TypedDict, total=False):
    """A value that differs."""

    path: Required[str]
    before: Json
    after: Json


Differences: TypeAlias = Annotated[
    list[Json], As(list[_Difference]), "from what was accepted to what was found, at most 20"
]


@dataclass(frozen=True, slots=True)
class StoredTool(Record, component="EndpointTool"):
    """A tool as it was accepted."""

    accepted: Flat[DiscoveredTool]
    drift: Drift = None
    found: Hidden[DiscoveredTool | None] = None  # what a changed one has become

    @shown(after="accepted")
    def fingerprint(self) -> Annotated[str, "changes when what a caller may rely on does"]:
        return self.accepted.fingerprint

    @shown(after="drift")
    def differences(self) -> Differences:
        """From what was accepted to what was found; empty where there is no drift."""
        if self.found is None:
            return []
        pairs = _contract_of(self.accepted), _contract_of(self.found)
        every = value_differences(*pairs, ())
        return [difference for difference, _ in zip(every, range(MOST_DIFFERENCES), strict=False)]


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoveryOutcome:
    """What to store, and what to tell whoever asked."""

    stored: tuple[StoredTool, ...]  # new ones, and those that are to be otherwise than they are stored
    removed: tuple[str, ...]
    added: tuple[str, ...]
    drifted: tuple[StoredTool, ...]  # what differs from what is accepted from now on
    is_changed: bool  # the accepted tools are not what they were


def compare_tools(
    known: Mapping[str, StoredTool], found: Sequence[DiscoveredTool], *, accept: bool
) -> DiscoveryOutcome:
    """New tools are accepted as they are. What changed or went is drift until somebody accepts it."""
    by_name = {tool.name: tool for tool in found}
    stored: list[StoredTool] = []
    drifted: list[StoredTool] = []
    missing = [tool for name, tool in known.items() if name not in by_name]
    is_changed = False
    for name, tool in by_name.items():
        before = known.get(name)
        if before is None or accept or before.accepted.fingerprint == tool.fingerprint:
            now = StoredTool(tool)
            is_changed = is_changed or before is None or before.accepted != tool
        else:
            now = StoredTool(before.accepted, CHANGED, tool)
            drifted.append(now)
        stored += [now] if now != before else []
    if not accept:
        missing_tools = [StoredTool(tool.accepted, GONE) for tool in missing]
        drifted += missing_tools
        stored += [tool for tool in missing_tools if tool != known[tool.accepted.name]]
    return DiscoveryOutcome(
        stored=tuple(stored),
        removed=tuple(tool.accepted.name for tool in missing) if accept else (),
        added=tuple(name for name in by_name if name not in known),
        drifted=tuple(drifted),
        is_changed=is_changed or (accept and bool(missing)),
    )


def _contract_of(tool: DiscoveredTool) -> JsonObject:
    """What a caller may rely on: the fingerprint is of the same."""
    return {
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def value_differences(before: Json, after: Json, path: tuple[str | int, ...]) -> Iterator[JsonObject]:
    """Down to the values that differ. Nesting is bounded by whoever read the schemas."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key not in after:
                yield {"path": pointer([*path, key]), "before": _short_value(before[key])}
            elif key not in before:
                yield {"path": pointer([*path, key]), "after": _short_value(after[key])}
            else:
                yield from value_differences(before[key], after[key], (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from value_differences(one, other, (*path, index))
    elif not same(before, after):
        yield {"path": pointer(path), "before": _short_value(before), "after": _short_value(after)}


def _short_value(value: Json) -> Json:
    """A long value as the beginning of its text."""
    text = value if isinstance(value, str) else dumps(value).decode()
    return value if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
