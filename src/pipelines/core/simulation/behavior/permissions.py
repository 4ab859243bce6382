"""Whether the caller is whom a rule asks for, as an expression."""

from dataclasses import replace

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior.meaning import Owns, Related
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
    if caller is not None and _are_of_other_kinds(owner, caller, scope):
        raise Unresolved(f"whoever calls {scope.tool.name} is none of those whom a {kind.name} belongs to")
    # Who calls is not known, so nobody can be shown to be the owner: refused, as a real backend would
    # refuse a call without a session.
    return NOBODY if caller is None else text("same_id(", caller, ", ", owner, ")")


def _are_of_other_kinds(owner: Text, caller: Text, scope: Scope) -> bool:
    """Whether the world keeps ids of one kind in the one place and of another in the other."""
    kinds = [scope.lexicon.referring.get(one.refs()[-1].path[-1]) for one in (owner, caller) if one.refs()]
    return len(kinds) == 2 and None not in kinds and kinds[0] != kinds[1]


def related(condition: Related, scope: Scope) -> Text:
    """The id that the call gives for the person is the one that the thing keeps."""
    kind = scope.kind_named(condition.noun or None)
    if kind is None or not kind.fields:
        raise Unresolved(f"nothing says whose a {condition.noun} is")
    try:
        return _given_as_kept(condition, kind, scope)
    except Unresolved:
        if condition.verb:
            raise
        return owns(Owns(condition.noun or None), scope)


def _given_as_kept(condition: Related, kind: Kind, scope: Scope) -> Text:
    lexicon = scope.lexicon
    person = lexicon.kinds.get(condition.person)
    wanted = (person.of or person.name) if person is not None else ""
    names = [path[0] for path in kind.fields if len(path) == 1]
    done = [name for name in names if condition.verb and stem(condition.verb) in _deeds_in(name)]
    kept = [name for name in done if words_of(name)[-1] in ("by", "to", "id")]
    if not kept:
        kept = [name for name in names if lexicon.referring.get(name) == wanted]
        kept = [person.role] if person is not None and person.role in names else kept
        called = (
            [name for name in kept if words_of(name)[0] == singular(words_of(wanted)[-1])] if wanted else []
        )
        kept = called if len(kept) > 1 else kept
    if len(kept) != 1:
        raise Unresolved(f"it is not clear which field of a {kind.name} is meant")
    wanted = wanted or lexicon.referring.get(kept[0], "")
    given = [name for name in scope.tool.arguments if lexicon.referring.get(name) == wanted]
    own = [wanted and lexicon.id_argument(scope.tool, wanted)]
    argument = next((name for name in (*own, *(given if len(given) == 1 else ())) if name), None)
    place = within(scope.base(kind.name), (kept[0],))
    if argument is None or place == text(Ref(ARGUMENTS, (argument,))):
        raise Unresolved(f"{scope.tool.name} does not say who calls")
    return text("same_id(", scope.caller(argument) or Ref(ARGUMENTS, (argument,)), ", ", place, ")")


def _deeds_in(name: str) -> set[str]:
    """Stems of what a field speaks of: packed_by of packing, seller_id of selling."""
    said = words_of(name)
    doers = {stem(f"{word[:-2]}ing") for word in said if word.endswith(("er", "or")) and len(word) > 4}
    return {stem(word) for word in said} | doers


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
