"""How large patterns become when they are compiled, estimated from their text alone.

A count writes its part out as often as it says, and counts in counts multiply: a thousand patterns such as
`^(?:[a-z]{1,100}N){1,100}$` took 5 s and 1 GB, everybody waiting. So they are measured before.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem

# By measure of jsonschema-rs 0.60, a step of a large pattern is up to 0.7 µs of compiling and 100 bytes.
MOST_OF_A_PATTERN = 120_000  # `^[\p{L} ]{1,200}$` just fits: a Unicode class stands for a thousand ranges
MOST_OF_A_SCHEMA = 200_000  # it is compiled at once, with everybody waiting
MOST_OF_AN_AGENT = 400_000  # each of its schemas apart, but kept for as long as it has runs
BYTES_OF_A_STEP = 100
OF_ANY_PATTERN = 250  # however short: the engine lists the states of small ones beforehand

_CLASS, _MORE_CLASSES = 550, 100  # `\p{…}`; classes in one pair of brackets have much in common
_DIGITS = 80  # of all scripts
_ANY = 14  # `.`, `\S`, `[^a]`: all of UTF-8 but something
_MOST = 10**9
# Lookaround, backreferences and possessive counts: the engine for these reads `\w` as Unicode has it.
_IS_UNICODE = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9kK]|[+*?}]\+")
_FLAGS = re.compile(r"\?[a-z]*i[a-z]*(?:-[a-z]*)?[:)]")
_HAS_COMMENTS = re.compile(r"\(\?(?:#|[A-Za-z]*x)")  # in which brackets mean nothing
_OPENING = re.compile(r"\?(?:[:=!>]|<[=!]|P?<\w*>|[a-z-]+[:)])")
_COUNT = re.compile(r"\{(\d*)(?:,(\d*))?\}")
_ESCAPE = re.compile(r"\\(?:[pP](?:\{[^}]*\}|.)|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_HINT = "limit the length by `maxLength` and write `+` or `*`, or use smaller counts in `{…}`"


class PatternAt(NamedTuple):
    path: str
    pattern: str

    @property
    def steps(self) -> int:
        return pattern_steps(self.pattern)


@lru_cache(maxsize=4096)
def pattern_steps(pattern: str) -> int:
    """What compiling a pattern comes to at most, its counts written out."""
    steps = _at_most(pattern) if _HAS_COMMENTS.search(pattern) else _Sum(pattern).total()
    return min(steps * (3 if _FLAGS.search(pattern) else 1), _MOST)  # (?i) has more ranges for all of it


def patterns_in(value: Json, path: str = "") -> Iterator[PatternAt]:
    """Every text that may become a pattern of a schema, once; data is not told apart, for a reference may
    lead into it."""
    seen: set[str] = set()
    pending: list[tuple[Json, str]] = [(value, path)]
    while pending:
        node, place = pending.pop()
        if isinstance(node, list):
            pending.extend((below, f"{place}/{at}") for at, below in enumerate(node))
        elif isinstance(node, dict):
            for found in _own_patterns(node, place):
                if found.pattern not in seen:
                    seen.add(found.pattern)
                    yield found
            pending.extend(
                (below, f"{place}/{key}" if key.isidentifier() else place + pointer([key]))
                for key, below in node.items()
                if isinstance(below, (dict, list))  # places are the most of the work
            )


def _own_patterns(node: dict[str, Json], place: str) -> Iterator[PatternAt]:
    own, named = node.get("pattern"), node.get("patternProperties")
    if isinstance(own, str):
        yield PatternAt(f"{place}/pattern", own)
    if isinstance(named, dict):
        yield from (PatternAt(place + pointer(["patternProperties", each]), each) for each in named)


def schema_pattern_problems(schema: Json, path: str, what: str) -> list[Problem]:
    """What of a schema's patterns would be too large to compile; nothing is compiled for it."""
    total = 0
    for found in patterns_in(schema, path):
        if found.steps > MOST_OF_A_PATTERN:
            message = f"{what} has a pattern that is too large: with its counts written out it has "
            message += f"{found.steps:,} steps, and {MOST_OF_A_PATTERN:,} are allowed"
            return [Problem(path=found.path, message=message, hint=_HINT)]
        total += OF_ANY_PATTERN + found.steps
        if total > MOST_OF_A_SCHEMA:
            message = f"{what} has patterns that are too large together: with their counts written out they"
            message += f" have more than {MOST_OF_A_SCHEMA:,} steps"
            return [Problem(path=found.path, message=message, hint=f"use fewer patterns; {_HINT}")]
    return []


def agent_pattern_problems(tools: list[Json], path: str) -> list[Problem]:
    """The same of all the tools of an agent."""
    total, largest = 0, PatternAt("", "")
    for at, tool in enumerate(tools):
        for found in patterns_in(tool, f"{path}/{at}"):
            if found.steps > MOST_OF_A_PATTERN:
                continue  # which its schema will be refused for
            total += found.steps
            largest = max(largest, found, key=lambda each: each.steps)
            if total > MOST_OF_AN_AGENT:
                message = "the patterns of all tools are too large together: with their counts written out "
                message += f"they have more than {MOST_OF_AN_AGENT:,} steps; a large one is at {largest.path}"
                return [Problem(path=path, message=message, hint=f"use fewer patterns; {_HINT}")]
    return []


def _times(count: re.Match[str]) -> int:
    return max(int((each or "0")[:9]) for each in count.groups())


def _at_most(pattern: str) -> int:
    """More than it can be, however its groups are read: everything as often as all counts together say."""
    steps = len(pattern) + sum(_CLASS for each in _ESCAPE.findall(pattern) if each[1] in "pPwWdD")
    for count in _COUNT.finditer(pattern):
        steps = min(steps * max(_times(count), 1), _MOST)
    return steps


class _Sum:
    """Adds up a pattern from left to right, group by group."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._sums = [1]  # of the groups that are open, the innermost last
        self._last = 0  # what a count that follows would repeat
        self._is_unicode = _IS_UNICODE.search(pattern) is not None

    def total(self) -> int:
        while self._at < len(self._text):
            self._read(self._text[self._at])
        return min(sum(self._sums), _MOST)

    def _read(self, letter: str) -> None:
        if letter == "(":
            opening = _OPENING.match(self._text, self._at + 1)
            self._at = opening.end() if opening else self._at + 1
            if opening and opening.group().endswith(")"):
                return  # flags alone open nothing
            self._sums.append(2)
            self._last = 0
        elif letter == ")":
            self._at += 1
            self._add(self._sums.pop() if len(self._sums) > 1 else 1)
        elif letter == "{" and (count := _COUNT.match(self._text, self._at)):
            self._at = count.end()
            self._repeat(_times(count))
        elif letter == "[":
            self._add(self._class())
        elif letter == "\\":
            self._add(self._escape())
        else:
            self._at += 1
            self._add(_ANY if letter == "." else len(letter.encode("utf-8", "replace")))

    def _add(self, steps: int) -> None:
        self._last = min(steps, _MOST)
        self._sums[-1] = min(self._sums[-1] + self._last, _MOST)

    def _repeat(self, times: int) -> None:
        """One of them is counted already; each has a step of its own, for it may be the last."""
        before = self._last
        self._add(times * (before + 1))
        self._last += before  # a count may follow a count

    def _escape(self) -> int:
        found = _ESCAPE.match(self._text, self._at)
        self._at = found.end() if found else self._at + 1
        kind = self._text[self._at - 1] if found is None else found.group()[1:2]
        if kind in "pP" or (self._is_unicode and kind in "wW"):
            return _CLASS
        if self._is_unicode and kind in "dD":
            return _DIGITS
        return _ANY if kind in "DSWs" else 3 if kind in "ux" else 1

    def _class(self) -> int:
        """What is in brackets, where an opening one is a letter, and a closing one that comes first."""
        start = self._at + 1
        steps, classes = 2, 0
        self._at = start
        if self._text.startswith("^", start):
            steps += _ANY
            self._at += 1
        self._at += self._text.startswith("]", self._at)
        while self._at < len(self._text) and self._text[self._at] != "]":
            if self._text[self._at] == "\\":
                below = self._escape()
                classes += below == _CLASS
                steps += below if below not in (1, _CLASS) else 0
            else:
                steps += self._text[self._at] > "\x7f"
                self._at += 1
        self._at += 1
        steps += (self._at - start) // 8
        return steps + (_CLASS + (classes - 1) * _MORE_CLASSES if classes else 0)
