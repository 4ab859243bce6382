"""Checks rules against the tools and the world: unknown tools, types, fields and arguments, each with a
suggestion.

Where nothing is known of a type's fields or of a tool's reply, any field is fine: it may come with records.
Flags are free.
"""

from collections.abc import Iterable, Iterator, Sequence

from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.dependency_cycles import dependency_cycles
from pipelines.core.simulation.rules.known_fields import KnownFields, NameProblem
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import ToolNouns, Vocabulary
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.text.json_text import pointer
from pipelines.core.text.problems import Problem

MOST_HINTED = 50  # problems with a hint: who has more did not misspell them, and looking for one takes long
_CALLS = "calls"  # `calls('refund_order')`
_OF_REPLY = (r.EACH, r.REPLY)


def check(
    rules: Sequence[Rule],
    vocabulary: Vocabulary,
    path: str,
    *,
    beside: Sequence[Rule] = (),
    places: Sequence[int] | None = None,
    has_world: bool = True,
) -> list[Problem]:
    """Everything wrong with the rules. `beside` are others in force: what they make is there. `places` says
    which entry of the list under `path` each rule is, where some entries are no rules. Without a world only
    tools, arguments and functions are looked at."""
    together = [*rules, *beside]
    checker = _Checker(vocabulary, KnownFields(vocabulary, together), has_world)
    found = [(at, wrong) for at, rule in enumerate(rules) for wrong in checker.wrong_in(rule)]
    for circle in dependency_cycles(together, vocabulary.tools):
        complaint = (
            f"`{circle.tool}` computes {', '.join(f'`{name}`' for name in circle.names)} from each other"
        )
        own = [at for at in circle.rules if at < len(rules)]
        advice = "compute one of them from fields that no rule sets"
        found += [(at, NameProblem(complaint, advice=advice)) for at in own[:1]]
    problems = []
    for count, (at, wrong) in enumerate(found):
        place, name = at if places is None else places[at], rules[at].name
        message = f"rule {f'`{name}`' if name is not None else place + 1}: {wrong.message}"
        hint = wrong.hint() if count < MOST_HINTED else None
        problems.append(Problem(path=path + pointer([place]), message=message, hint=hint))
    return problems


class _Checker:
    def __init__(self, vocabulary: Vocabulary, fields: KnownFields, has_world: bool) -> None:
        self._vocabulary = vocabulary
        self._tools = vocabulary.tools
        self._fields = fields
        self._has_world = has_world

    def wrong_in(self, rule: Rule) -> Iterable[NameProblem]:
        tools = [self._tools[name] for name in rule.tools if name in self._tools]
        found = [*self._names(rule), *self._paths(rule, tools)]
        found += self._form(rule.form, tools) if self._has_world else ()
        return {wrong.message: wrong for wrong in found}.values()

    def _names(self, rule: Rule) -> Iterator[NameProblem]:
        """Tools, functions and types that are named as such."""
        before = (rule.form.tool,) if isinstance(rule.form, r.After) else ()
        yield from (wrong for name in (*rule.tools, *before) for wrong in self._tool(name))
        for call in (call for expr in rule.expressions() for call in expr.calls()):
            known = FUNCTIONS.get(call.function)
            named = _first(call)
            if call.function == _CALLS:
                yield from self._tool(named)
            elif known is None:
                yield NameProblem(f"there is no function `{call.function}`", call.function, FUNCTIONS)
            elif known.takes_entity_type:
                yield from self._type(named)
        if isinstance(rule.form, r.NotFound | r.Remove | r.Drop):
            yield from self._type(rule.form.entity_type)

    def _tool(self, name: n.Scalar) -> Iterator[NameProblem]:
        if isinstance(name, str) and name not in self._tools:
            yield NameProblem(f"there is no tool `{name}`", name, self._tools)

    def _type(self, name: n.Scalar) -> Iterator[NameProblem]:
        if self._has_world and isinstance(name, str) and not self._fields.has_type(name):
            yield NameProblem(f"there is no type `{name}`", name, self._vocabulary.kinds)

    def _paths(self, rule: Rule, tools: Sequence[ToolNouns]) -> Iterator[NameProblem]:
        targets = [rule.form.target] if isinstance(rule.form, r.Set) else []
        targets += [n.Path(rule.form.entity_type, rule.form.keys)] if isinstance(rule.form, r.Drop) else []
        for root, keys in (*targets, *(path for expr in rule.expressions() for path in expr.refs())):
            if root == r.ARGS and keys:
                for tool in (one for one in tools if keys[0] not in one.arguments):
                    yield NameProblem(f"`{tool.name}` takes no argument `{keys[0]}`", keys[0], tool.arguments)
            elif not self._has_world:
                continue
            elif root == r.EACH and rule.each_type is not None:
                yield from self._fields.absent_in_type(rule.each_type, keys)
            elif root in _OF_REPLY and keys:
                # What stands around a list is known only where its schema is.
                known = [one for one in tools if root == r.EACH or one.lists is None or one.output]
                yield from self._fields.absent_in_replies(keys[0], known)
            elif root in r.GIVEN and keys:
                yield NameProblem(f"`{root}` is a date, so it has no field `{keys[0]}`", root, ())
            elif root not in r.GIVEN and root not in _OF_REPLY:
                yield from self._type(root)
                yield from self._fields.absent_in_type(root, keys)

    def _form(self, form: r.Form, tools: Sequence[ToolNouns]) -> Iterator[NameProblem]:
        match form:
            case r.LimitCalls(per=str(kind)) | r.RunningTotal(per=str(kind)):
                yield from self._per(kind, tools)
            case r.After(tool=before, per=str(kind)):
                known = [self._tools[before]] if before in self._tools else []
                yield from self._per(kind, [*tools, *known])
            case r.Keep() | r.Sort() | r.Take():
                not_lists = (one for one in tools if one.lists is None and one.about is not None)
                yield from (NameProblem(f"`{one.name}` returns no list") for one in not_lists)
        if isinstance(form, r.RunningTotal):
            for one in {one for one in form.amount.refs() if one.root == r.ARGS} & {*form.limit.refs()}:
                yield NameProblem(f"the limit refers to `{'.'.join((one.root, *one.keys))}`, which it limits")
            own = {tool.name for tool in tools}
            for name in {_first(one) for one in form.limit.calls() if one.function == _CALLS} & own:
                yield NameProblem(f"the limit refers to the calls of `{name}`, which it limits")
        for name in _reply_names(form):
            yield from self._fields.absent_in_replies(name.removeprefix("-").partition(".")[0], tools)

    def _per(self, kind: str, tools: Iterable[ToolNouns]) -> Iterator[NameProblem]:
        yield from self._type(kind)
        unsaid = (one for one in tools if self._fields.has_type(kind) and one.id_argument(kind) is None)
        yield from (NameProblem(f"no argument of `{one.name}` says which `{kind}`") for one in unsaid)


def _reply_names(form: r.Form) -> tuple[str, ...]:
    match form:
        case r.Sort(by=names) | r.Without(names=names) | r.Only(names=names):
            return names
        case r.Mask(name=name):
            return (name,)
    return ()


def _first(call: n.Call) -> n.Scalar:
    """What a function is given first, where that is written out."""
    match call.arguments:
        case (n.Constant(value=value), *_):
            return value
    return None
