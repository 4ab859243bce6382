"""More and less of something: a payment, hours that are credited, stock that is used, fuel that is pumped.

One number is given, and a number that the record keeps grows or falls by it: which one, the reply's own
fields say first, then the words; which way, the verb and what the field counts (what is used up grows)."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipelines.core.english.inflection import participle
from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import find_field
from pipelines.core.simulation.domain.roles import field_at
from pipelines.core.simulation.domain.shapes import Field
from pipelines.core.simulation.expr.make import arg, arithmetic, call, compare, message
from pipelines.core.simulation.expr.nodes import ArithmeticSign, Constant, Expr
from pipelines.core.simulation.reading.account import more_than_none
from pipelines.core.simulation.reading.limits import limit_of_counter, room_of
from pipelines.core.simulation.reading.replies import find_path, properties_of
from pipelines.core.simulation.reading.scope import Thing, alike, scope_of, stems
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_reply

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


_NO_MORE = re.compile(r"\b(?:not|no|never) (?:be )?more than\b|\bat most\b|\bexceed", re.IGNORECASE)


class Running(NamedTuple):
    """A number that is kept up to date."""

    thing: Thing
    path: tuple[str, ...]
    sign: ArithmeticSign

    @property
    def place(self) -> Expr:
        return dot(self.thing.value, *self.path)


def read_told_amount(reading: Reading) -> Drafted | None:
    """Where the reply itself names the number that the record keeps: as clear as can be."""
    about = reading.subject
    given = {one.name for one in reading.arguments}
    fields = about.collection.fields if about is not None else {}
    paths = [find_path(fields, name) for name in properties_of(reading.output) if name not in given]
    told = [field_at(fields, path) for path in paths if path is not None]
    numbers = [one for one in told if one is not None and "number" in one.kinds]
    return read_amount(reading) if len(numbers) == 1 else None


def read_amount(reading: Reading) -> Drafted | None:
    """The one number given is added to, or taken from, the number that the tool's words name."""
    scope = scope_of(reading)
    given = [one for one in scope.arguments if one.kind == "number" and one.is_required]
    if len(given) != 1 or given[0].words[0] in ("new", "to"):
        return None
    if reading.name.verb in _SETS and any(
        find_field(one.collection.fields, given[0].name) for one in scope.things
    ):
        return None  # update_credit_limit(account_id, credit_limit) says what it is to be
    found = [one for thing in scope.things if (one := running(reading, thing, given[0])) is not None]
    if len(found) != 1:
        return None
    one = found[0]
    bound = Bound(
        steps=(), noun=one.thing.noun, id=one.thing.id, collection=one.thing.collection, holder=one.thing.noun
    )
    room = room_of(one.thing, one.path[0]) if one.sign == "+" and len(one.path) == 1 else None
    if room is None and one.sign == "+" and _NO_MORE.search(reading.tool.description or ""):
        room = limit_of_counter(one.thing, one.path[0])
    moved = _moved(given[0], one.place, one.sign, room)
    steps = [*scope.steps, *moved, {"return": change_reply(reading, bound)}]
    note = f"`{one.place}` is the number that changes, by the words of name and description"
    return Drafted(steps=tuple(steps), notes=(note,), confidence=0.8)


def running(reading: Reading, thing: Thing, amount: Argument) -> Running | None:
    fields = thing.collection.fields
    inside = [(name, part) for name, one in fields.items() if not one.keeps for part in one.parts]
    paths = [path for path in [*((name,) for name in fields), *inside] if _is_number(fields, path)]
    if (done := (participle(reading.name.verb),)) in paths:
        return Running(thing, done, "+")  # reserve_plants adds to what is `reserved`
    kind = _kind_of_change(reading)
    if kind is None:
        return None
    # What an invoice is of does not change as it is paid: `amount`, where `paid` is never more.
    wholes = {(one.most,) for one in thing.collection.limits if _GROWS & {*tokens(one.used)}}
    paths = [path for path in paths if kind != "pays" or path not in wholes]
    scored = [(_fit(path, kind, reading, amount, fields), path) for path in paths]
    best = max((score for score, _ in scored), default=0.0)
    fit = [path for score, path in scored if score == best]
    # Two that fit alike: which one is meant is a guess, and a guess changes nothing.
    if best < 1 or len(fit) != 1:
        return None
    is_less = reading.name.verb in _LESSENS
    return Running(thing, fit[0], "-" if is_less else _sign(kind, tokens(fit[0][-1])))


def _is_number(fields: Mapping[str, Field], path: tuple[str, ...]) -> bool:
    found = field_at(fields, path)
    return found is not None and "number" in found.kinds and not found.keeps


def _kind_of_change(reading: Reading) -> str | None:
    """By the verb of the name, else by the first words of the description."""
    for words in ((reading.name.verb,), tokens(reading.tool.name), tokens(reading.said.summary.lower())[:6]):
        for word in words:
            forms = (word, word.removesuffix("s"), word.removesuffix("es"))
            base = next((one for one in forms if _is_known(one)), None)
            if base is not None:
                return "pays" if base in _PAYS else "uses" if base in _USES else "adds"
    return None


def _is_known(word: str) -> bool:
    return word in _PAYS or word in _USES or word in _ADDS


def _fit(
    path: tuple[str, ...], kind: str, reading: Reading, amount: Argument, fields: Mapping[str, Field]
) -> float:
    parts = tokens(path[-1])
    answered = {find_path(fields, one) for one in properties_of(reading.output)}
    score = 3.0 * (path in answered and path[-1] != amount.name)
    score += 2.0 * (path[-1] == amount.name)
    spoken = {
        stem(singular(word)) for word in (*tokens(reading.tool.name), *tokens(reading.said.summary.lower()))
    }
    if len(path) > 1 and path not in answered and not stems(tokens(path[0])) & spoken:
        return 0.0  # inside an object of which nobody speaks
    spoken |= {stem(singular(word)) for word in amount.words}
    met = sum(stem(singular(part)) in spoken for part in parts)
    score += met + 0.5 * (met == len(parts))  # the kilos, not the minimum kilos
    if kind == "pays":
        score += 1.5 * bool(_GROWS & {*parts}) + 1.0 * bool(_OWED & {*parts})
    elif kind == "uses":
        score += 1.0 * bool(_GROWS & {*parts}) + 1.0 * any(
            alike(word, part) for part in parts for word in _STOCK
        )
    return score


_STOCK = ("stock", "remaining", "left", "balance", "credit", "available", "hand", "quantity")


def _sign(kind: str, parts: Sequence[str]) -> ArithmeticSign:
    if kind == "adds" or _GROWS & {*parts}:
        return "+"
    return "-"


def _moved(amount: Argument, place: Expr, sign: ArithmeticSign, most: Expr | None = None) -> list[Step]:
    given, there = arg(amount.name), call("default", place, Constant(0))
    after = arithmetic(there, sign, given)
    steps = [more_than_none(amount)]
    if sign == "-":
        short = refusal("not_enough", message("Only ", place, " is left"))
        steps.append(require(compare(there, ">=", given), short))
    if most is not None:
        full = refusal("not_enough", message("Only ", most, " in all, ", place, " are taken"))
        steps.append(require(compare(after, "<=", most), full))
    return [*steps, {"set": {place: after}}]


def counted_field(reading: Reading, amount: Argument, fields: Mapping[str, Field]) -> tuple[str, ...] | None:
    """The numeric field that shares most words with the tool's name and the argument."""
    numbers = [name for name, one in fields.items() if "number" in one.kinds]
    if amount.name in numbers:
        return (amount.name,)
    spoken = stems((*tokens(reading.tool.name), *tokens(reading.said.summary), *amount.words))
    fit = [name for name in numbers if stems(tokens(name)) & spoken]
    return (fit[0],) if len(fit) == 1 else None
