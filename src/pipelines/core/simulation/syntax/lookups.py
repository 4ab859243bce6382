"""Finding entities without looking at all of them: a `where` that compares a field is answered by an index.

An index only narrows the candidates down; `where` itself is still asked about each of them. So an index may
offer too many, never too few.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from pipelines.core.ledger.ledger import Attributes, Ledger, World
from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.values import Value
from pipelines.core.text.json_text import Json

Index: TypeAlias = dict[Json, list[str]]


class Reach(NamedTuple):
    """Which values of an entity a comparison looks at."""

    path: tuple[str, ...]
    # None: the value there. (): the keys or elements of the collection there. Else a field of each element.
    inside: tuple[str, ...] | None = None


class Lookup(NamedTuple):
    reach: Reach
    wanted: Formula


class Comparison(NamedTuple):
    reach: Reach
    wanted: ast.expr


def comparison_in(where: ast.expr, name: str) -> Comparison | None:
    """The comparison an index can answer, if one must hold for `where` to hold."""
    conjuncts = where.values if isinstance(where, ast.BoolOp) and isinstance(where.op, ast.And) else [where]
    for part in conjuncts:
        found = _equality(part, name) or _membership(part, name) or _any_element(part, name)
        if found is not None and not mentions(found.wanted, name):
            return found
    return None


def mentions(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def reads_only_fields(where: ast.expr, name: str) -> bool:
    """Whether the candidate is asked for nothing but fields other than `id`: bare attributes will do."""
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(where))
    fields = sum(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and node.attr != "id"
        for node in ast.walk(where)
    )
    return uses == fields


def _two_sides(node: ast.expr, op: type[ast.cmpop]) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], op):
        return node.left, node.comparators[0]
    return None


def _equality(node: ast.expr, name: str) -> Comparison | None:
    sides = _two_sides(node, ast.Eq)
    for field, other in (sides, sides[::-1]) if sides else ():
        path = _path(field, name)
        if path and path != ("id",):
            return Comparison(Reach(path), other)
    return None


def _membership(node: ast.expr, name: str) -> Comparison | None:
    sides = _two_sides(node, ast.In)
    if sides is None:
        return None
    path = _path(_argument_of(sides[1], "keys"), name)
    return Comparison(Reach(path, ()), sides[0]) if path else None


def _any_element(node: ast.expr, name: str) -> Comparison | None:
    generator = _argument_of(node, "any")
    if not isinstance(generator, ast.GeneratorExp) or len(generator.generators) != 1:
        return None
    [loop] = generator.generators
    path = _path(_argument_of(loop.iter, "values"), name)
    if not path or not isinstance(loop.target, ast.Name) or loop.ifs:
        return None
    found = _equality(generator.elt, loop.target.id)
    if found is None or mentions(found.wanted, loop.target.id):
        return None
    return Comparison(Reach(path, found.reach.path), found.wanted)


def _argument_of(node: ast.expr, function: str) -> ast.expr:
    """The x of `values(x)`; any other expression as it is."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == function
        and node.args
    ):
        return node.args[0]
    return node


def _path(node: ast.expr, name: str) -> tuple[str, ...]:
    """`user.name.first` as ("name", "first"); () for anything else."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    return tuple(path) if isinstance(node, ast.Name) and node.id == name else ()


def candidates(ledger: Ledger, entity_type: str, reach: Reach, wanted: Value) -> Sequence[str] | None:
    """Ids of entities that may hold the value, in the ledger's order; None if only a scan can tell."""
    if isinstance(wanted, Decimal):
        wanted = float(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, (str, int, float)):
        return None
    index = index_of(ledger.world, entity_type, reach)
    if index is None:
        return None
    hits: Sequence[str] = index.get(wanted, ())
    if reach.inside == () and not isinstance(wanted, str):
        hits = [*hits, *index.get(str(wanted), ())]
    changed = ledger.changed(entity_type)
    if not changed:
        return hits
    # Few and in order: whatever the run changed may have become a hit, and is asked again.
    own = [id for id, attrs in changed.items() if attrs is not None]
    found = [*(id for id in hits if id not in changed), *own]
    return found if len(found) < 2 else _in_order(ledger, entity_type, found)


def _in_order(ledger: Ledger, entity_type: str, ids: list[str]) -> list[str]:
    seeded = positions(ledger.world, entity_type)
    return sorted(
        ids, key=lambda id: seeded.get(id, len(seeded))
    )  # the run's own additions stay last, in order


def positions(world: World, entity_type: str) -> dict[str, int]:
    found = world.derived.get(("positions", entity_type))
    if found is None:
        found = {id: at for at, id in enumerate(world.entities.get(entity_type, {}))}
        world.derived["positions", entity_type] = found
    return found


def index_of(world: World, entity_type: str, reach: Reach) -> Index | None:
    """Built when first asked for, shared by every run of the world; None where an index would mislead."""
    key = ("index", entity_type, reach)
    if key not in world.derived:
        world.derived[key] = _built(world.entities.get(entity_type, {}), reach)
    return world.derived[key]  # type: ignore[no-any-return]


def _built(entities: Mapping[str, Attributes], reach: Reach) -> Index | None:
    index: Index = {}
    for id, attrs in entities.items():
        values = _reached(attrs, reach)
        if values is None:
            return None
        for value in values:
            index.setdefault(value, []).append(id)
    return index


def _reached(attrs: Attributes, reach: Reach) -> set[Json] | None:
    value: Json = value_at(attrs, reach.path)
    if reach.inside is None:
        return set(_scalars([value]))
    if reach.inside == ():
        # A part of a text is also `in` it, and no index of whole values knows that.
        return (
            None
            if isinstance(value, str)
            else set(_scalars(value if isinstance(value, (list, dict)) else ()))
        )
    parts = list(value.values()) if isinstance(value, dict) else value
    return set(_scalars(value_at(part, reach.inside) for part in parts)) if isinstance(parts, list) else set()


def value_at(value: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _scalars(values: Iterable[Json]) -> Iterator[Json]:
    for value in values:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield value
