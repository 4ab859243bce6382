"""Amount changes: a number that a record keeps grows or falls by the one that is given, or goes from one
record to another; payments that are given back, and what new parts cost more than the old ones.

Which number, the fields of the reply say first, then the words; which way, the verb of name or
description."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import ENDS, Argument, is_list_of_ids, part_noun
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.domain.fields import field_at, find_field
from pipelines.core.simulation.domain.shapes import Collection, Field
from pipelines.core.simulation.expr.make import (
    all_of,
    arg,
    arithmetic,
    call,
    compare,
    constant,
    differs,
    each_of,
    entity,
    is_equal,
    is_given,
    listed,
    message,
)
from pipelines.core.simulation.expr.nodes import ArithmeticSign, Constant, Expr, Item, Name
from pipelines.core.simulation.reading.records import Thing, change_reply, scope_of, stems
from pipelines.core.simulation.reading.replies import find_path, properties_of
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    bind,
    dot,
    not_found,
    refusal,
    require,
)
from pipelines.core.simulation.reading.targets import Subject, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading

_PAYS = word_set("pay payment settle repay repayment")
_USES = word_set(
    "use spend consume redeem take deduct withdraw dispense draw reduce subtract lower decrease sell shrink "
    "debit"
)
_ADDS = word_set(
    "add credit charge top topup deposit receive restock fill increase load refill raise bill recharge "
    "extend grow fund replenish refuel"
)
_LESSENS = word_set("reduce lower decrease subtract deduct shrink")
_SETS = word_set("update set change edit modify correct amend replace alter revise")
#: Numbers that grow as something is paid or used up, and those that say how much there is to pay.
_GROWS = word_set("paid used spent sold redeemed consumed received raised collected settled taken")
_OWED = word_set("due owed owing outstanding debt arrears fee fees fine fines unpaid balance")
_STOCK = word_set("stock remaining left balance credit credits available hand quantity")
Path = tuple[str, ...]


def read_told_amount(reading: Reading) -> Drafted | None:
    """Where the reply itself names the number that the record keeps: as clear as can be."""
    about = reading.subject
    given = {one.name for one in reading.arguments}
    fields = about.collection.fields if about is not None else {}
    named = [find_path(fields, name) for name in properties_of(reading.output) if name not in given]
    amount_paths = [path for path in named if path is not None and _is_number(fields, path)]
    return read_amount(reading) if len(amount_paths) == 1 else None


def read_amount(reading: Reading) -> Drafted | None:
    """The one number given is added to, or taken from, the number that the tool's words name."""
    scope = scope_of(reading)
    given = [one for one in scope.arguments if one.kind == "number" and one.is_required]
    if len(given) != 1 or given[0].words[0] in ("new", "to"):
        return None
    kept = [one for one in scope.things if find_field(one.collection.fields, given[0].name)]
    if reading.name.verb in _SETS and kept:
        return None  # update_credit_limit(account_id, credit_limit) says what it is to be
    found = [
        (thing, *amount_paths)
        for thing in scope.things
        if (amount_paths := _meant(reading, thing, given[0])) is not None
    ]
    if len(found) != 1:
        return None
    thing, path, sign = found[0]
    place = dot(thing.value, *path)
    steps = [*scope.steps, *_moved(given[0], place, sign), {"return": change_reply(reading, thing.bound)}]
    note = f"`{place}` is the number that changes, by the words of name and description"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.8)


def _meant(reading: Reading, thing: Thing, amount: Argument) -> tuple[Path, ArithmeticSign] | None:
    """The number that is meant, and which way it goes. Of two that fit alike, none is."""
    fields = thing.collection.fields
    inside = [(name, part) for name, one in fields.items() if not one.keeps for part in one.parts]
    paths = [path for path in [*((name,) for name in fields), *inside] if _is_number(fields, path)]
    if (done := (participle(reading.name.verb),)) in paths:
        return done, "+"  # reserve_plants adds to what is `reserved`
    kind = _kind_of_change(reading)
    scored = [(_fit(path, kind, reading, amount, fields), path) for path in paths] if kind else []
    best = max((score for score, _ in scored), default=0.0)
    fit = [path for score, path in scored if score == best]
    if best < 1 or len(fit) != 1:
        return None
    grows = kind == "adds" or bool(_GROWS & {*tokens(fit[0][-1])})
    return fit[0], "+" if grows and reading.name.verb not in _LESSENS else "-"


def _is_number(fields: Mapping[str, Field], path: Path) -> bool:
    found = field_at(fields, path)
    return found is not None and "number" in found.kinds and not found.keeps


def _kind_of_change(reading: Reading) -> str | None:
    """By the verb of the name, else by that of the description."""
    verb = claim_of(reading.tool.description, reading.name.verb).verb
    # Other words of the name tell it where its verb does not: `record_payment`, not `refund_deposit`.
    others = tokens(reading.tool.name) if reading.name.op in ("create", "update", None) else ()
    for word in (reading.name.verb, *others, verb):
        kind = next((k for k, of in (("pays", _PAYS), ("uses", _USES), ("adds", _ADDS)) if word in of), None)
        if kind is not None:
            return kind
    return None


def _fit(path: Path, kind: str, reading: Reading, amount: Argument, fields: Mapping[str, Field]) -> float:
    parts = {*tokens(path[-1])}
    answered = {find_path(fields, one) for one in properties_of(reading.output)}
    spoken = stems((*tokens(reading.tool.name), *tokens(reading.said.summary.lower())))
    if len(path) > 1 and path not in answered and not stems(tokens(path[0])) & spoken:
        return 0.0  # inside an object of which nobody speaks
    met = len(stems(parts) & (spoken | stems(amount.words)))
    score = 3.0 * (path in answered and path[-1] != amount.name) + 2.0 * (path[-1] == amount.name)
    score += met + 0.5 * (met == len(parts))  # the kilos, not the minimum kilos
    if kind == "pays":
        score += 1.5 * bool(_GROWS & parts) + bool(_OWED & parts)
    else:
        score += (kind == "uses") * bool(_GROWS & parts) + bool(_STOCK & parts)
    return score


def _moved(amount: Argument, place: Expr, sign: ArithmeticSign) -> list[Step]:
    given, there = arg(amount.name), call("default", place, Constant(0))
    steps = [more_than_none(amount)]
    if sign == "-":
        short = refusal("not_enough", message("Only ", place, " is left"))
        steps.append(require(compare(there, ">=", given), short))
    return [*steps, {"set": {place: arithmetic(there, sign, given)}}]


def more_than_none(amount: Argument) -> Step:
    failure = refusal("invalid_amount", f"{amount.name} must be more than 0", 400)
    return require(compare(arg(amount.name), ">", Constant(0)), failure)


def read_transfer(reading: Reading) -> Drafted | None:
    """`transfer_funds(from_account, to_account, amount)`: one balance falls, the other rises."""
    numbers = [one for one in reading.arguments if one.kind == "number" and one.id_noun is None]
    amount = next((one for one in numbers if not ENDS & {*one.words}), None)
    ids = [one for one in reading.arguments if one.is_required and one.id_noun]
    ends = [_end(reading, word) for word in ("from", "to")]
    if amount is None or ends[0] is None or ends[1] is None or ends[0].collection != ends[1].collection:
        return None
    table = ends[0].collection
    own = find_field(table.fields, amount.name)
    balances = [name for name in table.fields if tokens(name)[-1] in ("balance", "credit", "funds", "cash")]
    names = [own] if own is not None else balances
    if len(names) != 1 or not _is_number(table.fields, (names[0],)) or table.form != "table" or len(ids) > 2:
        return None
    giving = bind(table, arg(ends[0].id_argument.name), "giver")
    taking = bind(table, arg(ends[1].id_argument.name), "taker")
    less, more, given = dot("giver", names[0]), dot("taker", names[0]), arg(amount.name)
    short = refusal("insufficient_funds", message("The balance of ", less, " does not cover ", given))
    steps: list[Step] = [
        *giving.steps,
        *taking.steps,
        require(differs(giving.id, taking.id), refusal("same_account", "Both ends are the same", 400)),
        more_than_none(amount),
        require(compare(less, ">=", given), short),
        {"set": {less: arithmetic(less, "-", given), more: arithmetic(more, "+", given)}},
        {"return": change_reply(reading, giving)},
    ]
    return Drafted(steps=tuple(steps), confidence=0.85)


_END_WORDS = {"from": "from source sender debit", "to": "to target destination receiver"}


def _end(reading: Reading, word: str) -> Subject | None:
    """The argument for one end: `from_account`, `source_account_id`."""
    words = word_set(_END_WORDS[word])
    argument = next((one for one in reading.arguments if {*one.words} & words), None)
    if argument is None or not argument.is_required:
        return None
    noun = tuple(part for part in argument.words if part not in words) or argument.words
    plain = replace(argument, name="_".join(noun) if noun[-1] == "id" else "_".join((*noun, "id")))
    found = subject_of(reading.name, [plain], reading.known, reading.service)
    return replace(found, id_argument=argument) if found is not None else None


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
