"""Arithmetic and the time: tools whose answer is in their arguments, not in the world."""

import re
from collections.abc import Mapping

from pipelines.core.english.words import tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.expr.make import (
    NOW,
    TODAY,
    Draft,
    arg,
    arithmetic,
    call,
    constant,
    differs,
    is_given,
    message,
)
from pipelines.core.simulation.expr.nodes import Arithmetic, ArithmeticSign, Constant, Expr, Name
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted, Step, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading

_OF_TWO: tuple[tuple[frozenset[str], ArithmeticSign], ...] = (
    (frozenset(("add", "addition", "plus")), "+"),
    (frozenset(("subtract", "subtraction", "minus")), "-"),
    (frozenset(("multiply", "multiplication", "times")), "*"),
    (frozenset(("divide", "division")), "/"),
    (frozenset(("modulo", "remainder", "mod")), "%"),
    (frozenset(("power", "exponent", "pow")), "**"),
)
_PERCENT = frozenset(("percentage", "percent"))
_OF_MANY = {
    "standard deviation|stdev": "pstdev",
    "mean|average": "mean",
    "median": "median",
    "sum|total": "sum",
    "max|maximum": "max",
    "min|minimum": "min",
}
_OF_ONE = {"absolute|abs": "abs", "square root|sqrt": "sqrt", "round": "round", "logarithm|log": "log"}
_TAKES_TWO = ("round", "log")


def read_computing(reading: Reading) -> Drafted | None:
    """An answer computed from the arguments alone; None when the tool is about the world."""
    return next(
        (found for family in (_expression, _of_numbers, _time) if (found := family(reading)) is not None),
        None,
    )


def _expression(reading: Reading) -> Drafted | None:
    """`calculate("2 + 2")`."""
    given = next(
        (one for one in reading.arguments if one.words[-1] in ("expression", "formula", "equation")), None
    )
    if given is None or not (reading.name.op == "compute" or reading.name.reads()):
        return None
    failure = refusal("invalid_expression", message(arg(given.name), " is not arithmetic"), 400)
    result = Name("result")
    # Ten places: as good as exact, without the noise of binary fractions.
    steps: tuple[Step, ...] = (
        {"let": {"result": call("calculate", arg(given.name))}},
        require(is_given(result), failure),
        {"return": _named(reading, call("round", result, Constant(10)))},
    )
    return Drafted(steps=steps, confidence=0.9)


def _of_numbers(reading: Reading) -> Drafted | None:
    """add(a, b), mean(numbers), round(number, places): nothing but numbers is given."""
    given = list(reading.arguments)
    if not given or not all(_is_numeric(one) for one in given):
        return None
    words = tokens(reading.tool.name)
    if given[0].kind == "list":
        return _formula(reading, given, words, _OF_MANY)
    if len(given) == 2 and not _has_precision(given[1]):
        one, other = map(_value, given)
        sign = next((sign for names, sign in _OF_TWO if names & set(words)), None)
        if sign is not None:
            return _computed(reading, arithmetic(one, sign, other), given)
        if _PERCENT & set(words):
            share = arithmetic(arithmetic(one, "/", other), "*", Constant(100))
            return _computed(reading, share, given)
    return _formula(reading, given, words, _OF_ONE)


def _is_numeric(argument: Argument) -> bool:
    items = argument.schema.get("items")
    numbers = isinstance(items, dict) and items.get("type") in ("number", "integer")
    return (argument.kind == "number" and argument.id_noun is None) or (argument.kind == "list" and numbers)


def _has_precision(argument: Argument) -> bool:
    return argument.words[-1] in ("precision", "places", "digits", "decimals")


def _formula(
    reading: Reading, given: list[Argument], words: tuple[str, ...], table: Mapping[str, str]
) -> Drafted | None:
    said = [(set(name.split()), formula) for names, formula in table.items() for name in names.split("|")]
    function = next((one for name, one in said if name <= set(words)), None)
    if function is None or (reading.collection is not None and not reading.arguments):
        return None
    of_two = function in _TAKES_TWO
    plain = [_value(one) for one in given if of_two or not _has_precision(one)]
    return _computed(reading, call(function, *[*plain, Constant(0)][: 1 + of_two]), given)


def _computed(reading: Reading, formula: Expr, given: list[Argument]) -> Drafted:
    steps: list[Step] = []
    if any(isinstance(node, Arithmetic) and node.sign in ("/", "%") for node in formula.walk()):
        failure = refusal("division_by_zero", "Cannot divide by zero", 400)
        steps.append(require(differs(_value(given[1]), Constant(0)), failure))
    rounds = any(one.function == "round" for one in formula.calls())
    precision = next((one for one in given if _has_precision(one) and not rounds), None)
    if precision is not None:
        formula = call("significant", formula, arg(precision.name))
    steps.append({"return": _named(reading, formula)})
    return Drafted(steps=tuple(steps), confidence=0.85)


def _value(argument: Argument) -> Expr:
    if argument.is_required or argument.default is None:
        return arg(argument.name)
    return call("default", arg(argument.name), constant(argument.default))


def _time(reading: Reading) -> Drafted | None:
    """What time it is, what day: the run's own clock."""
    nouns = set(reading.name.nouns)
    words = set(tokens(reading.tool.name))
    if reading.arguments or not reading.name.reads() or not words & {"current", "now", "today"}:
        return None
    if not nouns & {"time", "date", "datetime", "timestamp", "today", "now", "day"}:
        return None
    value = TODAY if nouns & {"date", "today", "day"} else NOW
    name = "_".join(re.findall(r"[a-z]+", reading.tool.name.lower())).removeprefix("get_")
    return Drafted(
        steps=({"return": {name: value} if not reading.output else _named(reading, value)},), confidence=0.8
    )


def _named(reading: Reading, value: Expr) -> Draft:
    if reading.output:
        extra = dict.fromkeys(("result", "value", "answer", "output", "time", "date"), value)
        return reply(
            Source(value=value, noun="result", fields={}, extra=extra), reading.output, reading.arguments
        )
    return {"result": value} if reading.answers_in_objects else value
