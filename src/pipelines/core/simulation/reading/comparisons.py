"""Numbers of a record held against each other, or against what is given: "stock is below the reorder level",
"spent more than their budget", "viability below the threshold", "Tenants who owe rent"."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.core.english.formulas import content_words, signed
from pipelines.core.english.words import word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import arg, compare
from pipelines.core.simulation.expr.nodes import ComparisonSign, Constant, Expr
from pipelines.core.simulation.reading.scope import Term, each_of, named, of_record

_OWED = word_set("owe owes owing owed arrears debt")
_OWED_FIELDS = word_set("owe owed arrears debt due outstanding balance")
_BOUNDS = word_set("reorder minimum min threshold limit budget max maximum capacity par target")
_OF_TIME = word_set("before after over")  # "over all lessons" is no more than anything
_PRICES = word_set("price cost rate fee")
SIGNS: Mapping[str, ComparisonSign] = {">=": ">=", "<=": "<=", ">": ">", "<": "<"}
_ENDS = word_set("minimum maximum min max least most")


def comparison(
    left: Sequence[str], sign: str, right: Sequence[str], terms: Sequence[Term], given: set[Expr]
) -> Expr | None:
    """A number held against another; what is left out is the other number of the same name."""
    bound = named(right, terms)
    held = named(left, terms, without=[bound.value] if bound is not None else [])
    if bound is not None and held is None:
        # "has that many seeds", "at least the minimum number of players"
        others = [term for term in terms if (term.value in given) != (bound.value in given) or term.many]
        counted = [word for word in right if word.lower() not in _ENDS]
        other = named(counted, others, without=[bound.value]) or _only_given(others, given, bound)
        if other is None:
            return None
        # "has that many seeds": the record has to. "must not exceed the limit": what is given must not.
        is_bound = sign != ">=" or bool(_BOUNDS & {*bound.own})
        held, bound = (bound, other) if other.value in given and not is_bound else (other, bound)
    elif bound is None and held is not None:
        bound = _only_given(terms, given, held) or _bound_of(terms, held)
    if bound is None or held is None:
        return None
    if held.value in given and bound.value not in given and sign == ">=" and not left:
        held, bound = bound, held
    return compare(held.value, SIGNS[sign], bound.value)


def _only_given(terms: Sequence[Term], given: set[Expr], other: Term) -> Term | None:
    """The one argument of that kind."""
    fit = [
        term
        for term in terms
        if term.value in given and term.kind == other.kind and term.value != other.value
    ]
    return fit[0] if len(fit) == 1 else None


def _bound_of(terms: Sequence[Term], held: Term) -> Term | None:
    """`min_level`, of a level that is high enough."""
    fit = [term for term in terms if {*held.own} < {*term.own} and _BOUNDS & {*term.own} - {*held.own}]
    return fit[0] if len(fit) == 1 else None


def held_against(
    argument: Argument, collection: Collection, each: str, said: Sequence[Sequence[str]]
) -> Expr | None:
    """`low_viability(threshold)`, "accessions whose viability is below the threshold"."""
    if argument.kind not in ("number", "text"):
        return None
    kind = "number" if argument.kind == "number" else "time"
    own = [term for term in of_record(each_of(collection, each)) if term.kind == kind]
    given = Term(
        value=arg(argument.name), kind=own[0].kind if own else "number", own=argument.words, prior=0.3
    )
    for spoken in said[::-1]:
        words = [*signed(_joined_than(spoken))]
        for at, sign in enumerate(words):
            if sign in SIGNS:
                held = comparison(words[:at], sign, words[at + 1 :], [given, *own], {given.value})
                if held is not None and given.value in held.walk():
                    return held
    return None


def compared(said: Sequence[Sequence[str]], collection: Collection, each: str) -> Iterator[Expr]:
    """Two numbers of the records themselves; `said` are the words of the name and of the description."""
    own = [term for term in of_record(each_of(collection, each)) if term.kind == "number"]
    bounds = [term for term in own if _BOUNDS & {*term.own}]
    for spoken in reversed(said):
        plain_words = [word for word in spoken if word not in _OF_TIME]
        words = ["<" if word == "low" else word for word in signed(_joined_than(plain_words))]
        for at, sign in enumerate(words):
            if sign not in SIGNS:
                continue
            is_open = len(bounds) == 1 and not content_words(words[at + 1 :])  # "running low"
            bound = named(words[at + 1 :], own) or (bounds[0] if is_open else None)
            rest = [term for term in own if bound is not None and term.value != bound.value]
            plain = [term for term in rest if not _PRICES & {*term.own}]
            # "parts whose stock has fallen below …": the longest stretch that names one.
            near = (found for begin in range(at) if (found := named(words[begin:at], rest)) is not None)
            held = next(near, plain[0] if len(plain) == 1 else None)
            if bound is not None and held is not None:
                yield compare(held.value, SIGNS[sign], bound.value)
                return
    if any(word in _OWED for words in said for word in words):
        owed = [term for term in own if _OWED_FIELDS & {*term.own}]
        if len(owed) == 1:
            yield compare(owed[0].value, ">", Constant(0))


def _joined_than(words: Sequence[str]) -> list[str]:
    """ "less on hand than their reorder point" as "on hand less than their reorder point"."""
    for at, word in enumerate(words):
        if word in ("less", "fewer", "more") and "than" in words[at + 2 : at + 6]:
            end = words.index("than", at)
            return [*words[:at], *words[at + 1 : end], word, *words[end:]]
    return [*words]
