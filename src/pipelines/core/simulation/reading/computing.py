"""Arithmetic and the time: tools whose answer is in their arguments, not in the world."""

import re
from collections.abc import Mapping

from pipelines.core.english.words import tokens
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted, Step, arg, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading

_OF_TWO: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(("add", "addition", "plus")), "{0} + {1}"),
    (frozenset(("subtract", "subtraction", "minus")), "{0} - {1}"),
    (frozenset(("multiply", "multiplication", "times")), "{0} * {1}"),
    (frozenset(("divide", "division")), "{0} / {1}"),
    (frozenset(("modulo", "remainder", "mod")), "{0} % {1}"),
    (frozenset(("power", "exponent", "pow")), "{0} ** {1}"),
    (frozenset(("percentage", "percent")), "{0} / {1} * 100"),
)
_OF_MANY = {
    "standard deviation|stdev": "pstdev({0})",
    "mean|average": "mean({0})",
    "median": "median({0})",
    "sum|total": "sum({0})",
    "max|maximum": "max({0})",
    "min|minimum": "min({0})",
}
_OF_ONE = {
    "absolute|abs": "abs({0})",
    "square root|sqrt": "sqrt({0})",
    "round": "round({0}, {1})",
    "logarithm|log": "log({0}, {1})",
}


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
    failure = refusal("invalid_expression", f"{{{arg(given.name)}}} is not arithmetic", 400)
    result = f"calculate({arg(given.name)})"
    # Ten places: as good as exact, without the noise of binary fractions.
    steps: tuple[Step, ...] = (
        {"let": {"result": result}},
        require("result != null", failure),
        {"return": _named(reading, "round(result, 10)")},
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
        template = next((formula for names, formula in _OF_TWO if names & set(words)), None)
        if template is not None:
            return _computed(reading, template, given)
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
    template = next((formula for name, formula in said if name <= set(words)), None)
    if template is None or (reading.collection is not None and not reading.arguments):
        return None
    return _computed(reading, template, given)


def _computed(reading: Reading, template: str, given: list[Argument]) -> Drafted:
    plain = [one for one in given if not (_has_precision(one) and "{1}" not in template)]
    names = [_value(one) for one in plain] + ["0"]
    formula = template.format(*names)
    steps: list[Step] = []
    if "/" in template or "%" in template:
        failure = refusal("division_by_zero", "Cannot divide by zero", 400)
        steps.append(require(f"{names[1]} != 0", failure))
    precision = next((one for one in given if _has_precision(one) and "round(" not in template), None)
    if precision is not None:
        formula = f"significant({formula}, {arg(precision.name)})"
    steps.append({"return": _named(reading, formula)})
    return Drafted(steps=tuple(steps), confidence=0.85)


def _value(argument: Argument) -> str:
    if argument.is_required or argument.default is None:
        return arg(argument.name)
    return f"default({arg(argument.name)}, {argument.default!r})"


def _time(reading: Reading) -> Drafted | None:
    """What time it is, what day: the run's own clock."""
    nouns = set(reading.name.nouns)
    words = set(tokens(reading.tool.name))
    if reading.arguments or not reading.name.reads() or not words & {"current", "now", "today"}:
        return None
    if not nouns & {"time", "date", "datetime", "timestamp", "today", "now", "day"}:
        return None
    value = "today" if nouns & {"date", "today", "day"} else "now"
    name = "_".join(re.findall(r"[a-z]+", reading.tool.name.lower())).removeprefix("get_")
    return Drafted(
        steps=({"return": {name: value} if not reading.output else _named(reading, value)},), confidence=0.8
    )


def _named(reading: Reading, value: str) -> Json:
    if reading.output:
        extra = dict.fromkeys(("result", "value", "answer", "output", "time", "date"), value)
        return reply(
            Source(value=value, noun="result", fields={}, extra=extra), reading.output, reading.arguments
        )
    return {"result": value} if reading.answers_in_objects else value
