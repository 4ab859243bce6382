"""Samples for trying a rule: arguments suggested by schemas and the rule, and times around its dates.
Where there are too many to try all, the result is None, not a part.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import Any, NamedTuple

from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.expr import Expr, written
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules.rule import ARGS
from pipelines.core.simulation.rules.vocabulary import ToolNouns
from pipelines.core.simulation.syntax.compiler import Evaluate
from pipelines.core.simulation.syntax.expressions import compile_expression
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Refused

MOST_COMBINED = 1_000  # calls with other arguments; more of them are not gone through
MOST_RECORDS = 4_000  # of a type that are looked at one by one
_MOST_ARGUMENTS = 3
MOST_VALUES = 12  # of one field that arguments are compared with
_MOST_DATES = 5
_LONGEST = 10_000  # characters of a text that is made as long as a rule's number
_LARGEST = 1e18  # numbers past it count nothing
_FAR = timedelta(days=40_000)  # longer than any span that a rule speaks of
_DATED = frozenset(("days_between", "is_before", "add_months", "add_days", "add_minutes", "date_part"))
#: What these give hangs on the run: on calls before, or on chance.
_RUN_FUNCTIONS = frozenset(("calls", "new_id", "uuid", "random_int", "token", "invented"))
#: Of an argument in any other function only some values are tried, and another may make the difference.
_SAMPLED = frozenset(
    ("len", "default", "same_id", "entity", "exists", "any", "all", "sum", "min", "max", "round", "abs")
) | frozenset(("days_between", "is_before", "add_days", "add_months", "add_minutes", "str", "lower", "upper"))
_UNKNOWN = frozenset(("$ref", "$dynamicRef", "allOf", "not", "if", "pattern"))  # nobody knows what fits
OMITTED: Any = object()  # in place of an argument that is not given


class Hints(NamedTuple):
    """What the rule itself names, then what the records have where it looks."""

    numbers: tuple[float, ...]
    texts: tuple[str, ...]
    dates: tuple[datetime, ...]


def hints_of(expr: Expr, values: Iterable[Json], ids: Iterable[str] = ()) -> Hints:
    own = [node.value for node in expr.walk() if isinstance(node, n.Constant)]
    flat = [part for value in values for part in (value if isinstance(value, list) else [value])]
    seen = [*dict.fromkeys(_numbers_in(flat))]
    texts = [value for value in (*own, *flat) if isinstance(value, str)]
    moments = (moment_of(value) for value in (*dict.fromkeys(texts), *seen))
    dates = (_utc(when.at) for when in moments if when and 1000 < when.at.year < 9000)
    return Hints(
        tuple(dict.fromkeys((*_numbers_in(own), *seen[:MOST_VALUES]))),
        tuple(dict.fromkeys((*texts, *ids))),
        tuple(islice(dict.fromkeys(dates), _MOST_DATES)),
    )


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _numbers_in(values: Iterable[Any]) -> list[float]:
    plain = (one for one in values if isinstance(one, (int, float)) and not isinstance(one, bool))
    return [float(one) for one in plain if abs(one) < _LARGEST]


def looks_at_clock(expr: Expr) -> bool:
    return bool({"now", "today"} & expr.roots())


def depends_on_run(expr: Expr) -> bool:
    """Whether calls before, chance, or values that are not tried may decide it."""
    return any(
        call.function in _RUN_FUNCTIONS or (call.function not in _SAMPLED and "args" in call.roots())
        for call in expr.calls()
    )


def is_dated(expr: Expr) -> bool:
    return looks_at_clock(expr) or any(call.function in _DATED for call in expr.calls())


def compile_condition(expr: Expr, names: Collection[str]) -> Evaluate | None:
    try:
        return compile_expression(written(expr), names=names).evaluate
    except (Refused, RecursionError):
        return None  # what is wrong with it is said where it is applied


# -- arguments


def arguments_read(expr: Expr) -> tuple[str, ...] | None:
    """None where it looks into an argument, or at all of them."""
    paths = [path for path in expr.refs() if path.root == ARGS]
    is_plain = all(len(path.keys) == 1 for path in paths)
    return tuple(dict.fromkeys(path.keys[0] for path in paths)) if is_plain else None


def calls_with(expr: Expr, tool: ToolNouns, hints: Hints) -> list[JsonObject] | None:
    """Arguments of calls that the schemas let through, as far as the rule reads them."""
    names = arguments_read(expr)
    if names is None or len(names) > _MOST_ARGUMENTS:
        return None
    given = [values_for(tool.arguments.get(name, {}), hints, is_dated=is_dated(expr)) for name in names]
    tries = [
        [*values, *([] if name in tool.required else [OMITTED])]
        for name, values in zip(names, given, strict=True)
        if values is not None
    ]
    calls = [*islice(product(*tries), MOST_COMBINED + 1)]
    if len(tries) < len(names) or len(calls) > MOST_COMBINED:
        return None
    pairs = (zip(names, call, strict=True) for call in calls)
    return [{name: one for name, one in call if one is not OMITTED} for call in pairs]


def values_for(schema: JsonObject, hints: Hints, *, is_dated: bool = False) -> list[Json] | None:
    """Values that a schema lets through; None where what fits it is not known."""
    kinds = schema.get("type", "null" if {"enum", "const"} & schema.keys() else None)
    listed = [
        _tries(str(one), schema, hints, is_dated) for one in (kinds if isinstance(kinds, list) else [kinds])
    ]
    if _UNKNOWN & schema.keys() or not all(listed):
        return None
    accepts = CompiledSchema(schema).accepts
    return [value for tries in listed for value in tries if accepts(value)]


def _tries(kind: str, schema: JsonObject, hints: Hints, is_dated: bool) -> list[Json]:
    enum, form = schema.get("enum", [schema["const"]] if "const" in schema else None), schema.get("format")
    if isinstance(enum, list):
        return enum
    if kind in ("integer", "number"):
        bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
        numbers = [*hints.numbers, *_numbers_in(schema.get(name) for name in bounds), 0.0, 1.0, -1.0]
        near = dict.fromkeys(near for one in numbers for near in (one, one - 1, one + 1))
        return [int(one) if one == int(one) else one for one in near]
    if kind == "string" and (is_dated or form in ("date", "date-time")):
        return [*dict.fromkeys(at[:10] if form == "date" else at for at in moments_around(hints))]
    if kind == "string":
        lengths = [int(one) + more for one in hints.numbers if one < _LONGEST for more in (-1, 0, 1)]
        longer = (f"{text}x" for text in hints.texts[:MOST_VALUES])
        return [*dict.fromkeys((*hints.texts, *longer, "", "x", *("x" * one for one in lengths)))]
    plain: dict[str, list[Json]] = {"boolean": [True, False], "null": [None]}
    return plain.get(kind, [])


# -- moments


def moments_around(hints: Hints) -> list[str]:
    """Before, at and after each date that the rule looks at, by as much as the rule itself says."""
    spans = [timedelta(0), timedelta(days=1), _FAR]
    for number in hints.numbers:
        if 0 < number < _FAR.days:
            for near in (number - 0.5, number, number + 0.5):  # a span in months is some days more or less
                spans += [timedelta(days=near), timedelta(hours=near), timedelta(days=30.5 * near)]
    dates = hints.dates or (datetime(2026, 1, 1, tzinfo=UTC),)
    few = [span for span in spans if span <= _FAR]
    moved = (at + sign * span for at in dates for span in few for sign in (1, -1))
    return [*dict.fromkeys(at.isoformat() for at in moved)]
