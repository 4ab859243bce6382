"""The message of a refused call: the record and the values that caused the refusal, never the rule.

The message is built from the failed condition with the rule's names; its values are filled in when the call
is answered.
"""

from datetime import date
from typing import TypeAlias

from pipelines.core.english.inflection import IRREGULAR
from pipelines.core.english.words import article, plural, tokens
from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.conditions import Ref, arguments_in, is_blank, owner_in, ref_of, refs_in
from pipelines.core.simulation.rules.rule import ARGS
from pipelines.core.simulation.rules.vocabulary import ToolNouns, Vocabulary

Parts: TypeAlias = tuple[str | Expr, ...]
_PARTICIPLES = frozenset(forms[-1] for forms in IRREGULAR.values())
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
#: What holds instead, where a comparison does not.
_OPPOSITE_WORDS = {
    "<": "is not less than",
    "<=": "is more than",
    ">": "is not more than",
    ">=": "is less than",
}


def message_of(form: r.Guard, need: Expr, tool: ToolNouns, vocabulary: Vocabulary) -> m.Message:
    """`need`: what the form asks of a call."""
    is_after = isinstance(form, r.Require) and form.after_changes
    words = _MessageParts(tool, vocabulary, "would be" if is_after else "is")
    match form:
        case r.LimitCalls():
            return m.message(f"{tool.name} was called before", *words.per(form.per))
        case r.After():
            return m.message(f"{form.tool} was not called before", *words.per(form.per))
        case r.RunningTotal() if isinstance(need, n.Compare):
            return m.message("the total would be ", need.first, *words.per(form.per))
    return m.message(*words.fault(need))


def _noun(kind: str, vocabulary: Vocabulary) -> str:
    known = vocabulary.kinds.get(kind)
    return " ".join(known.nouns[0] if known is not None else tokens(kind))


class _MessageParts:
    """The words for one condition of one tool."""

    def __init__(self, tool: ToolNouns, vocabulary: Vocabulary, verb: str) -> None:
        self.tool, self.vocabulary, self.verb = tool, vocabulary, verb

    def per(self, kind: str | None) -> Parts:
        argument = self.tool.id_argument(kind) if kind is not None else None
        return () if argument is None else (f" for {_noun(kind or '', self.vocabulary)} ", m.arg(argument))

    def fault(self, need: Expr) -> Parts:
        owner = owner_in(need, self.vocabulary)
        if owner is not None:
            return self.another(need, owner)
        refs = tuple(ref for ref in refs_in(need, self.vocabulary) if ref.keys or ref.kind != ARGS)
        if isinstance(need, n.Or):  # none of its parts holds: any of them says why
            need = need.parts[0] if len(refs) == 1 else need
        return self.others(need, refs) or self.test(need) or self.values(refs)

    def another(self, need: Expr, owner: Ref) -> Parts:
        """Whose the record is, unless the call leaves out who calls."""
        other = _noun(self.vocabulary.kinds[owner.kind].links[owner.keys], self.vocabulary)
        parts = (*self.record(owner), f" belongs to another {other}")
        left_out = (name for name in sorted(arguments_in(need)) if name not in self.tool.required)
        name = next(left_out, None)
        if name is None:
            return parts
        missing = n.Constant(f"{name} is missing")
        return (n.Conditional(m.is_null(m.arg(name)), missing, m.format_of(*parts)),)

    # -- one test -----------------------------------------------------------------------------------------

    def test(self, need: Expr, *, holds: bool = True) -> Parts:
        """`holds`: the test is to hold, and does not."""
        match need:
            case n.Not(part=part):
                return self.test(part, holds=not holds)
            case n.Compare(first=n.Constant() as first, rest=((sign, other),)):
                return self.compared(other, _MIRRORED.get(sign, sign), first, holds)
            case n.Compare(first=first, rest=((sign, other),)):
                return self.compared(first, sign, other, holds)
        ref = ref_of(need, self.vocabulary)
        return self.switch(ref, wanted=holds) if ref is not None else ()

    def compared(self, first: Expr, sign: str, other: Expr, holds: bool) -> Parts:
        ref = ref_of(first, self.vocabulary)
        if sign in _OPPOSITE_WORDS:
            return self.measured(first, sign if holds else _OPPOSITE[sign], other)
        if ref is None:
            return ()
        is_wanted = (sign in ("==", "in", "is")) is holds
        if is_blank(other):
            return self.presence(ref, wanted=not is_wanted)
        if isinstance(other, n.Constant) and isinstance(other.value, bool):
            return self.switch(ref, wanted=other.value is is_wanted)
        return self.values((ref,)) if isinstance(other, (n.Constant, n.ListOf)) else ()

    def switch(self, ref: Ref, *, wanted: bool) -> Parts:
        field = self.field(ref)
        if ref.kind == ARGS or not ref.keys or (field is not None and "boolean" not in field.kinds):
            return self.presence(ref, wanted=wanted)
        words = tokens(ref.keys[-1])
        verb, *rest = words if words[0] in ("is", "has", "was") and len(words) > 1 else ("is", *words)
        phrase = ("has no" if verb == "has" else f"{verb} not") if wanted else verb
        return (*self.record(ref), f" {phrase} {' '.join(rest)}")

    def presence(self, ref: Ref, *, wanted: bool) -> Parts:
        if not ref.keys:
            noun = _noun(ref.kind, self.vocabulary)
            return (f"there is {'no' if wanted else 'already'} such {'' if wanted else 'a '}{noun}",)
        if ref.kind == ARGS:
            return (f"{_field_words(ref)} is missing",) if wanted else self.values((ref,))
        return (
            (*self.record(ref), f" has no {_field_words(ref)}")
            if wanted
            else self.values((ref,), is_set=True)
        )

    def measured(self, first: Expr, sign: str, other: Expr) -> Parts:
        ref, most = ref_of(first, self.vocabulary), ref_of(other, self.vocabulary)
        if most is not None and most.kind == ARGS and ref is not None and ref.kind != ARGS:
            return self.measured(other, _MIRRORED[sign], first)
        if ref is not None and ref.kind == ARGS:
            parts: Parts = (f"{_field_words(ref)} ", ref.value, " ")
            if isinstance(other, n.Constant):
                return (*parts, "is too large" if sign in ("<", "<=") else "is too small")
            if most is None:
                return ()
            owner = "" if most.kind == ARGS else f"the {_noun(most.kind, self.vocabulary)}'s "
            return (*parts, f"{_OPPOSITE_WORDS[sign]} {owner}{_field_words(most)} (", most.value, ")")
        counted = {(one.kind, one.record) for one in refs_in(first, self.vocabulary)}
        if sign == "<" and most is not None and counted == {(most.kind, most.record)}:
            return (*self.record(most), " is full (", first, " of ", other, ")")
        return ()

    def others(self, need: Expr, refs: tuple[Ref, ...]) -> Parts:
        """Records that are there beside the one the call is about: too many of them, or one at all."""
        kinds = (call.arguments for call in need.calls() if call.function == "entities")
        kind = next((one.value for one, *_ in kinds if isinstance(one, n.Constant)), None)
        if not isinstance(kind, str) or any(ref.kind == kind for ref in refs):
            return ()
        noun = _noun(kind, self.vocabulary)
        whose = next((ref for ref in refs if ref.kind != ARGS), None)
        given = tuple(ref for ref in refs if ref.kind == ARGS)
        of: Parts = (" for ", *self.record(whose)) if whose is not None else ()
        of = of or ((" with ", *self.listed(given)) if given else ())
        match need:
            case (
                n.Compare(first=n.Call(function="len") as counted, rest=((("<" | "<="), _),))
                | n.Not(part=n.Compare(first=n.Call(function="len") as counted, rest=(((">" | ">="), _),)))
            ):
                head, _, last = noun.rpartition(" ")
                return ("there are already ", counted, " " + f"{head} {plural(last)}".strip(), *of)
            case n.Not(part=n.Call(function="any")):
                return (f"there is already {article(noun).lower()} {noun}", *of)
            case n.Call(function="any"):
                return (f"there is no such {noun}", *of)
        return ()

    # -- records and values -------------------------------------------------------------------------------

    def record(self, ref: Ref) -> Parts:
        known = self.vocabulary.kinds.get(ref.kind)
        noun = _noun(ref.kind, self.vocabulary)
        if known is not None and (known.only_id is not None or known is self.vocabulary.session):
            return (f"the {noun}",)
        return (f"{noun} ", m.fields(ref.record, "id"))

    def field(self, ref: Ref) -> Field | None:
        known = self.vocabulary.kinds.get(ref.kind)
        return known.fields.get(ref.keys) if known is not None else None

    def values(self, refs: tuple[Ref, ...], *, is_set: bool = False) -> Parts:
        """What the fields hold, however many the condition looks at."""
        refs = tuple(ref for ref in refs if ref.keys)
        if not refs:
            return (f"{self.tool.name} is not available",)
        if len(refs) > 1:
            return self.listed(refs)
        [ref] = refs
        if ref.kind == ARGS:
            return (f"{_field_words(ref)} ", ref.value, " is not accepted")
        known, words = self.vocabulary.kinds.get(ref.kind), tokens(ref.keys[-1])
        is_done = len(words) == 2 and (words[0] in _PARTICIPLES or words[0][-2:] == "ed")
        is_dated = is_done and _is_date(self.field(ref))
        if not is_dated and (known is None or known.status != ref.keys):
            return (f"the {_field_words(ref)} of ", *self.record(ref), f" {self.verb} ", self.shown(ref))
        opening = f"was {words[0]} on " if is_dated else "is "
        if is_set or _is_always_set(self.field(ref)):
            return (*self.record(ref), f" {opening}", ref.value)
        missing = n.Constant(f"has no {_field_words(ref)}")
        text = n.Conditional(m.is_null(ref.value), missing, m.format_of(opening, ref.value))
        return (*self.record(ref), " ", text)

    def listed(self, refs: tuple[Ref, ...]) -> Parts:
        parts: list[str | Expr] = []
        for record in dict.fromkeys((ref.kind, ref.record) for ref in refs if ref.keys):
            own = [ref for ref in refs if (ref.kind, ref.record) == record and ref.keys]
            parts += ["; " if parts else ""]
            parts += [] if own[0].kind == ARGS else [*self.record(own[0]), " has "]
            for at, ref in enumerate(own):
                parts += [", " if at else "", f"{_field_words(ref)} ", self.shown(ref)]
        return tuple(part for part in parts if part != "")

    def shown(self, ref: Ref) -> Expr:
        """A value that may be missing is told as `not set`."""
        field = self.field(ref)
        is_sure = ref.keys[0] in self.tool.required if ref.kind == ARGS else _is_always_set(field)
        return ref.value if is_sure else m.call("default", ref.value, n.Constant("not set"))


def _field_words(ref: Ref) -> str:
    return " ".join(ref.keys)


def _is_always_set(field: Field | None) -> bool:
    return field is not None and "null" not in field.kinds


def _is_date(field: Field | None) -> bool:
    try:
        return field is not None and bool(date.fromisoformat(str(field.example)[:10]))
    except ValueError:
        return False
