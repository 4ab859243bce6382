"""Whether the caller is whom a rule asks for, as an expression."""

from dataclasses import replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.meaning import Owns
from pipelines.core.simulation.behavior.rules import ARGUMENTS, Ref, Text, literal, text
from pipelines.core.simulation.behavior.scope import Scope, Unresolved, within
from pipelines.core.simulation.behavior.states import state_of
from pipelines.core.simulation.behavior.things import Kind, known_value, loose, switch_of

NOBODY = Text(("false",), lacks_caller=True)
_ROLES = ("role", "user_role", "type", "account_type", "roles")
_ROLE_WORDS = word_set("admin manager moderator supervisor staff agent support superuser")


def owns(condition: Owns, scope: Scope) -> Text:
    named = condition.owner_field
    head = named.partition(".")[0] if named and "." in named else None
    kind = scope.kind_named(head or condition.noun or None)
    if kind is None:
        raise Unresolved("nothing here belongs to anyone")
    owner = scope.owner(kind, named)
    caller = scope.caller(condition.argument or _same_argument(owner, scope))
    # Who calls is not known, so nobody can be shown to be the owner: refused, as a real backend would
    # refuse a call without a session.
    return NOBODY if caller is None else text("same_id(", caller, ", ", owner, ")")


def _same_argument(owner: Text, scope: Scope) -> str | None:
    """An argument called as the record calls its owner says who calls: `sender_id`, `hostId`."""
    path = owner.refs()[-1].path if owner.refs() else ()
    named = {loose(path[-1]), loose(f"{path[-1]}_id")} if path else set()
    return next((name for name in scope.tool.arguments if loose(name) in named), None)


def caller_is(word: str, scope: Scope) -> Text:
    is_role = word in _ROLE_WORDS
    role = next(
        (name for name in ("role", "user_role", "actor_role", "caller_role") if name in scope.tool.arguments),
        None,
    )
    if is_role and role is not None:
        return text("lower(", Ref(ARGUMENTS, (role,)), f") == {literal(word)}")
    users = scope.lexicon.kind_of("user")
    kind = scope.lexicon.kinds.get(users or "")
    if kind is None:
        raise Unresolved("the world has no users")
    base = _caller_record(kind, scope, is_role)
    if base is None:
        return NOBODY
    known = replace(scope, bases={**scope.bases, kind.name: base})
    return _has_role(kind, known, word) if is_role else state_of(known, kind.name, word, False)


def _caller_record(kind: Kind, scope: Scope, is_role: bool) -> Text | None:
    is_target = scope.kind == kind.name
    caller = scope.caller(None, is_target)
    if caller is not None:
        return text(f"entity({literal(kind.name)}, ", caller, ")")
    link = scope.link_to(kind.name)
    if link is not None and scope.kind is not None and not is_role:
        return text(f"entity({literal(kind.name)}, ", within(scope.base(scope.kind), (link,)), ")")
    return scope.base(kind.name) if is_target and not is_role else None


def _has_role(kind: Kind, scope: Scope, word: str) -> Text:
    switch = switch_of(kind, word)
    if switch is not None:
        return text(within(scope.base(kind.name), switch), " == true")
    name = next((name for name in _ROLES if (name,) in kind.fields), "role")
    if "list" in getattr(kind.fields.get((name,)), "kinds", ()):
        return text("contains(", within(scope.base(kind.name), (name,)), f", {literal(word)})")
    value = known_value(kind.fields.get((name,)), word)
    return text(within(scope.base(kind.name), (name,)), f" == {literal(value)}")
