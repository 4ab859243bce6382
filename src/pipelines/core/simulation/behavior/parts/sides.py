"""On which side of a rule each fact is: it forbids the call, is needed for it, or is an exception."""

from dataclasses import dataclass, field

from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.fact import Fact
from pipelines.core.simulation.behavior.parts.spans import Span
from pipelines.core.simulation.behavior.parts.statement import Statement, tokens_of
from pipelines.core.simulation.behavior.reader.said import Said
from pipelines.core.simulation.behavior.reader.thing import Thing
from pipelines.core.simulation.behavior.reader.vocabulary import Deed

_ASKED = frozenset(("required", "mandatory", "compulsory", "obligatory", "needed", "necessary"))
_CUES = (Cue.FORBID, Cue.ALLOW, Cue.MUST, Cue.ONLY, Cue.WHEN, Cue.UNLESS)


@dataclass(kw_only=True)
class Sides:
    """The words that tell the side, and what was found on each."""

    statement: Statement
    cues: list[Span]
    none: list[Span]  # no, nobody: of the deed itself
    forbids: list[Span]
    so: list[m.Condition] = field(default_factory=list)  # of the calls spoken of
    needed: list[m.Condition] = field(default_factory=list)
    exceptions: list[m.Condition] = field(default_factory=list)

    def of(self, cue: Cue) -> list[Span]:
        return [span for span in self.cues if span.has(cue)]

    @property
    def is_forbidden(self) -> bool:
        is_answered = self.statement.is_answered and not (self.of(Cue.MUST) or self.of(Cue.ONLY))
        return bool(self.forbids or self.none) or is_answered

    @property
    def is_clear(self) -> bool:
        """Whether what forbids and what asks for something are not mixed."""
        mixed = self.is_forbidden and (self.of(Cue.ONLY) or self.of(Cue.MUST))
        return not mixed and len(self.forbids) <= 2

    def put(self, fact: Fact) -> bool:
        """Whether a fact found its side."""
        told, mode = _asked(self.statement, fact), mode_of(self.statement, fact)
        if mode is Cue.UNLESS:
            self.exceptions.append(told)
        elif self.is_forbidden:
            self.so.append(told)
        elif self.statement.is_sole and isinstance(fact.so, m.Related):
            self.needed.append(told)
        elif self.of(Cue.ONLY) or self.of(Cue.MUST):
            (self.needed if self._is_needed(fact, mode) else self.so).append(told)
        elif _is_limit(fact) or (self.of(Cue.ALLOW) and (mode is Cue.WHEN or _is_window(fact))):
            self.needed.append(told)  # also a limit that is told as a fact
        else:
            return False
        return True

    def _is_needed(self, fact: Fact, mode: Cue | None) -> bool:
        """What `only` and `must` stand before is needed; of `is required`, what stands before that."""
        only, musts = self.of(Cue.ONLY), self.of(Cue.MUST)
        if mode is Cue.WHEN and musts and not only:
            return False
        if only and only[0].words[0] == "but" and isinstance(fact.so, (m.Owns, m.Related)):
            return True  # those they made, but not those of others
        is_after = fact.end > min(span.start for span in (only or musts))
        if musts and set(musts[0].words) & _ASKED:
            is_after = not is_after
        return is_after or (bool(only) and not musts and _ends_with(self.statement, only[0]))

    def said(self, found: list[Fact]) -> Said | None:
        needed, exceptions = self.needed, self.exceptions
        if (
            not self.is_forbidden and not needed and exceptions and self.of(Cue.ALLOW)
        ):  # can be changed until …
            needed = [one if isinstance(one, m.Age) else m.negated(one) for one in exceptions]
            exceptions = []
        said = Said(
            verbs=((Deed(tool="", rank=0),),),
            things=tuple(Thing(kind=fact.kind) for fact in found if fact.kind),
            so=tuple(self.so),
            needed=tuple(needed),
            exceptions=tuple(exceptions),
            is_forbidden=self.is_forbidden,
            outcome=self.statement.outcome,
        )
        # That a value is given at all is never what stands in the way.
        is_odd = self.is_forbidden and any(isinstance(one, m.Present) for one in self.so)
        return said if said.need is not None and not is_odd else None


def sides_of(
    statement: Statement, found: list[Fact], taken: frozenset[int]
) -> tuple[Said, frozenset[int]] | None:
    """What the facts of a statement come to, and the places of the words that told so."""
    inside = {place for fact in found for place in fact.used}
    free = [span for span in statement.spans if not inside & set(range(span.start, span.end))]
    cues = [span for span in free if span.has(*_CUES)]
    forbids = [span for span in cues if span.has(Cue.FORBID)]
    forbids = forbids or [span for span in free if span.words == ("neither",)]
    none = [span for span in _no_such(statement, taken) if span in free]
    sides = Sides(statement=statement, cues=cues, none=none, forbids=forbids)
    used = tokens_of([*cues, *none]).union(*(fact.used for fact in found))
    if sides.is_forbidden:
        used |= tokens_of(span for span in statement.spans if set(span.words) & {"neither", "nor"})
    used |= tokens_of(span for fact in found for span in _exempting(statement, fact))
    used |= tokens_of(
        span for span in free if span.words[0] == "set" and statement.cursor.low(span.start - 1) == "be"
    )
    used |= tokens_of(
        span for span in free if span.words == ("a", "different") and _is_where(statement, span)
    )
    if not sides.is_clear or not all(sides.put(fact) for fact in found):
        return None
    said = sides.said(found)
    return (said, used) if said is not None else None


def _is_where(statement: Statement, span: Span) -> bool:
    """`to a different room`."""
    return statement.cursor.low(span.start - 1) == "to"


def _no_such(statement: Statement, taken: frozenset[int]) -> list[Span]:
    """`no order may …`, `accept no orders`, `nobody can`: of the deed itself, or of whoever does it."""
    found = []
    for at, span in enumerate(statement.spans):
        if not span.has(Cue.NONE) or any(place in taken for place in range(span.start, span.end)):
            continue
        if set(span.words) & {"nobody", "nothing"}:
            found.append(span)
            continue
        following = next((one for one in statement.spans[at + 1 :] if not one.is_neutral), None)
        if following is not None and (following.kinds or following.deeds or following.arguments):
            found.append(span)
    return found


def _ends_with(statement: Statement, only: Span) -> bool:
    """`…, nobody else`: what stands before it is meant, where nothing follows."""
    return not any(span.stands_for_something for span in statement.spans if span.start >= only.end)


def _is_limit(fact: Fact) -> bool:
    """Whether it bounds what is given, or names all that it may be, or how far from a moment it is."""
    parts = fact.so.parts if isinstance(fact.so, m.All) else (fact.so,)
    if all(isinstance(one, m.Age) for one in parts):
        return True
    if isinstance(fact.so, m.OneOf):
        return fact.so.field.is_argument and len(fact.so.values) > 1
    return all(
        isinstance(one, m.Compare)
        and isinstance(one.left, m.Field)
        and one.left.is_argument
        and one.op in (">=", "<=", ">", "<")
        for one in parts
    )


def _is_window(fact: Fact) -> bool:
    return isinstance(fact.so, (m.Age, m.Compare, m.All))


def _exempting(statement: Statement, fact: Fact) -> list[Span]:
    """`…, moderators excepted`."""
    return [one for one in statement.spans if one.has(Cue.EXEMPT) and 0 <= one.start - fact.end <= 2]


def mode_of(statement: Statement, fact: Fact) -> Cue | None:
    """The last word before a fact that joins a condition; a clause in front ends with its comma."""
    if _exempting(statement, fact):
        return Cue.UNLESS
    for span in reversed(statement.spans):
        is_inside = span.start >= fact.start  # the `before` of a window joins no condition
        if is_inside or not span.has(Cue.WHEN, Cue.UNLESS) or span.has(Cue.FORBID):
            continue
        between = statement.cursor.lows[span.end : fact.start]
        is_lead = not any(
            one.stands_for_something or one.has(Cue.FORBID, Cue.ALLOW, Cue.MUST)
            for one in statement.spans
            if one.end <= span.start
        )
        if is_lead and "," in between:
            return None
        before = next(statement.before_span(span), span)  # `except where`
        return Cue.UNLESS if before.has(Cue.UNLESS) or span.has(Cue.UNLESS) else Cue.WHEN
    return None


def _asked(statement: Statement, fact: Fact) -> m.Condition:
    """What is asked of a person is a matter of permission."""
    is_person = fact.kind in statement.words.folk and not isinstance(fact.so, (m.Owns, m.Related))
    return m.Allowed(fact.so) if is_person else fact.so
