"""JSONPath (RFC 9535) as ledger adapters may use it: every path ends, whatever it is asked of.

The package reads and checks the text. Walking a value is done here, because every step must be counted: what
a filter looks at is written by an author and answered by a stranger, and other calls wait while it runs.
Left out of the language: `match` and `search` (patterns that backtrack), and `..` inside filters.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathNameError, JSONPathQuery
from jsonpath_rfc9535 import filter_expressions as parsed
from jsonpath_rfc9535 import segments as parsed_segments
from jsonpath_rfc9535 import selectors as parsed_selectors

from pipelines.core.text.json_text import Json, count_values, same

LONGEST_PATH = 512  # characters
MOST_NESTED = (
    16  # brackets in brackets: the reader is recursive, and must not depend on how deep its caller is
)
MAX_STEPS = 20_000  # values looked at for one reply: some ten milliseconds
_CHARACTERS_PER_STEP = 256


class InvalidPath(ValueError):
    """The text is no path that is allowed here; the message goes on after "`id_from` "."""


class TooManySteps(Exception):
    """More values would have to be looked at than one reply is worth."""


class Steps:
    """How many steps are left, shared by all paths that are asked of one reply."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_STEPS) -> None:
        self.left = left

    def take(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooManySteps


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonPath:
    text: str
    is_singular: bool  # can match one place at most: only names and indexes
    segments: tuple[parsed_segments.JSONPathSegment, ...]

    def found_in(self, value: Json, steps: Steps) -> list[Json]:
        """Every value that it matches, in order. Raises TooManySteps."""
        return _Walk(value, steps).nodes(self.segments, value)


class _Environment(JSONPathEnvironment):
    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        del self.function_extensions["match"], self.function_extensions["search"]


_ENVIRONMENT = _Environment()


# -- reading one -------------------------------------------------------------------------------------------


@lru_cache(
    maxsize=1024
)  # of up to a few hundred small objects each: many more, and collecting garbage takes long
def compile_path(text: str) -> JsonPath:
    """The path that a text means. Raises InvalidPath with what is wrong, and where."""
    if len(text) > LONGEST_PATH:
        raise InvalidPath(f"has {len(text)} characters; at most {LONGEST_PATH} are allowed")
    if _nesting(text) > MOST_NESTED:
        raise InvalidPath(f"has brackets nested deeper than {MOST_NESTED}")
    try:
        query = _ENVIRONMENT.compile(text)
    except JSONPathNameError as error:
        raise InvalidPath(f"uses a function that is not available here: {_error_text(error)}") from None
    except JSONPathError as error:
        raise InvalidPath(f"is not a JSONPath (RFC 9535): {_error_text(error)}") from None
    except (RecursionError, ValueError, OverflowError):
        raise InvalidPath("is not a JSONPath (RFC 9535)") from None
    if any(_has_descent(inner) for inner in _filter_queries(query)):
        raise InvalidPath("has `..` inside a filter; use member names there")
    return JsonPath(text=text, is_singular=query.singular_query(), segments=query.segments)


def _nesting(text: str) -> int:
    deepest = level = 0
    for character in text:
        level += (character in "([") - (character in ")]")
        deepest = max(deepest, level)
    return deepest


def _error_text(error: JSONPathError) -> str:
    """The package's words, with the place as a character of the one line that a path is."""
    reason = str(error.args[0]) if error.args else "it cannot be read"
    return f"{reason} (character {error.token.index + 1})" if error.token is not None else reason


def _filter_queries(query: JSONPathQuery) -> Iterator[JSONPathQuery]:
    for segment in query.segments:
        for selector in segment.selectors:
            if isinstance(selector, parsed_selectors.FilterSelector):
                yield from _queries_of(selector.expression)


def _queries_of(expression: parsed.Expression) -> Iterator[JSONPathQuery]:
    match expression:
        case parsed.FilterQuery():
            yield expression.query
            yield from _filter_queries(expression.query)
        case parsed.FilterExpression():
            yield from _queries_of(expression.expression)
        case parsed.PrefixExpression():
            yield from _queries_of(expression.right)
        case parsed.LogicalExpression() | parsed.ComparisonExpression():
            yield from _queries_of(expression.left)
            yield from _queries_of(expression.right)
        case parsed.FunctionExtension():
            for argument in expression.args:
                yield from _queries_of(argument)


def _has_descent(query: JSONPathQuery) -> bool:
    descent = parsed_segments.JSONPathRecursiveDescentSegment
    return any(isinstance(segment, descent) for segment in query.segments)


# -- asking one of a value ---------------------------------------------------------------------------------

_NOTHING: Any = object()  # what a query without a match is in a comparison; equal to itself alone
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Walk:
    """One path on its way through one value."""

    __slots__ = ("root", "steps")

    def __init__(self, root: Json, steps: Steps) -> None:
        self.root = root
        self.steps = steps

    def nodes(self, segments: Sequence[parsed_segments.JSONPathSegment], start: Json) -> list[Json]:
        found = [start]
        for segment in segments:
            if isinstance(segment, parsed_segments.JSONPathRecursiveDescentSegment):
                found = [inner for node in found for inner in self._containers(node)]
            found = [
                child
                for node in found
                for selector in segment.selectors
                for child in self._select(selector, node)
            ]
        return found

    def _containers(self, top: Json) -> Iterator[Json]:
        """The value and every object and array in it, each before what is in it."""
        pending = [top]
        while pending:
            node = pending.pop()
            children = _children(node)
            self.steps.take(1 + len(children))
            yield node
            pending.extend(child for child in reversed(children) if isinstance(child, (dict, list)))

    def _select(self, selector: parsed_selectors.JSONPathSelector, node: Json) -> Iterator[Json]:
        self.steps.take()
        match selector:
            case parsed_selectors.NameSelector():
                if isinstance(node, dict) and selector.name in node:
                    yield node[selector.name]
            case parsed_selectors.IndexSelector():
                if isinstance(node, list) and -len(node) <= selector.index < len(node):
                    yield node[selector.index]
            case parsed_selectors.SliceSelector():
                if isinstance(node, list) and selector.slice.step != 0:
                    yield from self._each(node[selector.slice])
            case parsed_selectors.WildcardSelector():
                yield from self._each(_children(node))
            case parsed_selectors.FilterSelector():
                for child in self._each(_children(node)):
                    if self._holds(selector.expression, child):
                        yield child

    def _each(self, children: list[Json]) -> list[Json]:
        self.steps.take(len(children))
        return children

    def _holds(self, expression: parsed.Expression, current: Json) -> bool:
        self.steps.take()
        match expression:
            case parsed.FilterExpression():
                return self._holds(expression.expression, current)
            case parsed.PrefixExpression():
                return not self._holds(expression.right, current)
            case parsed.LogicalExpression():
                if expression.operator == "&&":
                    return self._holds(expression.left, current) and self._holds(expression.right, current)
                return self._holds(expression.left, current) or self._holds(expression.right, current)
            case parsed.ComparisonExpression():
                left, right = self._value(expression.left, current), self._value(expression.right, current)
                return self._compare(left, expression.operator, right)
            case parsed.FilterQuery():
                return bool(self._query(expression, current))
        return False

    def _query(self, expression: parsed.Expression, current: Json) -> list[Json]:
        assert isinstance(expression, parsed.FilterQuery)
        start = current if isinstance(expression, parsed.RelativeFilterQuery) else self.root
        return self.nodes(expression.query.segments, start)

    def _value(self, expression: parsed.Expression, current: Json) -> Any:
        self.steps.take()
        match expression:
            case parsed.FilterExpressionLiteral():
                return expression.value
            case parsed.FunctionExtension(name="length"):
                value = self._value(expression.args[0], current)
                return len(value) if isinstance(value, (str, list, dict)) else _NOTHING
            case parsed.FunctionExtension(name="count"):
                return len(self._query(expression.args[0], current))
            case parsed.FunctionExtension():  # value()
                return _only(self._query(expression.args[0], current))
        return _only(self._query(expression, current))

    def _compare(self, left: Any, sign: str, right: Any) -> bool:
        self._pay_for(left, right)
        if sign in ("==", "!="):
            return _is_equal(left, right) == (sign == "==")
        is_ordered = (isinstance(left, str) and isinstance(right, str)) or _are_numbers(left, right)
        return _ORDERED[sign](left, right) if is_ordered else "=" in sign and _is_equal(left, right)

    def _pay_for(self, left: Any, right: Any) -> None:
        """Looking at two large values takes long however they came here."""
        if isinstance(left, str) and isinstance(right, str):
            self.steps.take(min(len(left), len(right)) // _CHARACTERS_PER_STEP)
        elif isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
            self.steps.take(count_values(left, self.steps.left))


def _children(node: Json) -> list[Json]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _only(found: list[Json]) -> Any:
    return found[0] if len(found) == 1 else _NOTHING


def _is_equal(left: Any, right: Any) -> bool:
    if left is _NOTHING or right is _NOTHING:
        return left is right
    return same(left, right)


def _are_numbers(left: Any, right: Any) -> bool:
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (left, right))
