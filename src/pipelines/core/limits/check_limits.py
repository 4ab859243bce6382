"""How large a value may be to be checked against a schema, so that no check holds up the process for long.

jsonschema-rs holds the interpreter while it checks, so the work is bounded before: what the schema does at
most with one value and with one character is known beforehand, and a value has at most so many of them.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import jsonschema_rs

from pipelines.core.limits.schema_cost import APPLYING, SchemaNodes
from pipelines.core.text.json_text import Json, JsonObject, dumps, text_depth

LARGEST_VALUE = 1024 * 1024  # bytes of a tool call or its reply: what fits this needs no limit
MOST_WALKED = 20_000  # values, where texts under patterns are looked for: some 50 ms
MOST_STEPS = 12_000_000  # about 100 ms: one keyword looking at one value takes some 8 ns
MOST_PATTERN_WORK = 2**29  # bytes of a compiled pattern times bytes of text, measured: up to 100 ms
LARGEST_PATTERN = 10 * 2**20  # bytes, compiled: `^[\p{L} ]{1,100}$` has several million
LONGEST_PATTERN = 2_000  # characters
ALWAYS_CHECKED = 256  # bytes under patterns that any schema takes which could be registered
#: Bytes under a pattern with lookaround or backreferences, where the engine may look through the whole text
#: from each of its characters. Of several such patterns, less by the square root of their number.
MOST_BACKTRACKED = 8_192
_PATTERN_SIZES = (2**10, 2**12, 2**14, 2**16, 2**18, 2**21, LARGEST_PATTERN)
_ANY_DEPTH = 10_000
_DEPTHS = (2, 4, 8, 12, 16, 24, 32, 48, 64, 128)

_CLASS = re.compile(r"\\[pP]\{[^}]*\}|\\[wWdDsS]|(?<=\[)\^")

# By measure, in steps.
_FRACTION_STEPS = 270  # `multipleOf` that is no whole number is decided by exact fractions
_UNIQUE_STEPS = 16
_KEY_PATTERN_STEPS = 8
_DEPENDENCY_STEPS = 4

#: The backtracking engine for what needs it. Past this many steps back a text counts as no match.
BACKTRACKING = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=LARGEST_PATTERN)


class Work(NamedTuple):
    """What a schema does at most at one place of a value."""

    steps: int = 0
    pattern_bytes: int = 0
    backtracking: int = 0  # patterns
    names: int = 0  # of required members: each that is missing is an error of its own

    def plus(self, other: "Work", times: int = 1) -> "Work":
        if other is _NO_WORK:
            return self
        return Work(
            self[0] + times * other[0],
            self[1] + times * other[1],
            self[2] + times * other[2],
            self[3] + times * other[3],
        )

    def or_more(self, other: "Work") -> "Work":
        if other is _NO_WORK or other is self:
            return self
        return Work(
            max(self[0], other[0]), max(self[1], other[1]), max(self[2], other[2]), max(self[3], other[3])
        )

    def most_bytes(self) -> int:
        """Of a value, written as JSON, whatever it holds: it has at most half as many values as bytes."""
        limits = [2 * MOST_STEPS // max(self.steps, 1), MOST_PATTERN_WORK // max(self.pattern_bytes, 1)]
        limits += [int(MOST_BACKTRACKED / self.backtracking**0.5)] if self.backtracking else []
        return max(min(limits), 1)

    def checks(self, text: bytes) -> bool:
        """Whether a value of this text is checked in time, its patterns aside."""
        # Every value but the first follows one of these; in strings they only make the estimate higher.
        values = 1 + text.count(b",") + text.count(b"[") + text.count(b"{")
        return values * self.steps <= MOST_STEPS

    def searches(self, length: int) -> bool:
        """Whether all its patterns can be searched for in a text of this length."""
        is_short = self.backtracking * length**2 <= MOST_BACKTRACKED**2
        return is_short and (length * self.pattern_bytes <= MOST_PATTERN_WORK or length <= ALWAYS_CHECKED)


_NO_WORK = Work()  # itself, where it can be: most schemas have nothing below them, and there are many


class PatternSearch:
    """How much is searched for patterns, counted text by text."""

    def __init__(self) -> None:
        self._plain = 0
        self._backtracked = 0

    def meet(self, schema: JsonObject, node: Json) -> None:
        pattern = schema.get("pattern")
        if isinstance(node, str) and isinstance(pattern, str):
            self._add(_pattern_work(pattern), len(node.encode()))
        patterns = schema.get("patternProperties")
        if isinstance(node, dict) and isinstance(patterns, dict):
            length = sum(len(key.encode()) for key in node)
            for each in patterns:
                self._add(_pattern_work(each), length)

    def _add(self, work: Work, length: int) -> None:
        self._plain += work.pattern_bytes * length if length > ALWAYS_CHECKED else 0
        self._plain += min(work.pattern_bytes, MOST_PATTERN_WORK // ALWAYS_CHECKED) * min(
            length, ALWAYS_CHECKED
        )
        self._backtracked += work.backtracking * length**2

    def is_in_time(self) -> bool:
        return self._plain <= MOST_PATTERN_WORK and self._backtracked <= MOST_BACKTRACKED**2


class CheckLimits:
    """The limits of one schema."""

    def __init__(self, schema: JsonObject) -> None:
        self._nodes = SchemaNodes(schema)
        self._schema = schema
        self._by_depth: dict[int, Work] = {}
        self.is_recursive = self._nodes.is_recursive
        #: At depth 4 if it contains itself: how much it does then depends on the value.
        self.work = self._work(4)
        self.is_alternative = self._nodes.is_alternative  # errors may hold other errors
        self.is_conditional = self._nodes.is_conditional
        self.largest_listed = _largest_listed(schema)
        self.is_needed = self.is_recursive or self.work.most_bytes() < LARGEST_VALUE

    def allows(self, value: Json) -> bool:
        text = dumps(value)
        work = self._work(text_depth(text)) if self.is_recursive else self.work
        return work.checks(text) and (work.searches(len(text)) or self._searches_what_it_meets(value))

    def _searches_what_it_meets(self, value: Json) -> bool:
        """The same with only those texts counted that a pattern is applied to."""
        searched = PatternSearch()
        pending: list[tuple[Json, Json]] = [(self._schema, value)]
        for _ in range(MOST_WALKED):
            if not pending:
                return searched.is_in_time()
            schema, node = pending.pop()
            if isinstance(schema, dict):
                searched.meet(schema, node)
                pending.extend(self._nodes.met(schema, node))
        return False

    def work_at(self, value: Json) -> Work:
        return self._work(text_depth(dumps(value))) if self.is_recursive else self.work

    def _work(self, deep: int) -> Work:
        bound = (
            next((each for each in _DEPTHS if each >= deep), _DEPTHS[-1]) if self.is_recursive else _ANY_DEPTH
        )
        if bound not in self._by_depth:
            self._by_depth[bound] = _Reader(self._nodes, bound).total(self._schema)
        return self._by_depth[bound]


class _Reader:
    """Adds up, for each subschema, the most that it does at any one place of the value it is applied to."""

    def __init__(self, nodes: SchemaNodes, deepest: int) -> None:
        self._nodes = nodes
        self._deepest = deepest
        self._known: dict[tuple[int, int], tuple[Work, Work, Work]] = {}

    def total(self, schema: Json) -> Work:
        try:
            return self._at(schema, self._deepest)
        except RecursionError:  # longer chains of references than anyone writes
            return Work(MOST_STEPS)

    def _at(self, schema: Json, levels: int) -> Work:
        here, of_items, of_members = self._parts(schema, levels)
        if of_items is _NO_WORK and of_members is _NO_WORK:  # of most: a schema of one value
            return here
        return here.or_more(of_items).or_more(of_members)

    def _parts(self, schema: Json, levels: int) -> tuple[Work, Work, Work]:
        """At the value itself, at any one of its items, and at any one of its members."""
        if not isinstance(schema, dict):
            return _NO_WORK if schema is None else Work(1), _NO_WORK, _NO_WORK
        key = (id(schema), levels if self._nodes.is_recursive else 0)
        if key not in self._known:
            self._known[key] = (
                _NO_WORK,
                _NO_WORK,
                _NO_WORK,
            )  # a reference to itself without a step into the value
            self._known[key] = self._read(schema, levels)
        return self._known[key]

    def _read(self, schema: JsonObject, levels: int) -> tuple[Work, Work, Work]:
        here, of_items, of_members = own_work(schema), _NO_WORK, _NO_WORK
        if APPLYING.isdisjoint(schema):
            return here, of_items, of_members
        # What is unevaluated is found by looking at the value once more.
        factor = 1 + ("unevaluatedProperties" in schema) + ("unevaluatedItems" in schema)
        for same in self._nodes.at_same_value(schema):
            parts = self._parts(same, levels)
            here = here.plus(parts[0], factor)
            of_items, of_members = of_items.plus(parts[1], factor), of_members.plus(parts[2], factor)
        looked_again = Work(here.steps) if factor > 1 else _NO_WORK
        if levels > 0:
            of_items = of_items.plus(self._below(self._nodes.of_items(schema), levels))
            of_members = of_members.plus(self._below(self._nodes.of_members(schema), levels))
        if schema.get("uniqueItems") is True:
            of_items = of_items.plus(Work(_UNIQUE_STEPS * (16 if self._nodes.is_recursive else 1)))
        of_members = of_members.plus(_key_patterns(schema))
        return here, of_items.plus(looked_again), of_members.plus(looked_again)

    def _below(self, groups: list[list[Json]], levels: int) -> Work:
        """Of each group only one is applied to an item or member, but of every group one."""
        total = _NO_WORK
        for group in groups:
            most = _NO_WORK
            for schema in group:
                if schema is not None:
                    most = most.or_more(self._at(schema, levels - 1))
            total = total.plus(most)
        return total


def own_work(schema: JsonObject) -> Work:
    """Of the keywords that look at the value alone."""
    steps, pattern = 1 + len(schema), schema.get("pattern")
    if "enum" in schema or "const" in schema:
        options = schema.get("enum", [])
        # Texts are looked up; everything else is compared one by one.
        is_looked_up = isinstance(options, list) and all(isinstance(option, str) for option in options)
        steps += 0 if is_looked_up else size(options, MOST_STEPS)
        steps += size(schema.get("const"), MOST_STEPS)
    for key in ("dependentRequired", "dependentSchemas", "dependencies"):
        named = schema.get(key)
        steps += _DEPENDENCY_STEPS * len(named) if isinstance(named, dict) else 0
    multiple = schema.get("multipleOf")
    steps += _FRACTION_STEPS if isinstance(multiple, float) and not multiple.is_integer() else 0
    required = schema.get("required")
    own = Work(steps, names=len(required) if isinstance(required, list) else 0)
    return own.plus(_pattern_work(pattern)) if isinstance(pattern, str) else own


def _largest_listed(schema: JsonObject) -> int:
    """Of all `enum` and `const`: an error about one holds a copy of it."""
    largest = 0
    pending: list[Json] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            for key, below in node.items():
                if key in ("enum", "const"):
                    largest = max(largest, size(below, MOST_STEPS))
                else:
                    pending.append(below)
        elif isinstance(node, list):
            pending.extend(node)
    return largest


def _key_patterns(schema: JsonObject) -> Work:
    patterns = schema.get("patternProperties")
    total = _NO_WORK
    for pattern in patterns if isinstance(patterns, dict) else ():
        total = total.plus(_pattern_work(pattern)).plus(Work(_KEY_PATTERN_STEPS))
    return total


def _pattern_work(pattern: str) -> Work:
    size = pattern_size(pattern)
    if size is None:
        return Work(backtracking=1)
    # The smallest have so few states that the engine remembers all their combinations, and is faster.
    return Work(pattern_bytes=size if size > _PATTERN_SIZES[0] else size // 2)


@lru_cache(maxsize=4096)
def pattern_size(pattern: str) -> int | None:
    """How large a pattern is for the engine without backtracking, rounded up; None if it cannot be used.

    A class such as `\\p{L}` has thousands of states, of which few are ever active at once: it counts as four.
    """
    whole = _compiled_size(pattern)
    plainer = _CLASS.sub("a", pattern)
    if whole is None or plainer == pattern:
        return whole
    by_letters = _compiled_size(plainer)
    return min(whole, 4 * by_letters) if by_letters is not None else whole


def _compiled_size(pattern: str) -> int | None:
    for size in _PATTERN_SIZES:
        if _compiles(pattern, jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=2**21)):
            return size
    return None


@lru_cache(maxsize=4096)
def is_pattern(pattern: str) -> bool:
    """Whether a pattern can be used at all."""
    if len(pattern) > LONGEST_PATTERN:
        return False
    return pattern_size(pattern) is not None or _compiles(pattern, BACKTRACKING)


def _compiles(pattern: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except jsonschema_rs.ValidationError:
        return False
    return True


def size(value: Json, most: int) -> int:
    """How many values are in a value, long texts counted for more; not counted further than `most`."""
    counted = 0
    pending: list[Json] = [value]
    while pending and counted <= most:
        node = pending.pop()
        counted += 1
        if isinstance(node, str):
            counted += len(node) // 16
        elif isinstance(node, dict):
            counted += len(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return counted
