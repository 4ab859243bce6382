"""Numbers of a record held against each other, or against what is given: "stock is below the reorder level",
"spent more than their budget", "viability below the threshold", "Tenants who owe rent"."""

from collections.abc import Iterator, Sequence

from pipelines.core.english.formulas import signed
from pipelines.core.english.stems import stem
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.scope import Term, each_of, named, of_record
from pipelines.core.simulation.reading.steps import arg, dot

_LESS = word_set("below under less fewer lower short low")
_MORE = word_set("above over exceed exceeds exceeding exceeded more greater higher beyond")
_WITH_THAN = word_set("less more fewer greater higher")
_OWED = word_set("owe owes owing owed arrears debt")
_OWED_FIELDS = word_set("owe owed arrears debt due outstanding balance")
_BOUNDS = word_set("reorder minimum min threshold limit budget max maximum capacity par target")
_PRICES = word_set("price cost rate fee")
_NEAR = 5  # words on either side in which a number is named
SIGNS = (">=", "<=", ">", "<")
_ENDS = word_set("minimum maximum min max least most")


def comparison(
    left: Sequence[str], sign: str, right: Sequence[str], terms: Sequence[Term], given: set[str]
) -> str | None:
    """A number held against another; what is left out is the other number of the same name."""
    bound = named(right, terms)
    held = named(left, terms, without=[bound.text] if bound is not None else [])
    if bound is not None and held is None:
        # "has that many seeds", "at least the minimum number of players"
        others = [term for term in terms if (term.text in given) != (bound.text in given) or term.many]
        counted = [word for word in right if word.lower() not in _ENDS]
        other = named(counted, others, without=[bound.text]) or _only_given(others, given, bound)
        if other is None:
            return None
        held, bound = (bound, other) if other.text in given else (other, bound)
    elif bound is None and held is not None:
        bound = _only_given(terms, given, held)
    if bound is None or held is None:
        return None
    if held.text in given and bound.text not in given and sign == ">=" and not left:
        held, bound = bound, held
    return f"{held.text} {sign} {bound.text}"


def _only_given(terms: Sequence[Term], given: set[str], other: Term) -> Term | None:
    """The one argument of that kind."""
    fit = [
        term for term in terms if term.text in given and term.kind == other.kind and term.text != other.text
    ]
    return fit[0] if len(fit) == 1 else None


def held_against(
    argument: Argument, collection: Collection, each: str, said: Sequence[Sequence[str]]
) -> str | None:
    """`low_viability(threshold)`, "accessions whose viability is below the threshold"."""
    if argument.kind not in ("number", "text"):
        return None
    kind = "number" if argument.kind == "number" else "time"
    own = [term for term in of_record(each_of(collection, each)) if term.kind == kind]
    given = Term(
        text=arg(argument.name), kind=own[0].kind if own else "number", own=argument.words, prior=0.3
    )
    for spoken in said[::-1]:
        words = [*signed([*spoken])]
        for at, sign in enumerate(words):
            if sign in SIGNS:
                held = comparison(words[:at], sign, words[at + 1 :], [given, *own], {given.text})
                if held is not None and given.text in held:
                    return held
    return None


def compared(said: Sequence[Sequence[str]], collection: Collection, each: str) -> Iterator[str]:
    """`said` are the words of the name and those of the description."""
    numbers = [name for name, one in collection.fields.items() if "number" in one.kinds and not one.keeps]
    for words in reversed(said):
        for at, word in enumerate(words):
            if (word in _LESS or word in _MORE) and (word not in _WITH_THAN or "than" in words[at : at + 4]):
                found = _two(words, at, numbers)
                if found is not None:
                    sign = "<" if word in _LESS else ">"
                    yield f"{dot(each, found[0])} {sign} {dot(each, found[1])}"
                    return
    if any(word in _OWED for words in said for word in words):
        owed = [name for name in numbers if _OWED_FIELDS & {*tokens(name)}]
        if len(owed) == 1:
            yield f"{dot(each, owed[0])} > 0"


def _two(words: Sequence[str], at: int, numbers: Sequence[str]) -> tuple[str, str] | None:
    """The number that is held against another, and that other."""
    end = next((i for i in range(at + 1, min(at + 1 + _NEAR, len(words))) if words[i] == "than"), at)
    other = _named(words[end + 1 : end + 1 + _NEAR], numbers) or _only(numbers, _BOUNDS)
    if other is None:
        return None
    rest = [name for name in numbers if name != other]
    own = _named(words[at + 1 : end], rest) or _named(words[max(0, at - _NEAR) : at][::-1], rest)
    if own is None:
        plain = [name for name in rest if not _PRICES & {*tokens(name)}]
        own = plain[0] if len(plain) == 1 else None
    return (own, other) if own is not None else None


def _only(numbers: Sequence[str], words: frozenset[str]) -> str | None:
    fit = [name for name in numbers if words & {*tokens(name)}]
    return fit[0] if len(fit) == 1 else None


def _named(words: Sequence[str], numbers: Sequence[str]) -> str | None:
    """The number that most of the words name, the nearest first."""
    near = [stem(word) for word in words if len(word) > 2 or word == "on"]
    scored = [(sum(stem(part) in near for part in tokens(name)), name) for name in numbers]
    best = max((score for score, _ in scored), default=0)
    fit = [name for score, name in scored if score == best]
    return fit[0] if best > 0 and len(fit) == 1 else None
