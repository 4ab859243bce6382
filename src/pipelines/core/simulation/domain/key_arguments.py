"""Arguments that are ids though nothing in their name says so: `ear_tag`, `plate`, `isbn`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pipelines.core.ledger import World
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.references import LOOKED_AT
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.domain.tool_facts import ToolFacts

_EXAMPLE = re.compile(
    r"(?:\be\.?g\.?,?|\bfor example,?|\bexamples?:|\bsuch as|\blike)\s+[`'\"(]*([\w./:-]*\w)", re.IGNORECASE
)
_PICKING = ("get", "check", "update", "delete", "transition")


def key_arguments(
    tools: Sequence[ToolFacts],
    meant: Mapping[tuple[str, ...], str],
    world: World,
    tables: Mapping[str, Collection],
) -> dict[str, str]:
    """The type that each is a key of. An example tells, or tools of one record of a type that ask for nothing
    else; a field that records have is no key. `meant`: what the nouns of the tools were found to mean."""
    shapes = {kind: {_shape(id) for id in islice(ids, LOOKED_AT)} for kind, ids in world.entities.items()}
    fields = [table.fields for table in tables.values()]
    found: dict[str, set[str]] = {}
    uses: dict[str, int] = {}
    for tool in tools:
        needed = [one for one in tool.arguments if one.is_required and not one.is_credential]
        for one in needed:
            if not _may_be_key(one) or any(find_field(known, one.name) for known in fields):
                continue
            uses[one.name] = uses.get(one.name, 0) + 1
            kinds = {kind for example in _examples(one) for kind in shapes if _shape(example) in shapes[kind]}
            is_asked_alone = len(needed) == 1 and tool.name.op in _PICKING and not tool.lists
            if not kinds and is_asked_alone and tool.thing in meant:
                kinds = {meant[tool.thing]}
            found.setdefault(one.name, set()).update(kinds)
    return {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1 and uses[name] > 1}


def _may_be_key(argument: Argument) -> bool:
    return (
        argument.id_noun is None
        and argument.is_scalar
        and argument.schema.get("type") != "number"
        and not argument.values
    )


def _examples(argument: Argument) -> Iterator[str]:
    yield from _EXAMPLE.findall(argument.description)
    listed = argument.schema.get("examples")
    yield from (str(one) for one in (listed if isinstance(listed, list) else []))


def _shape(id: str) -> str:
    """DE-0342 and DE-77 alike; a plain number or a plain word is like anything."""
    return re.sub(r"\d+", "9", id) if re.search(r"\d", id) and re.search(r"[A-Za-z]", id) else f"={id}"
