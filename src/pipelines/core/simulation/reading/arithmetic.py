"""Numbers that a description tells how to work out: "hourly rate x hours", "budget - spent", "max pupils less
those booked". Every operand has to mean one number of the scope, or nothing is worked out."""

import re
from collections.abc import Mapping, Sequence

from pipelines.core.english.formulas import ARITHMETIC, LONGEST, SMALL_WORDS, parts_of, split_at
from pipelines.core.english.words import is_plural, singulars, word_set
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.restrictions import stated_in
from pipelines.core.simulation.reading.scope import (
    Many,
    Scope,
    Term,
    each_of,
    explains,
    named,
    nouns_of,
    of_record,
    stems,
)

#: "Gain: (price - cost) x quantity": a bracket that begins a formula, or stands behind a sign of it. In "all
#: lines (quantity x price) plus postage" it says what is added up.
_SIGN = r"(?:[×*/+–-]|\b(?:x|times|plus|minus|divided by|multiplied by)\b)"
_BRACKET = re.compile(
    rf"((?:^|[:=]|\b(?:is|as|equals)\b)\s*)\(([^()]{{3,120}})\)(?=\s*{_SIGN})|({_SIGN}\s*)\(([^()]{{3,120}})\)"
)
_LEADS_TO = frozenset(("as", "is", "are", "equals", "by"))
_MOST_SIGNS = 6
_SAID_OF = frozenset(("of", "in", "for", "per", "with"))
_LONGEST = 14  # words of an operand: descriptions may be hostile
_STANDS_FOR = frozenset(("those", "these", "they", "them", "ones", "it"))


def worked_out(description: str, scope: Scope) -> str | None:
    """The first formula of a description that can be worked out in this scope."""
    brackets: dict[str, str] = {}

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


_TO_VALUES = frozenset(("of", "among", "over", "across", "in", "from", "for"))
_OVER_MANY = {
    "max": word_set("highest largest maximum max biggest greatest longest"),
    "min": word_set("lowest smallest minimum min least shortest"),
    "mean": word_set("average mean"),
    "sum": word_set("total sum combined"),
    "count": word_set("count"),
}


def over_many(phrase: Sequence[str], scope: Scope) -> str | None:
    """ "the guests placed there", "the prices of all its bookings that are not cancelled", "the highest
    amount among its payments": a number over the records around, with what is said of these."""
    words = [word.lower() for word in phrase]
    at = next((at for at, word in enumerate(words) if word in _TO_VALUES), len(words))
    head = [word for word in words[:at] if word not in _BEFORE_MANY]
    how = next((how for word in head for how, said in _OVER_MANY.items() if word in said), None)
    if head == ["number"] or head == ["how", "many"]:
        how = "count"
    if how is None or how == "count":
        plain = words if how is None else words[at:]
        counted = _many_named(plain, scope)
        if counted is not None:
            return f"len({counted[0].narrowed(*counted[1]).listed()})"
    found = _many_named(words[at:], scope)
    if found is None or how == "count":
        return None
    many, such = found
    field = [word for word in head if how is None or word not in _OVER_MANY[how]]
    value = _number_of_each(field, many.collection) if many.collection is not None else None
    if value is None:
        return None
    total = f"{how or 'sum'}({many.narrowed(*such).listed(value)})"
    return total if how in ("max", "min") else f"round({total}, 2)"


def _number_of_each(words: Sequence[str], collection: Collection) -> str | None:
    own = [term for term in of_record(each_of(collection)) if term.kind == "number"]
    same = [term for term in own if stems(term.own) == stems(words)]
    found = same[0] if len(same) == 1 else named(words, own) if words else None
    return found.text if found is not None and explains(found, words) else None


def says_over_many(words: Sequence[str]) -> bool:
    return any(said & {*words} for said in _OVER_MANY.values())


def _many_named(words: Sequence[str], scope: Scope) -> tuple[Many, list[str]] | None:
    """The records around that the first plural names, and what is said of them; whatever else stands in front
    of it would be left out."""
    at = next((at for at, word in enumerate(words) if is_plural(word) and word not in SMALL_WORDS), None)
    if at is None:
        return None
    known = {term.text: term.many for term in scope.of_kind("many") if term.many is not None}
    if not scope.reading.arguments:  # of all there are
        known = {kind: _all_of(table) for kind, table in scope.reading.known.tables.items()}
    fit = {
        text: many
        for text, many in known.items()
        if many.collection is not None
        and stems(words[at : at + 1]) & stems(noun[-1] for noun in _names(many))
    }
    if len(fit) > 1:
        fit = {text: many for text, many in fit.items() if _is_named_whole(words[: at + 1], many)}
    if len(fit) != 1:
        return None
    many = fit.popitem()[1]
    if many.collection is None:
        return None
    such = stated_in(words, many.collection, "each")
    before = [word for word in words[:at] if word not in SMALL_WORDS and word not in _BEFORE_MANY]
    is_told = not before or bool(such) or stems(before) <= nouns_of(many.collection)
    return (many, such) if is_told else None


_BEFORE_MANY = word_set("a an its their his her the all of among over across in from for")


def _all_of(table: Collection) -> Many:
    return Many(collection=table, source=f"entities({table.entity_type!r})")


def _is_named_whole(words: Sequence[str], many: Many) -> bool:
    """Standing orders, where there are other orders."""
    return any(singulars(words)[-len(noun) :] == singulars(noun) for noun in _names(many))


def _names(many: Many) -> list[tuple[str, ...]]:
    collection = many.collection
    return [noun for noun in (collection.words, *collection.called) if noun] if collection is not None else []


def told_number(description: str, scope: Scope) -> str | None:
    """What a bracket or a colon puts beside the words for it: "What would be paid back (the full price)"."""
    numbers = [term for term in scope.of_kind("number") if not term.is_given]
    parts = [*parts_of(description)]
    for part in parts[1:] if not any(ARITHMETIC & {*part} for part in parts) else ():
        found = named(part, numbers)
        if found is not None and explains(found, part):
            return found.text
    return None


def added_on(description: str, scope: Scope) -> str | None:
    """What is added to a sum, or taken off it: "all lines (quantity times price) plus the shipping cost".
    None where it is said, but not known."""
    numbers = [term for term in scope.of_kind("number") if not term.is_given]
    more = ""
    for part in parts_of(description):
        if part[0] in ("+", "-"):
            found = named(part[1:], numbers)
            if found is None:
                return None
            more += f" {part[0]} {found.text}"
    return more


class _Formula:
    """One formula as it is read: each number stands in it once."""

    def __init__(self, scope: Scope, brackets: Mapping[str, str] | None = None) -> None:
        self._scope = scope
        self._brackets = brackets or {}  # what was worked out before, by the word that stands for it
        self._terms = scope.of_kind("number")
        self._used: list[Term] = []

    def value(self, words: Sequence[str]) -> str | None:
        for sign in ("min()", "max()"):
            if sign in words[1:-1]:
                at = words.index(sign)
                whole = self._sum(_without_comma(words[:at]))
                bound = self._operand(words[at + 1 :], first=False, last=True)
                return None if whole is None or bound is None else f"{sign[:3]}({whole}, {bound})"
        return self._sum(words)

    def _sum(self, words: Sequence[str], *, first: bool = True, last: bool = True) -> str | None:
        return self._parted(words, ("+", "-"), first=first, last=last)

    def _parted(self, words: Sequence[str], signs: tuple[str, ...], *, first: bool, last: bool) -> str | None:
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
        sign = parts[1].removesuffix("#")
        return f"({left} {sign} {right})" if inner else f"{left} {sign} {right}"

    def _operand(self, words: Sequence[str], *, first: bool, last: bool) -> str | None:
        """What stands at an end of the formula may go on with other things: the longest stretch counts."""
        phrase = _trimmed(words, first=first)
        phrase = phrase[-_LONGEST:] if first else phrase[:_LONGEST]
        if len(phrase) == 1 and phrase[0].replace(".", "", 1).isdigit():
            return phrase[0]
        if len(phrase) == 1 and phrase[0] in self._brackets:
            return self._brackets[phrase[0]]
        if not first and (several := over_many(phrase, self._scope)) is not None:
            return several
        hints = self._hints(phrase)
        stretches = [phrase]
        if first:
            # "wages of the crew" is not about the crew alone.
            ends = (at for at, word in enumerate(phrase) if word.lower() in _SAID_OF)
            stretches = [phrase[at:] for at in range(next(ends, len(phrase) - 1) + 1)]
        elif last:
            stretches = [phrase[:at] for at in range(len(phrase), 0, -1)]
        taken = [one.text for one in self._used]
        for stretch in stretches:
            found = named(stretch, self._terms, without=taken, hints=hints)
            if found is not None and (hints or explains(found, stretch, whole=False)):
                self._used.append(found)
                return found.text
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
