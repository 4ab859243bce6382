"""Numbers that a description tells how to work out: "hourly rate x hours", "budget - spent", "max pupils less
those booked". Every operand has to mean one number of the scope, or nothing is worked out."""

import re
from collections.abc import Mapping, Sequence

from pipelines.core.english.formulas import ARITHMETIC, LONGEST, parts_of, split_at
from pipelines.core.simulation.expr.make import call
from pipelines.core.simulation.expr.nodes import Arithmetic, ArithmeticSign, Constant, Expr
from pipelines.core.simulation.reading.scope import (
    Scope,
    Term,
    explains,
    named,
)

#: "Gain: (price - cost) x quantity": a bracket that begins a formula, or stands behind a sign of it. In "all
#: lines (quantity x price) plus postage" it says what is added up.
_SIGN = r"(?:[×*/+–-]|\b(?:x|times|plus|minus|divided by|multiplied by)\b)"
_BRACKET = re.compile(
    rf"((?:^|[:=]|\b(?:is|as|equals)\b)\s*)\(([^()]{{3,120}})\)(?=\s*{_SIGN})|({_SIGN}\s*)\(([^()]{{3,120}})\)"
)
_SIGNS: Mapping[str, ArithmeticSign] = {"+": "+", "-": "-", "*": "*", "*#": "*", "/": "/"}
_LEADS_TO = frozenset(("as", "is", "are", "equals", "by"))
_MOST_SIGNS = 6
_SAID_OF = frozenset(("of", "in", "for", "per", "with"))
_LONGEST = 14  # words of an operand: descriptions may be hostile
_STANDS_FOR = frozenset(("those", "these", "they", "them", "ones", "it"))


def worked_out(description: str, scope: Scope) -> Expr | None:
    """The first formula of a description that can be worked out in this scope."""
    brackets: dict[Expr, str] = {}

    def worked(found: re.Match[str]) -> str:
        inner = next(parts_of(found[2] or found[4]), [])
        value = _Formula(scope).value(inner) if ARITHMETIC & {*inner[1:-1]} else None
        if value is None:
            return found[0]
        name = brackets.setdefault(value, f"bracket{len(brackets)}")
        return f"{found[1] or found[3] or ''} {name} "

    for part in parts_of(_BRACKET.sub(worked, description[:LONGEST])):
        if (
            ARITHMETIC & {*part[1:]}
            and part[0] not in ARITHMETIC
            and sum(word in ARITHMETIC for word in part) <= _MOST_SIGNS
        ):
            found = _Formula(scope, {name: value for value, name in brackets.items()}).value(part)
            if found is not None:
                return found
    return None


def with_more(total: Expr, description: str, scope: Scope) -> Expr | None:
    """A sum with what is added to it, or taken off: "all lines (quantity times price) plus the shipping
    cost". None where it is said, but not known."""
    numbers = [term for term in scope.of_kind("number") if not term.is_given]
    for part in parts_of(description):
        if part[0] in ("+", "-"):
            found = named(part[1:], numbers)
            if found is None:
                return None
            total = Arithmetic(total, "+" if part[0] == "+" else "-", found.value)
    return total


class _Formula:
    """One formula as it is read: each number stands in it once."""

    def __init__(self, scope: Scope, brackets: Mapping[str, Expr] | None = None) -> None:
        self._scope = scope
        self._brackets = brackets or {}  # what was worked out before, by the word that stands for it
        self._terms = scope.of_kind("number")
        self._used: list[Term] = []

    def value(self, words: Sequence[str]) -> Expr | None:
        for sign in ("min()", "max()"):
            if sign in words[1:-1]:
                at = words.index(sign)
                whole = self._sum(_without_comma(words[:at]))
                bound = self._operand(words[at + 1 :], first=False, last=True)
                return None if whole is None or bound is None else call(sign[:3], whole, bound)
        return self._sum(words)

    def _sum(self, words: Sequence[str], *, first: bool = True, last: bool = True) -> Expr | None:
        return self._parted(words, ("+", "-"), first=first, last=last)

    def _parted(
        self, words: Sequence[str], signs: tuple[str, ...], *, first: bool, last: bool
    ) -> Expr | None:
        inner = signs == ("+", "-")
        parts = split_at(words, signs)
        if parts is None:
            if inner:
                return self._parted(words, ("*", "/", "*#"), first=first, last=last)
            return self._operand(words, first=first, last=last)
        left = self._parted(parts[0], signs, first=first, last=False)
        right = self._parted(parts[2], ("*", "/", "*#") if inner else (), first=False, last=last)
        if left is None or right is None:
            return None
        return Arithmetic(left, _SIGNS[parts[1]], right)

    def _operand(self, words: Sequence[str], *, first: bool, last: bool) -> Expr | None:
        """What stands at an end of the formula may go on with other things: the longest stretch counts."""
        phrase = _trimmed(words, first=first)
        phrase = phrase[-_LONGEST:] if first else phrase[:_LONGEST]
        if len(phrase) == 1 and phrase[0].replace(".", "", 1).isdigit():
            return Constant(float(phrase[0]) if "." in phrase[0] else int(phrase[0]))
        if len(phrase) == 1 and phrase[0] in self._brackets:
            return self._brackets[phrase[0]]
        hints = self._hints(phrase)
        stretches = [phrase]
        if first:
            # "wages of the crew" is not about the crew alone.
            ends = (at for at, word in enumerate(phrase) if word.lower() in _SAID_OF)
            stretches = [phrase[at:] for at in range(next(ends, len(phrase) - 1) + 1)]
        elif last:
            stretches = [phrase[:at] for at in range(len(phrase), 0, -1)]
        taken = [one.value for one in self._used]
        for stretch in stretches:
            found = named(stretch, self._terms, without=taken, hints=hints)
            if found is not None and (hints or explains(found, stretch, whole=False)):
                self._used.append(found)
                return found.value
        return None

    def _hints(self, phrase: Sequence[str]) -> tuple[str, ...]:
        stands_for = any(word.lower() in _STANDS_FOR for word in phrase)
        return self._used[-1].own if stands_for and self._used else ()


def _without_comma(words: Sequence[str]) -> Sequence[str]:
    return words[:-1] if words[-1] == "," else words


def _trimmed(words: Sequence[str], *, first: bool = False) -> list[str]:
    """What stands between the commas next to the sign."""
    pieces = [[]]  # type: list[list[str]]
    for word in words:
        pieces.append([]) if word == "," else pieces[-1].append(word)
    kept = [piece for piece in pieces if piece]
    if not kept:
        return []
    # "Works the price out as nights times …": what is worked out stands before.
    cuts = [at for at, word in enumerate(kept[-1][:-1]) if word.lower() in _LEADS_TO]
    return kept[-1][max(cuts, default=-1) + 1 :] if first else kept[0]
