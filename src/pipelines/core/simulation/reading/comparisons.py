"""Numbers of a record held against each other: "stock is below the reorder level", "spent more than their
budget", "Tenants who owe rent"."""

from collections.abc import Iterator, Sequence

from pipelines.core.english.stems import stem
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.steps import dot

_LESS = word_set("below under less fewer lower short low")
_MORE = word_set("above over exceed exceeds exceeding exceeded more greater higher beyond")
_OWED = word_set("owe owes owing owed arrears debt")
_OWED_FIELDS = word_set("owe owed arrears debt due outstanding balance")
_BOUNDS = word_set("reorder minimum min threshold limit budget max maximum capacity par target")
_PRICES = word_set("price cost rate fee")
_NEAR = 5  # words on either side in which a number is named


def compared(said: Sequence[Sequence[str]], collection: Collection, each: str) -> Iterator[str]:
    """`said` are the words of the name and those of the description."""
    numbers = [name for name, one in collection.fields.items() if "number" in one.kinds and not one.keeps]
    for words in reversed(said):
        for at, word in enumerate(words):
            if word in _LESS or word in _MORE:
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
