"""Arithmetic and the time: tools whose answer is in their arguments, not in the world."""

from pipelines.core.english.words import tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.expr.make import (
    NOW,
    TODAY,
    Draft,
    arg,
    arithmetic,
    call,
    differs,
    is_given,
    message,
)
from pipelines.core.simulation.expr.nodes import ArithmeticSign, Constant, Expr, Name
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted, Step, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading

_OF_TWO: dict[str, ArithmeticSign] = {
    **dict.fromkeys(("add", "plus"), "+"),
    **dict.fromkeys(("subtract", "minus"), "-"),
    **dict.fromkeys(("multiply", "times"), "*"),
    **dict.fromkeys(("divide", "division"), "/"),
    **dict.fromkeys(("power", "pow"), "**"),
}
_OF_MANY = {"mean": "mean", "average": "mean", "median": "median", "sum": "sum", "total": "sum"}
_OF_MANY |= {"max": "max", "maximum": "max", "min": "min", "minimum": "min", "deviation": "pstdev"}


def read_computing(reading: Reading) -> Drafted | None:
    """An answer computed from the arguments alone; None when the tool is about the world."""
    return _expression(reading) or _of_numbers(reading) or _time(reading)


def _expression(reading: Reading) -> Drafted | None:
    """`calculate("2 + 2")`."""
    names = ("expression", "formula", "equation")
    given = next((one for one in reading.arguments if one.words[-1] in names), None)
    if given is None or not reading.name.reads():
        return None
    failure = refusal("invalid_expression", message(arg(given.name), " is not arithmetic"), 400)
    # Ten places: as good as exact, without the noise of binary fractions.
    answer = _named(reading, call("round", Name("result"), Constant(10)))
    found: Step = {"let": {"result": call("calculate", arg(given.name))}}
    steps = (found, require(is_given(Name("result")), failure), {"return": answer})
    return Drafted(steps=steps, confidence=0.9)


def _of_numbers(reading: Reading) -> Drafted | None:
    """add(a, b), mean(numbers): nothing but numbers is given."""
    given, words = reading.arguments, tokens(reading.tool.name)
    if not given or not all(map(_is_numeric, given)):
        return None
    steps: list[Step] = []
    function = next((_OF_MANY[word] for word in words if word in _OF_MANY), None)
    sign = next((_OF_TWO[word] for word in words if word in _OF_TWO), None)
    if len(given) == 1 and given[0].kind == "list" and function is not None:
        value: Expr = call(function, arg(given[0].name))
    elif len(given) == 2 and sign is not None:
        value = arithmetic(arg(given[0].name), sign, arg(given[1].name))
        if sign == "/":
            failure = refusal("division_by_zero", "Cannot divide by zero", 400)
            steps.append(require(differs(arg(given[1].name), Constant(0)), failure))
    else:
        return None
    return Drafted(steps=(*steps, {"return": _named(reading, value)}), confidence=0.85)


def _is_numeric(argument: Argument) -> bool:
    items = argument.schema.get("items")
    numbers = isinstance(items, dict) and items.get("type") in ("number", "integer")
    return (argument.kind == "number" and argument.id_noun is None) or (argument.kind == "list" and numbers)


def _time(reading: Reading) -> Drafted | None:
    """What time it is, what day: the run's own clock."""
    words, nouns = {*tokens(reading.tool.name)}, {*reading.name.nouns}
    days = {"date", "today", "day"}
    is_asked = bool(
        words & {"current", "now", "today"} and nouns & (days | {"time", "datetime", "timestamp"})
    )
    if reading.arguments or not reading.name.reads() or not is_asked:
        return None
    value = TODAY if nouns & days else NOW
    name = "_".join(tokens(reading.tool.name)).removeprefix("get_")
    answer: Draft = {name: value} if not reading.output else _named(reading, value)
    return Drafted(steps=({"return": answer},), confidence=0.8)


def _named(reading: Reading, value: Expr) -> Draft:
    if reading.output:
        extra = dict.fromkeys(("result", "value", "answer", "output", "time", "date"), value)
        source = Source(value=value, noun="result", fields={}, extra=extra)
        return reply(source, reading.output, reading.arguments)
    return {"result": value} if reading.answers_in_objects else value
