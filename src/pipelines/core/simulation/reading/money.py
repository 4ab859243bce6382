"""Money: payments that are given back, and what new parts of a record cost more than the old ones."""

from dataclasses import dataclass

from pipelines.core.english.words import singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument, is_list_of_ids, part_noun
from pipelines.core.simulation.domain.shapes import Collection, Field
from pipelines.core.simulation.expr.make import (
    all_of,
    arg,
    arithmetic,
    call,
    constant,
    each_of,
    entity,
    is_equal,
    is_given,
    listed,
)
from pipelines.core.simulation.expr.nodes import Constant, Expr, Item, Name
from pipelines.core.simulation.reading.steps import Bound, Step, dot, not_found, require
from pipelines.core.simulation.reading.tool_reading import Reading

_PRICES = ("price", "amount", "cost", "fare", "unit_price")
_AMOUNTS = ("amount", "value", "total", "sum")
_PAYMENTS = word_set("payment charge paid debit purchase")


@dataclass(frozen=True, kw_only=True, slots=True)
class Computed:
    steps: tuple[Step, ...]
    value: Expr
    replace: tuple[Step, ...]  # puts the new parts in the place of the old ones


def price_difference(reading: Reading, bound: Bound) -> Computed | None:
    """What new parts cost more than the old ones: parts named by `item_ids` against `new_item_ids`."""
    old = next((one for one in reading.arguments if parts_named(one, bound) and one.words[0] != "new"), None)
    new = next((one for one in reading.arguments if parts_named(one, bound) and one.words[0] == "new"), None)
    if old is None or new is None:
        return None
    name, field, key = parts_named(old, bound) or ("", Field(name=""), "")
    price = next((one for one in _PRICES if one in field.parts), None)
    home = _home_of_parts(reading, field, key)
    if price is None or home is None:
        return None
    table, link, path = home
    noun = singular(tokens(name)[-1])
    held = dot(bound.noun, name)
    pair, many = Name("pair"), f"new_{noun}s"
    before, after = Item(pair, Constant(0)), Item(pair, Constant(1))
    offered = dot(entity(table.entity_type, dot(_found(held, key, before), link)), *path)
    pairs = call("zip", arg(old.name), arg(new.name))
    is_each = is_equal(call("len", Name(many)), call("len", arg(old.name)))
    are_there = call("all", each_of(is_given(Name("one")), "one", Name(many)))
    steps: tuple[Step, ...] = (
        {"let": {many: listed(call("get", offered, after), "pair", pairs)}},
        require(all_of(is_each, are_there), not_found(f"new_{noun}")),
    )
    paid = call("sum", listed(dot(_found(held, key, Name("id")), price), "id", arg(old.name)))
    shared = [part for part in field.parts if part in table.fields[path[0]].parts]
    replace: Step = {
        "for": "pair",
        "in": call("zip", arg(old.name), Name(many)),
        "do": [
            {"find": {"as": noun, "in": held, "where": is_equal(dot(noun, key), before)}},
            {"set": {dot(noun, part): dot(after, part) for part in shared}},
        ],
    }
    due = call("sum", listed(dot("one", price), "one", Name(many)))
    value = call("round", arithmetic(due, "-", paid), Constant(2))
    return Computed(steps=steps, value=value, replace=(replace,))


def _found(held: Expr, key: str, id: Expr) -> Expr:
    return call("find", held, Constant(key), id)


def _home_of_parts(
    reading: Reading, field: Field, key: str
) -> tuple[Collection, str, tuple[str, ...]] | None:
    """Where parts are defined: a map keyed by their ids, inside a record that each part refers to."""
    for collection in reading.known.collections:
        if collection.form != "map" or not collection.in_each or collection.id_field != key:
            continue
        table = reading.known.tables.get(collection.entity_type)
        link = next((name for name in field.parts if table is not None and name == table.id_field), None)
        if table is not None and link is not None:
            return table, link, collection.path
    return None


def refund_steps(reading: Reading, bound: Bound) -> list[Step]:
    """ "the payment will be refunded": each payment in the record's history is answered by a refund."""
    if not (reading.said.refunds or reading.name.verb == "refund"):
        return []
    for name, field in bound.collection.fields.items():
        for kind, part in field.parts.items() if field.keeps == "list" else ():
            paid = next((value for value in part.values if str(value).lower() in _PAYMENTS), None)
            if paid is not None and {*_AMOUNTS} & {*field.parts}:
                held, each = dot(bound.noun, name), Name("payment")
                entry = call("merge", each, constant({kind: "refund"}))
                such = listed(each, "payment", held, is_equal(dot("payment", kind), constant(paid)))
                answered: Step = {"for": "payment", "in": Name("payments"), "do": [{"append": {held: entry}}]}
                return [{"let": {"payments": such}}, answered]
    return []


def parts_named(argument: Argument, bound: Bound) -> tuple[str, Field, str] | None:
    """The collection inside the record that a list of ids names: (field, its shape, the id's field)."""
    if not is_list_of_ids(argument):
        return None
    noun = part_noun(argument)
    for name, field in bound.collection.fields.items():
        if field.keeps is not None and field.of_records and noun in singulars(tokens(name)):
            key = f"{noun}_id" if f"{noun}_id" in field.parts else field.id_field
            if key is not None or field.keeps == "map":
                return name, field, key or "id"
    return None
