"""The one printer of expressions: what it writes, `parse` reads back as the same nodes."""

import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.core.simulation.expr import nodes as n

# How tightly a node holds together, loosest first; a part that is looser than its place gets brackets.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _NEGATIVE, _POWER, _ATOM = range(10)
_ARITHMETIC: Mapping[str, int] = {
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "//": _PRODUCT,
    "%": _PRODUCT,
    "**": _POWER,
}
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def written(expr: n.Expr) -> str:
    return _WRITERS[type(expr)](expr)


def template(expr: n.Expr) -> str:
    """A text with values in it as messages have it: `order {order.id} is {order.status}`."""
    parts = expr.parts if isinstance(expr, n.Format) else (_plain_or_shown(expr),)
    return "".join(_in_template(part) for part in parts)


def _plain_or_shown(expr: n.Expr) -> str | n.FormattedValue:
    if isinstance(expr, n.Constant) and isinstance(expr.value, str):
        return expr.value
    return n.FormattedValue(expr)


def _in_template(part: str | n.FormattedValue) -> str:
    if isinstance(part, str):
        return part.replace("{", "{{").replace("}", "}}")
    code = written(part.value)
    gap = " " if code.startswith("{") else ""  # two braces would be the character
    return f"{{{gap}{code}{':' if part.spec else ''}{part.spec}}}"


def _strength(expr: n.Expr) -> int:
    if isinstance(expr, n.Arithmetic):
        return _ARITHMETIC[expr.sign]
    if isinstance(expr, n.Constant) and type(expr.value) in (int, float):
        return _NEGATIVE if str(expr.value).startswith("-") else _ATOM
    return _STRENGTHS.get(type(expr), _ATOM)


def _inside(expr: n.Expr, at_least: int) -> str:
    text = written(expr)
    return text if _strength(expr) >= at_least else f"({text})"


def _constant(expr: n.Constant) -> str:
    if isinstance(expr.value, str):
        return "'" + "".join(map(_escaped, expr.value)) + "'"
    words = {None: "null", True: "true", False: "false"}
    return words[expr.value] if expr.value is None or isinstance(expr.value, bool) else repr(expr.value)


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known is not None:
        return known
    return character if character.isprintable() else ascii(character)[1:-1]


def _field(expr: n.Field) -> str:
    of = _inside(expr.of, _ATOM)
    # `5.x` is no field to the parser, and neither is one that is called like a word of the language.
    is_plain = _PLAIN.fullmatch(expr.key) and expr.key.isascii() and not keyword.iskeyword(expr.key)
    if not is_plain or expr.key.startswith("__") or isinstance(expr.of, n.Constant):
        return f"{of}[{_constant(n.Constant(expr.key))}]"
    return f"{of}.{expr.key}"


def _slice(expr: n.Slice) -> str:
    start, end = ("" if edge is None else written(edge) for edge in (expr.start, expr.end))
    return f"{_inside(expr.of, _ATOM)}[{start}:{end}]"


def _comparison(expr: n.Compare) -> str:
    rest = "".join(f" {one.sign} {_inside(one.value, _SUM)}" for one in expr.rest)
    return f"{_inside(expr.first, _SUM)}{rest}"


def _joined(parts: tuple[n.Expr, ...], word: str, at_least: int) -> str:
    return word.join(_inside(part, at_least) for part in parts)


def _arithmetic(expr: n.Arithmetic) -> str:
    own = _ARITHMETIC[expr.sign]
    # All but `**` go from left to right.
    left, right = (own + 1, _NEGATIVE) if expr.sign == "**" else (own, own + 1)
    return f"{_inside(expr.left, left)} {expr.sign} {_inside(expr.right, right)}"


def _call(expr: n.Call) -> str:
    match expr.arguments:
        case [n.Comprehension(shape="generator") as only]:  # which brings its own brackets
            return f"{expr.function}{written(only)}"
    return f"{expr.function}({', '.join(map(written, expr.arguments))})"


def _conditional(expr: n.Conditional) -> str:
    then, test = _inside(expr.then, _OR), _inside(expr.test, _OR)
    return f"{then} if {test} else {_inside(expr.otherwise, _CONDITIONAL)}"


_BRACKETS = {"list": ("[", "]"), "generator": ("(", ")"), "set": ("{", "}"), "mapping": ("{", "}")}


def _comprehension(expr: n.Comprehension) -> str:
    result = ": ".join(map(written, expr.results))
    loops = "".join(map(_loop, expr.loops))
    opening, closing = _BRACKETS[expr.shape]
    return f"{opening}{result}{loops}{closing}"


def _loop(loop: n.Loop) -> str:
    tests = "".join(f" if {_inside(test, _OR)}" for test in loop.tests)
    return f" for {', '.join(loop.names)} in {_inside(loop.source, _OR)}{tests}"


def _mapping(expr: n.MappingOf) -> str:
    entries = (
        f"**{_inside(value, _SUM)}" if key is None else f"{written(key)}: {written(value)}"
        for key, value in expr.entries
    )
    return "{" + ", ".join(entries) + "}"


def _format(expr: n.Format) -> str:
    """Python 3.11 allows neither the quotes of the text nor a backslash in a value within it."""
    parts = [_in_template(part) for part in expr.parts if isinstance(part, n.FormattedValue)]
    quote = next((one for one in ("'", '"', '"""') if not any(one in part for part in parts)), "'''")
    if any("\\" in part for part in parts):
        return " + ".join(
            _constant(n.Constant(one)) if isinstance(one, str) else _text(one) for one in expr.parts
        )
    return f"f{quote}{''.join(_in_format(part, quote) for part in expr.parts)}{quote}"


def _in_format(part: str | n.FormattedValue, quote: str) -> str:
    if isinstance(part, n.FormattedValue):
        return _in_template(part)
    return "".join(map(_escaped, _in_template(part))).replace('"', '\\"' if quote[0] == '"' else '"')


def _text(part: n.FormattedValue) -> str:
    return f"str({written(part.value)})"


_STRENGTHS: Mapping[type[n.Expr], int] = {
    n.Conditional: _CONDITIONAL,
    n.Or: _OR,
    n.And: _AND,
    n.Not: _NOT,
    n.Compare: _COMPARE,
    n.Negative: _NEGATIVE,
}
_WRITERS: Mapping[type[n.Expr], Callable[[Any], str]] = {
    n.Constant: _constant,
    n.Name: lambda expr: expr.name,
    n.Field: _field,
    n.Item: lambda expr: f"{_inside(expr.of, _ATOM)}[{written(expr.at)}]",
    n.Slice: _slice,
    n.Compare: _comparison,
    n.And: lambda expr: _joined(expr.parts, " and ", _NOT),
    n.Or: lambda expr: _joined(expr.parts, " or ", _AND),
    n.Not: lambda expr: f"not {_inside(expr.part, _NOT)}",
    n.Arithmetic: _arithmetic,
    n.Negative: lambda expr: f"-{_inside(expr.part, _NEGATIVE)}",
    n.Call: _call,
    n.Conditional: _conditional,
    n.Comprehension: _comprehension,
    n.Spread: lambda expr: f"*{_inside(expr.part, _OR)}",
    n.ListOf: lambda expr: f"[{', '.join(map(written, expr.parts))}]",
    n.MappingOf: _mapping,
    n.Format: _format,
}
