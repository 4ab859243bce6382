"""Money: balances that are funded and drawn on, payments that are given back, and differences in price."""

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
    history = payment_history(bound.collection)
    if history is None:
        return []
    name, field, kind, amount = history
    held = dot(bound.noun, name)
    paid = next(value for value in field.parts[kind].values if str(value).lower() in _PAYMENTS)
    entry = call("merge", Name("payment"), constant({kind: "refund"}))
    is_paid = is_equal(dot("payment", kind), constant(paid))
    gathered: Step = {"let": {"payments": listed(Name("payment"), "payment", held, is_paid)}}
    back = _to_balance(reading, bound, field, amount)
    return [gathered, {"for": "payment", "in": Name("payments"), "do": [{"append": {held: entry}}, *back]}]


def payment_history(collection: Collection) -> tuple[str, Field, str, str] | None:
    """(field, its shape, the field that says payment or refund, the amount's field)."""
    for name, field in collection.fields.items():
        if field.keeps != "list" or not field.of_records:
            continue
        amount = next((one for one in _AMOUNTS if one in field.parts), None)
        kind = next(
            (
                part
                for part, shape in field.parts.items()
                if any(str(value).lower() in _PAYMENTS for value in shape.values)
            ),
            None,
        )
        if amount is not None and kind is not None:
            return name, field, kind, amount
    return None


def _to_balance(reading: Reading, bound: Bound, history: Field, amount: str) -> list[Step]:
    """ "added to the user's gift card balance if the payment was made using a gift card"."""
    if reading.said.refund_balance is None:
        return []
    words = reading.said.refund_balance.split()
    for collection in reading.known.collections:
        if collection.form != "map" or not collection.in_each or "balance" not in collection.fields:
            continue
        method = next((name for name in history.parts if _refers_to(name, collection)), None)
        table = reading.known.tables.get(collection.entity_type)
        owner = next((name for name in bound.collection.fields if table and name in _links(table)), None)
        kind = next((name for name, one in collection.fields.items() if _has_value(one, words)), None)
        if method is None or table is None or owner is None or kind is None:
            continue
        holder = singular(tokens(collection.entity_type)[-1])
        place = Item(dot(holder, *collection.path), dot("payment", method))
        balance = dot(place, "balance")
        more = call("round", arithmetic(balance, "+", dot("payment", amount)), Constant(2))
        value = next(one for one in collection.fields[kind].values if _same(one, words))
        return [
            {"find": {"as": holder, "in": collection.entity_type, "id": dot(bound.noun, owner)}},
            {
                "if": is_equal(dot(place, kind), constant(value)),
                "then": [{"set": {balance: more}}],
            },
        ]
    return []


def _refers_to(name: str, collection: Collection) -> bool:
    """`payment_method_id` refers to payment_methods."""
    return singulars(tokens(name)) == (*collection.words, "id")


def _links(table: Collection) -> tuple[str, ...]:
    noun = singular(tokens(table.entity_type)[-1])
    return tuple(name for name in (table.id_field, f"{noun}_id") if name)


def _has_value(field: Field, words: list[str]) -> bool:
    return any(_same(value, words) for value in field.values)


def _same(value: object, words: list[str]) -> bool:
    return isinstance(value, str) and list(tokens(value)) == words


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
