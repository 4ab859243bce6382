"""Arguments that are ids though nothing in their name says so: `ear_tag`, `plate`, `isbn`."""

import re
from collections import Counter
from collections.abc import Collection as Collection_
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pipelines.core.english.words import singulars, tokens
from pipelines.core.ledger.ledger import World
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
    told: dict[str, set[str]] = {}
    votes: dict[str, Counter[str]] = {}
    for tool in tools:
        needed = [one for one in tool.arguments if one.is_required and not one.is_credential]
        for one in needed:
            if not _may_be_key(one) or any(find_field(known, one.name) for known in fields):
                continue
            examples = [_shape(example) for example in _examples(one)]
            told.setdefault(one.name, set()).update(
                kind for example in examples for kind in shapes if example in shapes[kind]
            )
            is_asked_alone = len(needed) == 1 and tool.name.op in _PICKING and not tool.lists
            voted = votes.setdefault(one.name, Counter())
            voted[meant[tool.thing] if is_asked_alone and tool.thing in meant else ""] += 1
    found = {name: _meant_by(name, told[name], voted, meant) for name, voted in votes.items()}
    return {name: kind for name, kind in found.items() if kind is not None and votes[name].total() > 1}


def _meant_by(
    name: str, told: Collection_[str], votes: Counter[str], meant: Mapping[tuple[str, ...], str]
) -> str | None:
    """What examples say; else, of the types that are picked by it, the one that it is called after
    (`account_tag`), or the one that most are."""
    if told:
        return next(iter(told)) if len(told) == 1 else None
    kinds = {kind: count for kind, count in votes.items() if kind}
    words = singulars(tokens(name))
    named = {meant[noun] for noun in (words, words[:-1]) if noun in meant} & kinds.keys()
    if len(named) == 1:
        return named.pop()
    ranked = sorted(kinds.items(), key=lambda pair: -pair[1])
    is_plain = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][1] >= 2 * ranked[1][1])
    return ranked[0][0] if is_plain else None


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
