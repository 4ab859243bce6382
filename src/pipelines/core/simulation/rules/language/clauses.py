"""What refusals mean, and which tools they are about: each labelled form as a function of scope and parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipelines.core.english.words import article, joined
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.language.nouns import NounPhrase, role_of
from pipelines.core.simulation.rules.language.phrases import (
    count_of,
    is_missing,
    number,
    required_restriction,
    restriction,
)
from pipelines.core.simulation.rules.language.scope import CannotResolve, Scope, same_name
from pipelines.core.simulation.rules.vocabulary import Kind, Vocabulary

_OFF = r.Refusal(status=503, error="service_unavailable")


def error(s: Scope, p: Any) -> r.Refusal:
    return p.error(s) if p.error else r.Refusal()


def refusal_forms(s: Scope, p: Any, need: Expr) -> list[r.Form]:
    answer = p.instead(s) if p.instead else error(s, p)
    return [r.Require(need=need, answer=answer, first=bool(p.first))]


def _amends(s: Scope, p: Any) -> list[r.Form]:
    """A call that another rule refuses goes through, or is answered in another way."""
    answer = p.instead(s) if p.instead else error(s, p)
    is_answered = answer != r.Refusal()
    test = condition(s, p)
    if not is_answered and test is None:
        raise CannotResolve("say when the rule does not hold, or what is answered instead")
    return [r.Amend(rule=p.target.value, when=test, answer=answer if is_answered else None)]


def condition(s: Scope, p: Any) -> Expr | None:
    """When something is so: what is said in front of the sentence and behind the verb."""
    tests = [one for one in (s.when, p.when and p.when(s)) if one is not None]
    return m.all_of(*tests) if tests else None


def _fails(s: Scope, p: Any) -> list[r.Form]:
    test = condition(s, p)
    if test is None:
        raise CannotResolve("the condition is missing: write `when …`, or `always fails`")
    return refusal_forms(s, p, test.negated())


def _cannot(s: Scope, p: Any) -> list[r.Form]:
    tests = [restriction(s, p), *(part(s) for part in (p.when, p.after) if part)]
    return refusal_forms(s, p, m.all_of(*(one for one in tests if one is not None)).negated())


def _only_when(s: Scope, p: Any) -> list[r.Form]:
    others, need = restriction(s, p), p.when(s)
    return refusal_forms(s, p, need if others is None else m.any_of(others.negated(), need))


def _argument(s: Scope, p: Any) -> Expr:
    """What is said of an argument."""
    of = s.argument(p.field)
    return p.test(replace(s, of=of, prefers="given")) if p.test else is_missing(of).negated()


def _unique(s: Scope, p: Any) -> list[r.Form]:
    """No other record of the type has the value that the call gives."""
    kind = s.on(p.type).subject.name
    theirs, own = s.about(kind, n.Name("other")).owned(p.field).expr, s.tool.id_argument(kind)
    same = m.is_equal(theirs, s.argument(p.field).expr)
    others = (
        [] if own is None else [m.call("same_id", m.call("id_of", n.Name("other")), m.arg(own)).negated()]
    )
    found = m.call("any", m.each_of(m.all_of(same, *others), "other", m.entities(kind)))
    return refusal_forms(s, p, found.negated())


# -- counts, order, totals ----------------------------------------------------------------------------------


def _per(s: Scope, type: NounPhrase) -> str:
    kind = s.kind(type).name
    if s.tool.id_argument(kind) is None:
        raise CannotResolve(f"no argument of {s.tool.name} says which {kind}", type)
    return kind


def _limited(s: Scope, p: Any) -> dict[str, Any]:
    """Of which record, and with which answer."""
    return {"per": p.per(s) if p.per else None, "answer": error(s, p)}


def _done_times(s: Scope, p: Any) -> list[r.Form]:
    if p.states or p.limit:
        raise CannotResolve("a number of times applies to every record: leave out the restriction", p.type)
    return [r.LimitCalls(count=p.times(s), per=_per(s, p.type), answer=error(s, p))]


def _running_total(s: Scope, p: Any) -> list[r.Form]:
    amount = p.amount(s).expr
    if amount.roots() - {r.ARGS}:
        raise CannotResolve("a running total must be a sum over arguments of the calls")
    return [r.RunningTotal(amount=amount, limit=p.limit(s).expr, **_limited(s, p))]


def _most_things(s: Scope, p: Any) -> list[r.Form]:
    owner, type_name = _per(s, p.owner), s.kind(p.type).name
    inner = s.about(type_name, n.Name("other"))
    same = m.call("same_id", inner.owner_link(owner)[0], m.arg(s.tool.id_argument(owner) or ""))
    test = restriction(inner, p)
    theirs = count_of(type_name, m.all_of(same, *([] if test is None else [test])))
    return refusal_forms(s, p, m.compare(theirs, "<", m.constant(p.count.value)))


def _never_beyond(s: Scope, p: Any) -> list[r.Form]:
    of, about = p.ref(s), s.vocabulary.kinds.get(s.tool.about or "")
    [root] = of.expr.roots()
    linked = about.links.values() if about is not None else ()
    if s.tool.reads or root not in {
        *linked,
        *(one.kind for one in s.tool.lookups),
        s.tool.about,
        s.tool.makes,
    }:
        raise CannotResolve(f"{s.tool.name} changes no {root}")
    limit = (p.high or p.low)(s).expr if p.high or p.low else m.constant(0)
    need = m.compare(number(of), "<=" if p.high else ">=", limit)
    return [r.Require(need=need, answer=error(s, p), after_changes=True)]


# -- who ----------------------------------------------------------------------------------------------------


def _who(s: Scope, p: Any, need: Expr) -> list[r.Form]:
    given = error(s, p)
    answer = replace(given, status=given.status or 403, error=given.error or "forbidden")
    return [r.Require(need=need, answer=answer)]


def _own_only(s: Scope, p: Any) -> list[r.Form]:
    kind, owner = s.kind(p.type).name, s.kind(p.owner).name
    is_list = s.tool.lists == kind
    link, _ = s.about(kind, n.Name(r.EACH) if is_list else None).owner_link(owner)
    need = m.call("same_id", link, s.caller_id(owner))
    return [r.Keep(need=need)] if is_list else _who(s, p, need)


def _owner(s: Scope, p: Any) -> Expr:
    inner = s.on(p.type)
    links = inner.subject.links
    roles = [keys for keys in links if p.role and joined(role_of(keys[-1])) == joined(p.role.words)]
    if p.role and not roles:
        raise CannotResolve(f"no field of {inner.subject.name} says who its {p.role.text} is", p.role)
    keys = s.choices.choose(roles) if p.role else ()
    link, to = (inner.bound(inner.subject, keys).expr, links[keys]) if keys else inner.owner_link()
    return m.call("same_id", link, s.caller_id(to))


def _such_callers(s: Scope, p: Any) -> Expr:
    """`verified users`; `admins`: whoever calls has that value in a field of theirs."""
    kind = s.kind(p.type).name if p.type else _kind_with(s, p.states).name
    id, own = s.caller_id(kind), s.tool.id_argument(kind)
    if isinstance(id, n.Call):
        return id
    return required_restriction(s.about(kind, None if own and id == m.arg(own) else m.entity(kind, id)), p)


def _kind_with(s: Scope, states: Sequence[NounPhrase]) -> Kind:
    kinds = s.vocabulary.kinds.values()
    found = [kind for kind in kinds if all(s.about(kind.name).states(one) for one in states)]
    if not found:
        raise CannotResolve(f"no type of this world has a value `{states[0].text}`", states[0])
    return s.choices.choose(found)


#: Of a clause or a sentence: the forms of its rules. Where a type is named the scope is about it.
CLAUSES: Mapping[str, Callable[..., Any]] = {
    "fails": _fails,
    "amends": _amends,
    "only": lambda s, p: refusal_forms(s, p, p.when(s) if p.when else required_restriction(s.on(p.type), p)),
    "rejects": lambda s, p: refusal_forms(s, p, required_restriction(s.on(p.type), p).negated()),
    "always": lambda s, p: refusal_forms(s, p, m.FALSE),
    "disabled": lambda s, p: [r.Require(need=m.FALSE, answer=p.error(s) if p.error else _OFF)],
    "cannot": lambda s, p: _cannot(s.on(p.type), p),
    "only_such": lambda s, p: refusal_forms(
        s, p, m.all_of(required_restriction(s.on(p.type), p), *([p.when(s.on(p.type))] if p.when else []))
    ),
    "only_when": lambda s, p: _only_when(s.on(p.type), p),
    "not_found": lambda s, p: [r.NotFound(entity_type=s.kind(p.type).name, answer=error(s, p))],
    "needs_argument": lambda s, p: refusal_forms(s, p, _argument(s, p)),
    "rejects_argument": lambda s, p: refusal_forms(s, p, _argument(s, p).negated()),
    "argument_must": lambda s, p: refusal_forms(
        s, p, _argument(s, p).negated() if p.never else _argument(s, p)
    ),
    "unique": _unique,
    "times": lambda s, p: p.count.value,
    "per": lambda s, p: _per(s, p.type),
    "limit_calls": lambda s, p: [r.LimitCalls(count=p.times(s), **_limited(s, p))],
    "after": lambda s, p: [r.After(tool=p.tool, **_limited(s, p))],
    "done_times": _done_times,
    "running_total": _running_total,
    "most_things": _most_things,
    "never_beyond": _never_beyond,
    "afterwards": lambda s, p: [r.Require(need=p.test(s), answer=error(s, p), after_changes=True)],
    "only_who": lambda s, p: _who(s, p, p.who(s)),
    "only_who_can": lambda s, p: _who(s, p, p.who(s.on(p.type or p.who.type))),
    "own_only": _own_only,
    "owner": _owner,
    "caller_is": lambda s, p: p.test(replace(s, prefers="caller")),
    "such_callers": _such_callers,
    "error": lambda s, p: r.Refusal(
        status=p.status and p.status.value,
        error=p.code and p.code.value,
        message=p.message and p.message.value,
    ),
    "unchanged": lambda s, p: r.Unchanged(),
    "empty_list": lambda s, p: r.Reply([]),
}


# -- which tools --------------------------------------------------------------------------------------------


def _tools_by_action(vocabulary: Vocabulary, action: NounPhrase, type: NounPhrase | None) -> Sequence[str]:
    """The tools that a verb means, said of a type: by their names, else by what they are about."""
    same = [tool for tool in vocabulary.tools.values() if tool.verb == action.text]
    kind = vocabulary.kind_named(type.words) if type is not None else None
    called = [tool for tool in same if type is not None and joined(type.words) in map(joined, tool.things)]
    found = called or [tool for tool in same if type is None or (kind and kind in (tool.about, tool.makes))]
    if not found and type is not None:
        raise CannotResolve(f"no tool can {action.text} `{type.text}`", action)
    if len(found) != 1 and not called:
        listed = ", ".join(tool.name for tool in found[:4])
        raise CannotResolve(f"`{action.text}` may mean {listed}: name the tool", action)
    return [tool.name for tool in found]


def _tools_that(does: str, is_meant: Callable[..., Any]) -> Callable[..., Sequence[str]]:
    """The tools that do something with a type or an argument; there must be one."""

    def find(v: Vocabulary, p: Any) -> Sequence[str]:
        named = p.type or p.field
        kind, noun = v.kind_named(named.words), " ".join(named.words)
        found = [name for name, tool in v.tools.items() if is_meant(tool, kind or "", p)]
        if not found:
            says = does.format(a=f"{article(noun).lower()} {noun}", field=p.field and p.field.text)
            raise CannotResolve(f"no tool {says}", named)
        return found

    return find


def _takes(tool: Any, field: NounPhrase) -> bool:
    return any(same_name(one, field) for one in tool.arguments)


_SHOWING = _tools_that("shows {a}", lambda tool, kind, p: tool.reads and tool.about == kind)
_TAKING = _tools_that("takes an argument `{field}`", lambda tool, kind, p: _takes(tool, p.field))
_CHANGING = _tools_that(
    "that changes {a} takes `{field}`",
    lambda tool, kind, p: not tool.reads and kind in (tool.about, tool.makes) and _takes(tool, p.field),
)

#: Tools as a sentence names them.
NAMED_TOOLS: Mapping[str, Callable[..., Sequence[str]]] = {
    "by_name": lambda v, p: p.tools,
    "every_tool": lambda v, p: [*v.tools],
    "by_action": lambda v, p: _tools_by_action(v, p.action, p.type),
}

#: By the label of a whole sentence; one that is not listed says what the tools do that it is about.
TOOLS: Mapping[str, Callable[..., Sequence[str]]] = {
    "only_who_can": lambda v, p: _tools_by_action(v, p.action, p.type or p.who.type),
    "own_only": lambda v, p: _tools_by_action(v, p.action, p.type) if p.action else _SHOWING(v, p),
    "most_things": _tools_that("is known to add {a}", lambda tool, kind, p: tool.makes == kind),
    "not_found": _tools_that("takes the id of {a}", lambda tool, kind, p: tool.id_argument(kind)),
    "unique": _CHANGING,
    "argument_must": lambda v, p: p.tools(v) if p.tools else _TAKING(v, p),
    "never_beyond": NAMED_TOOLS["every_tool"],
    **dict.fromkeys(("of_tools", "afterwards", "running_total"), lambda v, p: p.tools(v)),
    "nothing": lambda v, p: (),
}
