"""Numbers that a description tells how to work out: "hourly rate x hours", "budget - spent", "max pupils less
those booked". Every operand has to mean one number of the scope, or nothing is worked out."""

from collections.abc import Iterable, Sequence

from pipelines.core.english.formulas import ARITHMETIC, content_words, parts_of, split_at
from pipelines.core.simulation.reading.scope import Scope, Term, likeness, named

_STANDS_FOR = frozenset(("those", "these", "they", "them", "ones", "it"))


def worked_out(description: str, scope: Scope) -> str | None:
    """The first formula of a description that can be worked out in this scope."""
    for part in parts_of(description):
        if ARITHMETIC & {*part}:
            found = _Formula(scope).value(part)
            if found is not None:
                return found
    return None


class _Formula:
    """One formula as it is read: each number stands in it once."""

    def __init__(self, scope: Scope) -> None:
        self._terms = scope.of_kind("number")
        self._used: list[Term] = []

    def value(self, words: Sequence[str]) -> str | None:
        for sign in ("min()", "max()"):
            if sign in words[1:-1]:
                at = words.index(sign)
                whole, bound = self._sum(_without_comma(words[:at])), self._operand(words[at + 1 :], first=False, last=True)
                return f"{sign[:3]}({whole}, {bound})" if whole is not None and bound is not None else None  # fmt: skip
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
        """What stands at an end of the formula may go on with other things: the best stretch counts."""
        phrase = _trimmed(words, first=first)
        if len(phrase) == 1 and phrase[0].replace(".", "", 1).isdigit():
            return phrase[0]
        hints = self._hints(phrase)
        stretches = [phrase]
        if first:
            stretches += [phrase[at:] for at in range(1, len(phrase))]
        elif last:
            stretches += [phrase[:at] for at in range(1, len(phrase))]
        taken = [one.text for one in self._used]
        found = [(one, named(one, self._terms, without=taken, hints=hints)) for one in stretches]
        fit = [(likeness(content_words(one) + hints_of(hints), term), term) for one, term in found if term]
        if not fit:
            return None
        best = max(fit, key=lambda pair: pair[0])[1]
        self._used.append(best)
        return best.text

    def _hints(self, phrase: Sequence[str]) -> tuple[str, ...]:
        stands_for = any(word.lower() in _STANDS_FOR for word in phrase)
        return self._used[-1].own if stands_for and self._used else ()


def _without_comma(words: Sequence[str]) -> Sequence[str]:
    return words[:-1] if words[-1] == "," else words


def hints_of(words: Iterable[str]) -> list[tuple[str, float]]:
    return [(word, 0.6) for word in words]


def _trimmed(words: Sequence[str], *, first: bool = False) -> list[str]:
    """What stands between the commas next to the sign."""
    pieces = [[]]  # type: list[list[str]]
    for word in words:
        pieces.append([]) if word == "," else pieces[-1].append(word)
    kept = [piece for piece in pieces if piece]
    return (kept[-1] if first else kept[0]) if kept else []
