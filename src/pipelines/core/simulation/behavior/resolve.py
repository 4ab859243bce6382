"""Clauses tied to one tool: what each becomes as a rule, or Unresolved when a word of it means nothing
there.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.core.english.inflection import participle, past_forms
from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior import resolve_effects as effects
from pipelines.core.simulation.behavior import resolve_replies as replies
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.rules import ARGUMENTS, REPLY, Ref, Resolved, RuleKind, Text, text
from pipelines.core.simulation.behavior.scope import Scope, Unresolved
from pipelines.core.simulation.behavior.states import done_before
from pipelines.core.simulation.behavior.statuses import STATUS_OF_WORD, WORD_OF_STATUS
from pipelines.core.simulation.behavior.things import find_field, switch_of
from pipelines.core.simulation.behavior.truth import truth
from pipelines.core.simulation.behavior.words import PERSONS, SAME_VERBS, snake


def resolve(clause: c.Clause, scope: Scope) -> list[Resolved]:
    """The rules a clause makes for one tool. A field computed for a list's elements is no rule of one
    reply.
    """
    made = _RESOLVERS[type(clause)](clause, scope)
    for one in made:
        for ref in _refs_of(one.body):
            if ref.root == ARGUMENTS and ref.path and ref.path[0] not in scope.tool.arguments:
                raise Unresolved(f"{scope.tool.name} has no argument {ref.path[0]}")
    return made


def _refs_of(body: r.RuleBody) -> list[Ref]:
    parts = (getattr(body, name, None) for name in ("need", "value", "when", "keep"))
    return [ref for part in parts if isinstance(part, Text) for ref in part.refs()]


# -- guards ------------------------------------------------------------------------------------------


def _guard(clause: c.Guard, scope: Scope) -> list[Resolved]:
    need = clause.need
    if isinstance(need, m.Exists):
        return _unknown(c.Unknown(need.noun or None, clause.outcome or m.Fail(404)), scope)
    if _is_permission(need) and _lists(scope, need):
        return _own_only(clause, scope)
    expression = truth(need, scope)
    about = _about(expression, scope)
    nature = _nature(need, expression, scope)
    if nature is RuleKind.ARGUMENT:
        expression = _if_given(need, expression, scope)
    answer = answer_of(clause.outcome, nature, expression, about)
    note = None
    if nature is RuleKind.PERMISSION and expression.lacks_caller:
        note = f"{scope.tool.name} has no argument that says who calls, so the rule is not applied"
    return [Resolved(nature, r.Require(expression, answer, about), note)]


def _is_permission(need: m.Condition) -> bool:
    if isinstance(need, (m.Owns, m.Related, m.CallerIs, m.Allowed)):
        return True
    if isinstance(need, m.Not):
        return _is_permission(need.part)
    return isinstance(need, (m.All, m.Any_)) and any(_is_permission(part) for part in need.parts)


def _nature(need: m.Condition, expression: Text, scope: Scope) -> RuleKind:
    if _is_permission(need) and (not isinstance(need, m.Allowed) or _is_of_persons(expression)):
        return RuleKind.PERMISSION
    first = next(iter(expression.refs()), None)
    if _counts(need):
        return RuleKind.GUARD
    return RuleKind.ARGUMENT if first is not None and first.root == ARGUMENTS else RuleKind.GUARD


def _counts(need: m.Condition) -> bool:
    """Whether it looks at other records: then it is the world that stands in the way, not what was given."""
    match need:
        case m.Counted():
            return True
        case m.Not(part) | m.Allowed(part):
            return _counts(part)
        case m.All(parts) | m.Any_(parts):
            return any(_counts(part) for part in parts)
    return False


def _is_of_persons(expression: Text) -> bool:
    return any(singular(words_of(root)[-1]) in PERSONS for root in expression.roots() if words_of(root))


def _about(expression: Text, scope: Scope) -> str | None:
    kinds = [ref.root for ref in expression.refs() if ref.root in scope.lexicon.kinds]
    return next(iter(kinds), scope.kind)


def _if_given(need: m.Condition, expression: Text, scope: Scope) -> Text:
    """A rule about an optional argument binds only calls that give it, unless it asks for it."""
    asked = {scope.place(field).name for field in _asked_for(need)}
    optional = dict.fromkeys(
        ref
        for ref in expression.refs()
        if ref.root == ARGUMENTS and ref.path[0] not in scope.tool.required and ref.path[0] not in asked
    )
    if not optional:
        return expression
    return text("(", *(part for ref in optional for part in (ref, " == null or ")), expression, ")")


def _asked_for(need: m.Condition) -> Iterator[m.Field]:
    """The fields that have to be there, where the condition as a whole is to hold."""
    match need:
        case m.Present(field) if not field.is_new:
            yield field
        case m.Compare(m.Field(is_argument=True) as field, "==", m.Literal_(True)):
            yield field  # what has to be confirmed is not when nothing is said
        case m.All(parts) | m.Any_(parts):
            for part in parts:
                yield from _asked_for(part)
        case m.Allowed(part):
            yield from _asked_for(part)


_STATUS = {RuleKind.PERMISSION: 403, RuleKind.ARGUMENT: 422, RuleKind.NOT_FOUND: 404}


def answer_of(
    outcome: m.Outcome | None, nature: RuleKind, expression: Text | None, about: str | None
) -> r.Answer:
    if isinstance(outcome, m.Unchanged):
        return r.AsItWas()
    if isinstance(outcome, m.Reply):
        return r.Instead(outcome.value)
    said = outcome or m.Fail()
    status = said.status or STATUS_OF_WORD.get((said.error or "").replace("_", " "), _STATUS.get(nature, 409))
    error = said.error or (None if said.status else _default_error(nature, expression, about))
    error = error or WORD_OF_STATUS.get(status, "conflict")
    message = None if said.message or said.error else _message(nature, expression, about)
    return r.Failure(status, error, message, said.message)


def _default_error(nature: RuleKind, expression: Text | None, about: str | None) -> str | None:
    if nature is RuleKind.NOT_FOUND:
        return f"{snake(singular(about))}_not_found" if about else "not_found"
    argument = next(
        (
            ref.path[0]
            for ref in (expression.refs() if expression else ())
            if ref.root == ARGUMENTS and ref.path
        ),
        None,
    )
    if nature is RuleKind.ARGUMENT and argument:
        asked = expression is not None and " not in [null, '']" in expression.parts
        return f"{snake(argument)}_required" if asked else f"invalid_{snake(argument)}"
    return None


def _message(nature: RuleKind, expression: Text | None, about: str | None) -> Text | None:
    """What a backend would say: the value that stands in the way. Never the rule itself, which is the
    author's secret.
    """
    refs = expression.refs() if expression else []
    if nature is RuleKind.PERMISSION:
        return text("not permitted for this caller")
    shown = next((ref for ref in refs if ref.root not in (ARGUMENTS, REPLY) and ref.path), None)
    if nature is RuleKind.GUARD and shown is not None:
        return text(f"not possible: {shown.root} {shown.path[-1]} is {{", shown, "}")
    given = next((ref for ref in refs if ref.root == ARGUMENTS and ref.path), None)
    if nature is RuleKind.ARGUMENT and given is not None:
        return text(f"{given.path[-1]} is missing or not acceptable")
    return None


def _lists(scope: Scope, need: m.Condition) -> bool:
    """Whether the tool answers with many things, of which the caller may see some."""
    noun = need.noun if isinstance(need, m.Owns) else None
    kind = scope.kind_named(noun)
    return (
        scope.tool.reads
        and kind is not None
        and scope.lexicon.id_argument(scope.tool, kind.name) is None
        and isinstance(need, m.Owns)
    )


def _own_only(clause: c.Guard, scope: Scope) -> list[Resolved]:
    need = clause.need
    kind = scope.kind_named(need.noun if isinstance(need, m.Owns) else None)
    if kind is None:
        raise Unresolved("nothing is listed")
    keep = truth(need, replace(scope, in_list=kind.name))
    if keep.lacks_caller:
        answer = answer_of(clause.outcome, RuleKind.PERMISSION, keep, kind.name)
        note = f"{scope.tool.name} has no argument that says who calls, so the rule is not applied"
        return [Resolved(RuleKind.PERMISSION, r.Require(keep, answer, kind.name), note)]
    return [Resolved(RuleKind.LIST, r.Filter(keep))]


def _invariant(clause: c.Invariant, scope: Scope) -> list[Resolved]:
    expression = truth(clause.need, scope)
    if expression.roots() == {ARGUMENTS}:
        return _guard(c.Guard(clause.need, clause.outcome), scope)
    if scope.tool.reads or REPLY in expression.roots():
        raise Unresolved("only a call that changes something can break it")
    about = _about(expression, scope)
    answer = answer_of(clause.outcome, RuleKind.GUARD, expression, about)
    return [Resolved(RuleKind.INVARIANT, r.Require(expression, answer, about, at_end=True))]


def _unknown(clause: c.Unknown, scope: Scope) -> list[Resolved]:
    kind = scope.kind_named(clause.noun)
    if kind is None or scope.lexicon.id_argument(scope.tool, kind.name) is None:
        raise Unresolved(f"{scope.tool.name} looks up no {clause.noun or 'entity'}")
    answer = answer_of(clause.outcome, RuleKind.NOT_FOUND, None, kind.name)
    return [Resolved(RuleKind.NOT_FOUND, r.NotFound(kind.name, answer))]


def _once(clause: c.Once, scope: Scope) -> list[Resolved]:
    """Done before is what the record says: its status, a switch or a date named after the verb."""
    done = participle(scope.tool.verb)
    record = scope.lexicon.kinds.get(scope.tool.makes or "")
    if record is not None and clause.per:
        of = [kind for kind in clause.per if kind != record.name]
        once = m.Counted(of[0], m.Thing(record.name), "<", 1, False, tuple(of[1:])) if of else None
        return _guard(c.Guard(once, clause.outcome or m.Fail(409, f"already_{done}")), scope) if once else []
    kind = scope.kind_named(clause.who.noun) or scope.kind_named(None)
    if kind is None:
        raise Unresolved(f"nothing says whether it was {done}")
    if not kind.fields and any(other.fields for other in scope.lexicon.kinds.values()):
        raise Unresolved(f"no {kind.name} is kept, so nothing says whether it was {done}")
    spellings = sorted({done, *past_forms(scope.tool.verb)})
    already = done_before(kind, scope.base(kind.name), spellings)
    outcome = clause.outcome if clause.outcome not in (None, m.Fail()) else m.Fail(409, f"already_{done}")
    need = text("not (", already, ")")
    answer = answer_of(outcome, RuleKind.GUARD, need, kind.name)
    made = [Resolved(RuleKind.GUARD, r.Require(need, answer, kind.name))]
    switch = next((path for path in map(partial(switch_of, kind), spellings) if path is not None), None)
    if switch is not None and not scope.tool.reads:
        made.append(_implied(Ref(kind.name, switch), text("true")))
    return made


def _implied(target: Ref, value: Text) -> Resolved:
    """What has to be kept for a rule to work at the next call."""
    return Resolved(RuleKind.EFFECT, r.Write(target, value, None, True))


def _rarely(clause: c.Rarely, scope: Scope) -> list[Resolved]:
    counter = scope.counter(scope.tool.verb, clause.who.noun).refs()[-1]
    need = text("default(", counter, f", 0) < {clause.most}")
    answer = answer_of(clause.outcome, RuleKind.GUARD, need, counter.root)
    return [
        Resolved(RuleKind.GUARD, r.Require(need, answer, counter.root)),
        _implied(counter, text("default(", counter, ", 0) + 1")),
    ]


def _makes(scope: Scope, noun: str, kind: str) -> bool:
    tool = scope.tool
    if tool.makes == kind:
        return True
    is_named = tool.kind == kind or stem(noun) in {stem(word) for word in tool.words}
    is_named = is_named or any(tool.verb in same and singular(noun) in same for same in SAME_VERBS)
    is_new = scope.lexicon.id_argument(tool, kind) is None or tool.verb in _HANDING_OUT
    return not tool.reads and is_named and is_new


_HANDING_OUT = word_set("assign allocate give lend rent issue grant attach")


def _default(clause: c.Default, scope: Scope) -> list[Resolved]:
    """The field is what the argument would have said, on what the call makes or changes."""
    argument = scope.place(replace(clause.field, owner=None, is_argument=True))
    if scope.tool.reads or argument.name in scope.tool.required:
        raise Unresolved(f"{scope.tool.name} keeps no {argument.name}, or always has it")
    holders = [kind for kind in scope.lexicon.kinds.values() if find_field(kind.fields, argument.name)]
    exact = [kind for kind in holders if (argument.name,) in kind.fields]
    made = [kind for kind in exact if kind.name == scope.tool.makes]
    holders = exact or holders
    own = (
        made
        or [kind for kind in holders if kind.name == scope.kind]
        or [kind for kind in holders if _makes(scope, kind.name, kind.name)]
    )
    path = find_field(own[0].fields, argument.name) if len(own) == 1 else None
    new = scope.lexicon.kinds.get(scope.tool.makes or "")
    if path is None and new is not None and not own:
        own, path = [new], (argument.name,)  # kept as it would be when given
    if path is None:
        raise Unresolved(f"nothing that {scope.tool.name} makes has {argument.name}")
    target = Ref(own[0].name, path)
    value = effects.new_value(clause.value, target, scope)
    is_new = scope.lexicon.id_argument(scope.tool, own[0].name) is None
    write = r.Write(target, value, text(argument.value, " == null"), of_new=is_new)
    return [Resolved(RuleKind.EFFECT, write)]


def _normal(clause: c.Normal, scope: Scope) -> list[Resolved]:
    return [Resolved(RuleKind.NORMAL, r.Nothing())]


_RESOLVERS: dict[type, Callable[[Any, Scope], list[Resolved]]] = {
    c.Guard: _guard,
    c.Invariant: _invariant,
    c.Unknown: _unknown,
    c.Once: _once,
    c.Rarely: _rarely,
    c.Default: _default,
    c.Assign: effects.assign,
    c.Step: effects.step,
    c.Become: effects.become,
    c.StoredArgument: effects.store_argument,
    c.Raise: effects.raise_flag,
    c.Restock: effects.restock,
    c.Compute: replies.compute,
    c.Bound: replies.bound,
    c.Cap: replies.cap_list,
    c.Order: replies.put_in_order,
    c.Keep: replies.keep_only,
    c.First: replies.put_first,
    c.Hide: replies.hide,
    c.Show: replies.show,
    c.Mask: replies.mask,
    c.Normal: _normal,
}
