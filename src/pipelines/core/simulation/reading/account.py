"""Balances: fund, deposit, withdraw, pay, over the account that a service or a record keeps."""

from collections.abc import Mapping
from dataclasses import replace

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.arguments import ENDS, Argument
from pipelines.core.simulation.domain.shapes import Field, find_field
from pipelines.core.simulation.expr.make import Draft, arg, arithmetic, compare, constant, differs, message
from pipelines.core.simulation.expr.nodes import Constant, Expr
from pipelines.core.simulation.reading.records import record_of, source_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    bind,
    dot,
    find_one,
    name_for,
    refusal,
    require,
)
from pipelines.core.simulation.reading.targets import Subject, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import now_as, time_like

_MOVES = {
    "fund": "deposit",
    "deposit": "deposit",
    "credit": "credit",
    "topup": "top-up",
    "withdraw": "withdrawal",
    "debit": "debit",
    "pay": "payment",
    "spend": "payment",
}
_AMOUNT_WORDS = word_set("amount value sum total money funds")
_BALANCES = ("balance", "account_balance", "available_balance", "funds", "cash", "credit")


def read_account(reading: Reading) -> Drafted | None:
    amount = next(
        (one for one in reading.arguments if set(one.words) & _AMOUNT_WORDS and one.kind == "number"), None
    )
    if reading.name.op not in ("fund", "withdraw") or amount is None:
        return None
    bound = record_of(reading)
    if bound is not None:
        steps, holder, fields = list(bound.steps), bound.noun, bound.collection.fields
    elif reading.service is not None:
        holder, fields = name_for(reading.service.entity_type), reading.service.fields
        steps = [find_one(holder, reading.service.entity_type, constant(reading.service.id))]
    else:
        return None
    path = _balance(fields)
    if path is None:
        return None
    steps += _moved(reading, amount, dot(holder, *path))
    steps += _history(reading, amount, holder, fields)
    steps.append({"return": _reply(reading, dot(holder, *path), bound)})
    return Drafted(steps=tuple(steps), confidence=0.85)


def read_transfer(reading: Reading) -> Drafted | None:
    """`transfer_funds(from_account, to_account, amount)`: one balance falls, the other rises."""
    numbers = [one for one in reading.arguments if one.kind == "number" and one.id_noun is None]
    ids = [one for one in reading.arguments if one.is_required and one.id_noun]
    amount = next((one for one in numbers if not ENDS & {*one.words}), None)
    ends = [_end(reading, word) for word in ("from", "to")]
    if amount is None or ends[0] is None or ends[1] is None or ends[0].collection != ends[1].collection:
        return None
    fields = ends[0].collection.fields
    own = find_field(fields, amount.name)
    path = (own,) if own is not None and "number" in fields[own].kinds else _balance(fields)
    if path is None or ends[0].collection.form != "table" or len(ids) > 2:
        return None
    giving = bind(ends[0].collection, arg(ends[0].id_argument.name), "giver")
    taking = bind(ends[1].collection, arg(ends[1].id_argument.name), "taker")
    given, less, more = arg(amount.name), dot("giver", *path), dot("taker", *path)
    others = differs(dot("giver", "id"), dot("taker", "id"))
    steps: list[Step] = [
        *giving.steps,
        *taking.steps,
        require(others, refusal("same_account", "Both ends are the same", 400)),
        more_than_none(amount),
        _covered(less, given),
        {"set": {less: arithmetic(less, "-", given), more: arithmetic(more, "+", given)}},
        {"return": _reply(reading, less)},
    ]
    return Drafted(steps=tuple(steps), confidence=0.85)


def _end(reading: Reading, word: str) -> Subject | None:
    """The argument for one end: `from_account`, `source_account_id`."""
    words = {"from": ("from", "source", "sender", "debit"), "to": ("to", "target", "destination", "receiver")}
    argument = next((one for one in reading.arguments if set(one.words) & set(words[word])), None)
    if argument is None or not argument.is_required:
        return None
    noun = tuple(part for part in argument.words if part not in words[word]) or argument.words
    plain = replace(argument, name="_".join(noun) if noun[-1] == "id" else "_".join((*noun, "id")))
    found = subject_of(reading.name, [plain], reading.known, reading.service)
    return replace(found, id_argument=argument) if found is not None else None


def _balance(fields: Mapping[str, Field], depth: int = 2) -> tuple[str, ...] | None:
    """Where a record keeps its money: `balance`, else the one number whose name ends so: `walletBalance`."""
    numbers = [name for name, one in fields.items() if "number" in one.kinds and one.keeps is None]
    own = next((name for name in _BALANCES if name in numbers), None)
    ending = [name for name in numbers if tokens(name)[-1] in _BALANCES]
    if own is not None or len(ending) == 1:
        return (own or ending[0],)
    for name, field in fields.items():
        inner = _balance(field.parts, depth - 1) if field.keeps is None and depth else None
        if inner is not None:
            return (name, *inner)
    return None


def more_than_none(amount: Argument) -> Step:
    failure = refusal("invalid_amount", f"{amount.name} must be more than 0", 400)
    return require(compare(arg(amount.name), ">", Constant(0)), failure)


def _covered(balance: Expr, given: Expr) -> Step:
    told = message("The balance of ", balance, " does not cover ", given)
    return require(compare(balance, ">=", given), refusal("insufficient_funds", told))


def _moved(reading: Reading, amount: Argument, balance: Expr) -> list[Step]:
    given = arg(amount.name)
    steps = [more_than_none(amount)]
    if reading.name.op == "fund":
        return [*steps, {"set": {balance: arithmetic(balance, "+", given)}}]
    return [*steps, _covered(balance, given), {"set": {balance: arithmetic(balance, "-", given)}}]


def _history(reading: Reading, amount: Argument, holder: str, fields: Mapping[str, Field]) -> list[Step]:
    """A line in the history of transactions, if one is kept."""
    history = next(
        (
            field
            for name, field in fields.items()
            if field.keeps == "list" and {"transaction", "transactions"} & set(tokens(name))
        ),
        None,
    )
    if history is None:
        return []
    stamp = history.parts.get("timestamp") or history.parts.get("date")
    written = time_like(stamp.example if stamp else None, now_as("%Y-%m-%d %H:%M:%S"))
    line: Step = {
        "type": constant(_MOVES.get(reading.name.verb, reading.name.verb)),
        "amount": arg(amount.name),
        "timestamp": written,
    }
    return [{"append": {dot(holder, history.name): line}}]


def _done(reading: Reading) -> str:
    """Account funded successfully; Withdrawal successful."""
    if reading.name.verb not in _MOVES:
        return "Transfer successful"
    if reading.name.verb in ("fund", "credit", "debit", "topup"):
        noun = reading.thing[-1] if reading.thing else "account"
        return f"{noun.capitalize()} {participle(reading.name.verb)} successfully"
    return f"{_MOVES[reading.name.verb].capitalize()} successful"


def _reply(reading: Reading, balance: Expr, bound: Bound | None = None) -> Draft:
    if not reading.output:
        return {"status": constant(_done(reading)), "new_balance": balance}
    extra = {"balance": balance, "new_balance": balance, "current_balance": balance}
    if bound is not None:
        record = source_of(bound.collection, bound.noun, bound.noun, bound.id, extra=extra)
        return reply(record, reading.output, reading.arguments)
    source = Source(value=balance, noun="account", fields={}, extra=extra)
    return reply(source, reading.output, reading.arguments)
